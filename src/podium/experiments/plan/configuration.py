"""All that determines the figures of a study, as plain values, and the keys of its trials and results."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Self

from podium.experiments.plan.identity import Identity, digest
from podium.experiments.plan.methods import Setting
from podium.experiments.plan.protocol import Average, ProtocolFacts


@dataclass(frozen=True, slots=True)
class DataFacts:
    """The data of a study."""

    name: str
    description: str
    fingerprint: str
    folds: list[str]


@dataclass(frozen=True, slots=True)
class MethodFacts:
    """A method of a study."""

    grid: dict[str, list[Any]] = field(default_factory=dict)
    spaces: dict[str, str] = field(default_factory=dict)
    """The kind of space of each parameter."""
    fixed: dict[str, Any] = field(default_factory=dict)
    family: str = "own"
    stochastic: bool = False
    is_floor: bool = False
    searched: str = ""
    """Digest of the grid, for values that are objects."""
    requires: list[str] = field(default_factory=list)
    ranker: Any = None
    """What its rankers are made by: see :mod:`podium.experiments.plan.identity`."""
    code: str = ""
    """Digest of the code of its trials."""
    features: str | None = None
    """How a ranker of the user's rescales features, if that is known: ``standard``, …, ``none``, ``searched``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Configuration:
    """All that determines the figures of a study."""

    podium: str
    """Version."""
    packages: dict[str, str] = field(default_factory=dict)
    """Versions of the packages that results may depend on."""
    data: DataFacts
    protocol: ProtocolFacts = field(default_factory=ProtocolFacts)
    average: Average
    search: dict[str, Any] = field(default_factory=lambda: {"strategy": "grid", "budget": None})
    methods: dict[str, MethodFacts]
    metrics: list[str]
    primary: str
    convention: str
    definitions: dict[str, Any] = field(default_factory=dict)
    """What each metric is."""
    options: dict[str, Any] = field(default_factory=dict)
    """Parameters given to every built-in method that has them, such as ``normalize``."""
    seed: int = 0
    """Seeds the protocol."""
    seeds: list[int] = field(default_factory=lambda: [0])
    """Those that methods which depend on one are repeated with."""
    unit: str = "query"
    item: str = "document"
    silent: dict[str, str] = field(default_factory=dict)
    """Metrics that cannot tell methods apart on these data, and why: see :mod:`podium.metrics.telling`."""
    beside: list[str] = field(default_factory=list)
    """Those of the metrics of which neither more nor less is better."""
    estimated: dict[str, str] = field(default_factory=dict)
    """What figures are estimated by, in words, where they are no plain means of metrics of judgments: the
    ``estimator``, ``how`` it works, ``figures``, the ``interval`` and the ``test`` there are."""

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Return the configuration that :meth:`to_dict` describes."""
        nested = {
            "data": DataFacts(**values["data"]),
            "protocol": ProtocolFacts(**values["protocol"]),
            "methods": {name: MethodFacts(**facts) for name, facts in values["methods"].items()},
        }
        return cls(**{**values, **nested})

    def to_dict(self) -> dict[str, Any]:
        """Return the configuration as JSON-like values."""
        return asdict(self)

    def seeds_of(self, method: str) -> list[int]:
        """Return the seeds that a method is run with: all of them only if they make a difference."""
        return self.seeds if self.methods[method].stochastic else self.seeds[:1]

    def trial_key(self, method: str, fold: str, setting: Setting) -> str:
        """Return the key of a trial. It does not depend on what else is tried, or on what only judges the test part."""
        facts = self.methods[method]
        own = [method, facts.fixed, facts.ranker, facts.code, Identity(setting.parameters).description, setting.seed]
        shared = [self.data.fingerprint, self.protocol.name, self.seed, fold, self.packages]
        judged_by = [self.primary, self.convention, self.definitions.get(self.primary)]
        return digest([own, shared, judged_by, self._required(method)])

    def result_key(self, method: str, fold: str, seed: int) -> str:
        """Return the key of a result: it also depends on all that was tried, and on every metric."""
        facts = asdict(self.methods[method])
        shared = [self.data.fingerprint, self.protocol.name, self.seed, fold, self.packages, self.search]
        judged_by = [self.metrics, self.primary, self.convention, self.definitions]
        return digest([method, facts, seed, shared, judged_by, self._required(method)])

    def changes_since(self, other: Configuration) -> list[str]:
        """Return the names of what differs."""
        now, before = self.to_dict(), other.to_dict()
        code, old_code = ({name: m.pop("code") for name, m in d["methods"].items()} for d in (now, before))
        changed = sorted(name for name in now if digest(now[name]) != digest(before[name]))
        recoded = any(code[name] != old_code[name] for name in code.keys() & old_code.keys())
        return [*changed, *["Podium's code"] * recoded]

    def _required(self, method: str) -> Any:
        """Return what the methods depend on that this one is made from."""
        names = self.methods[method].requires
        return names and [self.search, {name: [asdict(self.methods[name]), self.seeds_of(name)] for name in names}]


def plain_parameters(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return parameters as JSON stores them: numbers and strings as they are, anything else by its representation."""
    return {name: plain(value) for name, value in parameters.items()}


def plain(value: Any) -> Any:
    if hasattr(value, "item"):
        value = value.item()
    return value if value is None or isinstance(value, bool | int | float | str) else repr(value)

"""A study: methods, data and metrics that belong together, before anything is computed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from podium.experiments.plan.code import code_digest
from podium.experiments.plan.configuration import Configuration, DataFacts, MethodFacts, plain, plain_parameters
from podium.experiments.plan.domain import QUERIES, Domain
from podium.experiments.plan.identity import Identity, digest, package_versions
from podium.experiments.plan.methods import CloneOf, StudyMethod
from podium.experiments.plan.protocol import ProtocolFacts
from podium.experiments.plan.search import Search
from podium.experiments.plan.sources import Source
from podium.metrics import Metric
from podium.rankers.adapter import adapt
from podium.rankers.spaces import as_space
from podium.version import __version__

if TYPE_CHECKING:
    from podium.experiments.result.inference import Inference
    from podium.experiments.run.outcomes import Result, TestPart
    from podium.experiments.run.store import Store

    Values = dict[str, np.ndarray]

TRIAL = "podium.experiments.run.trial"
"""The module whose function runs a trial: what it reaches determines what comes of one."""


class Beside(Protocol):
    """What judges lists by more than their grades: figures beside the metrics, which order and test nothing."""

    @property
    def metrics(self) -> Sequence[Metric]:
        """What they are."""

    @property
    def names(self) -> list[str]:
        """What they are called."""

    def judge(self, fold: str, part: "TestPart", scores: np.ndarray) -> dict[str, np.ndarray]:
        """Return the value of each of the names on each test query."""


class Judging(Protocol):
    """What judges test parts where their labels alone do not."""

    @property
    def convention(self) -> str:
        """What stands for the convention of metrics in tables."""

    @property
    def words(self) -> Mapping[str, str]:
        """See :attr:`~podium.experiments.plan.configuration.Configuration.estimated`."""

    def judge(self, method: str, fold: str, part: "TestPart", scores: np.ndarray) -> "tuple[Values, TestPart]":
        """Return the value of each metric on each test query, and the part with the queries' weights.

        Raises
        ------
        ValueError
            If these scores cannot be judged.
        """

    def conclude(self, results: "Sequence[Result]", store: "Store") -> "tuple[Inference, Sequence[str]]":
        """Return standard errors of all figures and of their differences, and what readers must know."""


@dataclass(frozen=True)
class Study:
    """Methods to be compared on the same folds."""

    source: Source
    methods: Sequence[StudyMethod]
    metrics: Sequence[Metric]
    primary: Metric
    """The metric that chooses settings on the validation part, orders the table and is tested."""
    search: Search
    random_state: int = 0
    """Seeded the protocol."""
    seeds: Sequence[int] = (0,)
    options: Mapping[str, Any] = field(default_factory=dict)
    """Parameters given to every built-in method that has them."""
    reading: Mapping[str, Any] = field(default_factory=dict)
    """Where the data are and how they were read, for going on from the run."""
    domain: Domain = QUERIES
    silent: Mapping[str, str] = field(default_factory=dict)
    """Metrics that cannot tell methods apart on these data, and why."""
    beside: Beside | None = None
    """Judges test parts beside the metrics, by what only the domain knows."""
    judging: Judging | None = None
    """Judges test parts in place of the metrics."""

    @cached_property
    def configuration(self) -> Configuration:
        """All that determines the figures."""
        source, primary = self.source, self.primary
        beside = [] if self.beside is None else list(self.beside.names)
        judged_by = {*self.metrics, primary, *(() if self.beside is None else self.beside.metrics)}
        return Configuration(
            podium=__version__,
            packages=package_versions(),
            data=DataFacts(source.name, source.description, source.fingerprint, list(source.folds)),
            protocol=ProtocolFacts(str(source.protocol), source.protocol.describe()),
            average=source.average,
            search=self.search.description(),
            methods={method.name: self._facts(method) for method in self.methods},
            metrics=[*(metric.name for metric in self.metrics), *beside],
            primary=primary.name,
            convention=primary.convention if self.judging is None else self.judging.convention,
            definitions={metric.name: Identity(metric).description for metric in judged_by},
            options=dict(self.options),
            seed=self.random_state,
            seeds=list(self.seeds),
            unit=self.domain.unit,
            item=self.domain.item,
            silent=dict(self.silent),
            beside=beside,
            estimated={} if self.judging is None else dict(self.judging.words),
        )

    def _facts(self, method: StudyMethod) -> MethodFacts:
        ranker = Identity([method.build, method.on_queries, method.fixed, *method.grid.values()])
        modules = {TRIAL, type(self.source).__module__, *ranker.modules, *Identity(self.primary).modules}
        return MethodFacts(
            grid={name: [plain(value) for value in values] for name, values in method.grid.items()},
            spaces={name: type(as_space(values)).__name__ for name, values in method.grid.items()},
            fixed=plain_parameters(method.fixed),
            family=method.family,
            stochastic=method.stochastic,
            is_floor=method.is_floor,
            searched=digest(ranker.description[2:]),
            requires=list(method.requires),
            ranker=ranker.description[:2],
            code=code_digest(modules),
            features=_rescaling(method),
        )


def _rescaling(method: StudyMethod) -> str | None:
    """Return how a ranker of the user's own rescales features; None if only it knows, or if the study says so."""
    if not isinstance(method.build, CloneOf):
        return None
    if any(name.rpartition("__")[2] == "normalize" for name in method.grid):
        return "searched"
    if method.on_queries is adapt:
        return "none"
    own = getattr(method.build.ranker, "normalize", False)
    return None if own is False else str(own).lower()

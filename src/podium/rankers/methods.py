"""Tables of methods by name, each with the small grid of settings that a comparison searches on validation queries.

A method is added to its table beside the class that implements it; there is no second list.
"""

import inspect
from collections import UserDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, get_args

from podium.core.later import required
from podium.core.wording import did_you_mean

Family = Literal["listwise", "pairwise", "pointwise", "factors", "floor"]
Kind = Literal["weights", "network", "trees", "features", "factors"]


@dataclass(frozen=True, slots=True)
class Method:
    """The facts of a method that tables and comparisons need."""

    name: str
    build: Callable[..., Any]
    """Returns an unfitted ranker from parameters by name."""
    summary: str
    reference: str
    family: Family
    grid: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    """Values to try for each parameter, in all combinations; a space of :mod:`podium.rankers.spaces` also says what
    lies between them, for searches that draw."""
    stochastic: bool = False
    """Whether the result depends on the order in which queries are seen."""
    variant: bool = False
    """Whether it is another form of a method in the table, which is compared only by name, not by ``all``."""
    kind: Kind = "weights"
    """What its models are: ``weights`` (one per feature: linear, or widths in kernel regression), ``network``,
    ``trees``, ``features`` (single ones, weighted or cut by boosting) or ``factors`` (of users and items)."""
    package: str = ""
    """The optional package without which it cannot be fitted; then, too, it is compared only by name."""

    @property
    def in_all(self) -> bool:
        """Whether ``all`` includes it."""
        return not self.variant and not self.package

    def require_package(self) -> None:
        """Raise ImportError, with what to install, if a package that it needs is not there."""
        if self.package:
            required(self.package, f"'podium-rank[{self.package}]'", f"the method {self.name!r}")


def accepted(build: Callable[..., Any], settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return those of the settings that a method takes: a floor, for one, has nothing to normalize."""
    parameters = inspect.signature(build).parameters
    if any(p.kind is p.VAR_KEYWORD for p in parameters.values()):
        return dict(settings)
    return {name: value for name, value in settings.items() if name in parameters}


class MethodTable(UserDict[str, Method]):
    """Methods by name, grouped by family and sorted by name within it; floors come last."""

    def add(self, *facts: Any, **more: Any) -> None:
        """Add a method; parameters as in :class:`Method`."""
        self._add(Method(*facts, **more))

    def add_variant(self, of: str, name: str, build: Callable[..., Any], summary: str, **facts: Any) -> None:
        """Add another form of a method that is in the table already; facts that are not given are that method's."""
        self._add(replace(self[of], name=name, build=build, summary=summary, variant=True, **facts))

    def _add(self, method: Method) -> None:
        if method.name in self:
            raise ValueError(f"the method {method.name!r} is in the table already")
        self[method.name] = method

    def find(self, name: str) -> Method:
        """Return the method of this name; raise ValueError, with the nearest names, if there is none."""
        if name not in self:
            meant = did_you_mean(name.lower(), self, cutoff=0.5)
            raise ValueError(f"no method named {name!r}; there are {', '.join(self)}.{meant}")
        return self[name]

    def __iter__(self) -> Iterator[str]:
        families = get_args(Family)
        return iter(sorted(self.data, key=lambda name: (families.index(self.data[name].family), name)))


METHODS = MethodTable()
"""The methods that learn from lists of documents."""

"""A method as it takes part in a study, and a setting to try it with."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any, Self

from sklearn.base import clone


@dataclass(frozen=True, slots=True)
class Setting:
    """Hyper-parameters to try, and the seed to try them with."""

    parameters: dict[str, Any]
    seed: int | None
    """None for a ranker that takes none."""
    number: int = 0
    """Its place in the order of the search."""


@dataclass(frozen=True, slots=True)
class StudyMethod:
    """A method as it takes part in a study. It is sent to worker processes, so all its parts can be pickled."""

    name: str
    build: Callable[..., Any]
    """Returns an unfitted ranker from parameters by name."""
    grid: dict[str, Sequence[Any]] = field(default_factory=dict)
    """What may be tried for each parameter: plain values, or a space of :mod:`podium.rankers.spaces`."""
    fixed: dict[str, Any] = field(default_factory=dict)
    """Parameters that are the same in all trials."""
    takes_seed: bool = False
    stochastic: bool = False
    """Does its result depend on the seed?"""
    family: str = "own"
    kind: str = ""
    """Kind of its models: see :attr:`podium.rankers.methods.Method.kind`. A user's ranker is a kind of its own."""
    variant: bool = False
    """Is it another form of a method that stands in the table already?"""
    is_floor: bool = False
    on_queries: Callable[[Any], Any] | None = None
    """Wraps a ranker of another domain as one that learns from queries."""
    requires: tuple[str, ...] = ()
    """Names of the methods whose trials it is made from, all of them on the same fold; they come first."""

    def combinations(self) -> Iterator[dict[str, Any]]:
        """Yield every combination of the grid's values, the last name varying fastest; an empty one if none is."""
        for values in product(*self.grid.values()):
            yield dict(zip(self.grid, values, strict=True))

    def settings(self, combinations: Sequence[Mapping[str, Any]], seed: int) -> list[Setting]:
        """Return a setting for each combination of parameters."""
        own = seed if self.takes_seed else None
        return [Setting(dict(parameters), own, number) for number, parameters in enumerate(combinations)]

    def ranker(self, setting: Setting) -> Any:
        """Return an unfitted ranker."""
        seed = {} if setting.seed is None else {"random_state": setting.seed}
        built = self.build(**setting.parameters, **self.fixed, **seed)
        return built if self.on_queries is None else self.on_queries(built)

    def made_from(self, trials: Sequence[Any]) -> Self:
        """Return the method with the trials of those it requires: itself, if it requires none."""
        return self


@dataclass(frozen=True, slots=True)
class CloneOf:
    """Builds copies of a ranker, with some of its parameters replaced (``scorer__l2`` reaches into a part)."""

    ranker: Any

    def __call__(self, **parameters: Any) -> Any:
        ranker = clone(self.ranker, safe=False)
        return ranker.set_params(**parameters) if parameters else ranker

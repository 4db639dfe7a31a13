"""Who takes part in a comparison: methods by name, rankers of the caller's own, and always the floor."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

FLOORS = ("best-feature", "random")
"""Methods that every table has: what a learned ranker must beat to be worth anything."""
QUICK = ("listnet", "pmop", "ranknet", "lambdarank", "regression")
"""What a demonstration shows: one or two of each family, quick to compile and to train."""


@dataclass(frozen=True, slots=True)
class Entrant:
    """A method as it enters a comparison. Cheap to pickle: a built-in one is looked up by name where it is needed."""

    name: str
    grid: dict[str, list[Any]] = field(default_factory=dict)
    fixed: dict[str, Any] = field(default_factory=dict)
    """Parameters that are the same in all combinations."""
    ranker: Any = None
    """The caller's own, cloned for each fit; None for a built-in method."""

    @property
    def is_floor(self) -> bool:
        return self.name in FLOORS

    def combinations(self) -> Iterator[dict[str, Any]]:
        """Every combination of the grid's values, the last name varying fastest; an empty one for an empty grid."""
        for values in product(*self.grid.values()):
            yield dict(zip(self.grid, values, strict=True))

    def build(self, parameters: Mapping[str, Any]) -> Any:
        """An unfitted ranker."""
        if self.ranker is None:
            return _methods()[self.name].build(**parameters, **self.fixed)
        from sklearn.base import clone

        return clone(self.ranker)

    def description(self) -> dict[str, Any]:
        """What determines its results, as JSON-like values."""
        own = {} if self.ranker is None else {"ranker": repr(self.ranker)}
        return {"grid": self.grid, "fixed": self.fixed, **own}


def entrants(
    methods: str | Sequence[str] | Mapping[str, Any], *, primary: str, normalize: str | None, random_state: int
) -> list[Entrant]:
    """The entrants that ``methods`` asks for, and the floor after them."""
    settings = {"normalize": normalize, "random_state": random_state}
    own: Mapping[str, Any] = methods if isinstance(methods, Mapping) else {}
    if isinstance(methods, str):
        every = [name for name, method in _methods().items() if not method.variant]
        methods = every if methods.strip() == "all" else [name.strip() for name in methods.split(",")]
    names = [name for name in dict.fromkeys(methods) if name not in FLOORS]
    chosen = [Entrant(n, ranker=own[n]) if own.get(n) is not None else _built_in(n, settings) for n in names]
    best_by = {**settings, "metric": primary}  # the best feature is chosen as hyper-parameters are
    return [*chosen, *(_built_in(name, best_by) for name in FLOORS)]


def require_method(name: str) -> Any:
    """The built-in method of this name; raise, with the nearest names, if there is none."""
    known = _methods()
    if name not in known:
        near = difflib.get_close_matches(name.lower(), known, n=3, cutoff=0.5)
        meant = f" Did you mean {' or '.join(near)}?" if near else ""
        raise ValueError(f"no method is called {name!r}; there are {', '.join(known)}.{meant}")
    return known[name]


def accepted(build: Callable[..., Any], settings: Mapping[str, Any]) -> dict[str, Any]:
    """Those of the settings that the method takes: the floor, for one, has nothing to normalise."""
    parameters = inspect.signature(build).parameters
    if any(p.kind is p.VAR_KEYWORD for p in parameters.values()):
        return dict(settings)
    return {name: value for name, value in settings.items() if name in parameters}


def _built_in(name: str, settings: Mapping[str, Any]) -> Entrant:
    method = require_method(name)
    fixed = {k: v for k, v in accepted(method.build, settings).items() if k not in method.grid}
    return Entrant(name, {k: list(values) for k, values in method.grid.items()}, fixed)


def _methods() -> Mapping[str, Any]:
    from podium.rankers.methods import METHODS

    return METHODS

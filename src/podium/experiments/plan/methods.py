"""Who takes part in a comparison: methods by name, rankers of the caller's own, and always the floor."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import numpy as np

from podium.rankers.spaces import as_space

FLOORS = ("best-feature", "random")
"""Methods that every table has: what a learned ranker must beat to be worth anything."""
BLEND = "blend"
"""The average of the models of all methods: see :mod:`podium.experiments.run.blend`; takes part if named."""
QUICK = ("listnet", "pmop", "ranknet", "lambdarank", "regression")
"""What a demonstration shows: one or two of each family, quick to compile and to train."""


@dataclass(frozen=True, slots=True)
class Setting:
    """Parameters to try, and the seed to try them with."""

    parameters: dict[str, Any]
    seed: int | None
    """None for a ranker that takes none."""
    number: int = 0
    """In the order of the search."""


@dataclass(frozen=True, slots=True)
class StudyMethod:
    """A method as it enters a comparison. Cheap to pickle: a built-in one is looked up by name where it is needed."""

    name: str
    grid: dict[str, Sequence[Any]] = field(default_factory=dict)
    """What may be tried for each parameter: plain values, or a :class:`podium.rankers.spaces.Space`."""
    fixed: dict[str, Any] = field(default_factory=dict)
    """Parameters that are the same in all trials."""
    ranker: Any = None
    """The caller's own, cloned for each fit; None for a built-in method."""
    takes_seed: bool = False
    stochastic: bool = False
    """Does its result depend on the seed?"""
    restarts: int = 1
    """Trials with each setting, from different random starts."""
    kind: str = ""
    """Of its models: see :attr:`podium.rankers.methods.Method.kind`. A ranker of the caller's is a kind of its own."""
    members: tuple[str, ...] = ()
    """Methods whose models a blend averages. Others have none."""

    @property
    def is_floor(self) -> bool:
        return self.name in FLOORS

    def combinations(self) -> Iterator[dict[str, Any]]:
        """Every combination of the grid's values, the last name varying fastest; an empty one for an empty grid."""
        for values in product(*self.grid.values()):
            yield dict(zip(self.grid, values, strict=True))

    def settings(self, combinations: Sequence[Mapping[str, Any]], seed: int) -> Iterator[Setting]:
        """A setting for each combination and each restart."""
        for i, parameters in enumerate(combinations):
            for restart in range(self.restarts):
                own = restart_seed(seed, restart) if self.takes_seed else None
                yield Setting(dict(parameters), own, i * self.restarts + restart)

    def build(self, setting: Setting) -> Any:
        """An unfitted ranker."""
        seed = {} if setting.seed is None else {"random_state": setting.seed}
        if self.ranker is None:
            return _methods()[self.name].build(**setting.parameters, **self.fixed, **seed)
        from sklearn.base import clone

        ranker = clone(self.ranker)
        return ranker.set_params(**seed) if seed else ranker

    def description(self) -> dict[str, Any]:
        """What determines its results, as JSON-like values."""
        grid = {name: list(values) for name, values in self.grid.items()}
        spaces = {name: type(as_space(values)).__name__ for name, values in self.grid.items()}
        own = {} if self.ranker is None else {"ranker": repr(self.ranker)}
        more = {} if self.restarts == 1 else {"restarts": self.restarts}
        blended = {"members": list(self.members)} if self.members else {}
        return {"grid": grid, "spaces": spaces, "fixed": self.fixed, **own, **more, **blended}


def restart_seed(seed: int, restart: int) -> int:
    """The seed of a restart; that of the first is the seed itself."""
    return seed if restart == 0 else int(np.random.SeedSequence([seed, restart]).generate_state(1)[0])


def study_methods(
    methods: str | Sequence[str] | Mapping[str, Any], *, primary: str, normalize: str | None, n_seeds: int = 1
) -> list[StudyMethod]:
    """The entrants that ``methods`` asks for, and the floor after them."""
    settings = {"normalize": normalize}
    own: Mapping[str, Any] = methods if isinstance(methods, Mapping) else {}
    names = asked_for(methods, _methods(), FLOORS)
    blended = []
    if BLEND in names and own.get(BLEND) is None:
        names.remove(BLEND)
        blended = [_blend([name for name in names if own.get(name) is not None or not _is_variant(name)])]
    chosen = [_own(n, own[n], n_seeds) if own.get(n) is not None else _built_in(n, settings) for n in names]
    best_by = {**settings, "metric": primary}  # the best feature is chosen as hyper-parameters are
    return [*chosen, *blended, *(_built_in(name, best_by) for name in FLOORS)]


def asked_for(methods: str | Iterable[str], known: Mapping[str, Any], floors: Sequence[str]) -> list[str]:
    """The names that ``methods`` lists, each once, without the floors; ``all`` is all that are no variants."""
    if isinstance(methods, str):
        every = [name for name, method in known.items() if not method.variant]
        parts = [name.strip() for name in methods.split(",")]
        methods = [name for part in parts for name in (every if part == "all" else [part])]
    return [name for name in dict.fromkeys(methods) if name not in floors]


def require_method(name: str, known: Mapping[str, Any] | None = None) -> Any:
    """The built-in method of this name; raise, with the nearest names, if there is none."""
    known = _methods() if known is None else known
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


def _built_in(name: str, settings: Mapping[str, Any]) -> StudyMethod:
    method = require_method(name)
    fixed = {k: v for k, v in accepted(method.build, settings).items() if k not in method.grid}
    return StudyMethod(
        name,
        dict(method.grid),
        fixed,
        takes_seed=bool(accepted(method.build, {"random_state": 0})),
        stochastic=method.stochastic or name == "random",
        kind=method.kind,
    )


def _own(name: str, ranker: Any, n_seeds: int) -> StudyMethod:
    """A ranker of the caller's own keeps its seed, unless several are asked for."""
    several = n_seeds > 1 and "random_state" in getattr(ranker, "get_params", dict)()
    return StudyMethod(name, ranker=ranker, takes_seed=several, stochastic=several, kind=f"own: {name}")


def _is_variant(name: str) -> bool:
    """Is it another form of a method? A blend of both would count that twice."""
    return bool(require_method(name).variant)


def _blend(members: Sequence[str]) -> StudyMethod:
    if len(members) < 2:
        raise ValueError("a blend is of two methods or more that are no variants: name them with it")
    return StudyMethod(BLEND, members=tuple(members))


def _methods() -> Mapping[str, Any]:
    from podium.rankers.methods import METHODS

    return METHODS

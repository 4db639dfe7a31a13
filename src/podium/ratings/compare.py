"""Comparing rankers of ratings: the experiment of :mod:`podium.experiments.compare` with users in place of queries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from podium.experiments.compare import carry_out, named_metrics
from podium.experiments.plan.methods import Setting, StudyMethod, accepted, asked_for, require_method
from podium.experiments.plan.search import Search
from podium.experiments.result.comparison import Comparison
from podium.experiments.run.runner import Listener
from podium.experiments.run.store import code_version
from podium.ratings.data import Ratings
from podium.ratings.files import read_ratings
from podium.ratings.folds import OnQueries, RatingProtocol, RatingSource

__all__ = ["compare_ratings"]

METRICS = ("ndcg@1", "ndcg@5", "ndcg@10", "err")


@dataclass(frozen=True, slots=True)
class RatingMethod(StudyMethod):
    """A ranker of ratings as it enters a comparison."""

    shape: tuple[int, int] = (0, 0)
    """Users and items there are, rated or not."""

    @property
    def is_floor(self) -> bool:
        return self.name in _floors()

    def build(self, setting: Setting) -> Any:
        seed = {} if setting.seed is None else {"random_state": setting.seed}
        if self.ranker is None:
            ranker = _methods()[self.name].build(**setting.parameters, **self.fixed, **seed)
        else:
            from sklearn.base import clone

            ranker = clone(self.ranker).set_params(**seed)
        return OnQueries(ranker, *self.shape)


def compare_ratings(
    data: Any,
    methods: str | Sequence[str] | Mapping[str, Any] | None = None,
    *,
    protocol: str = "given-n",
    n: int | Sequence[int] = (10, 20, 50),
    replicates: int = 10,
    min_test: int = 10,
    metrics: Sequence[str] = METRICS,
    convention: str = "standard",
    primary: str | None = None,
    search: str | Search = "grid",
    budget: int | None = None,
    random_state: int = 0,
    out: str | Path | None = None,
    jobs: int | None = None,
    progress: Listener | None = None,
) -> dict[int, Comparison]:
    """Train, choose and test rankers of ratings on the same draws, for each number ``n`` of ratings given.

    Three tenths of each user's training ratings are held out to choose hyper-parameters by the ``primary`` metric; the
    choice is then fitted on all of them and evaluated on the test ratings, once. Every user is a query: a user's figure
    is the mean over the replicates, and tests and intervals are over users.

    Parameters
    ----------
    data : path or Ratings
    methods : "all", names, or a mapping from names to rankers, optional
        What ``podium methods --ratings`` lists, or rankers of your own; by default all. The floor of every table,
        ``item-mean`` and ``popularity``, is always added.
    protocol : {"given-n", "held-out-users", "time"}
        See :mod:`podium.ratings.splits`.
    n : int or several
        Ratings of each (test) user that are known.
    replicates : int
        Draws, each with a seed of its own; 1 for ``time``, which ignores ``n``.
    min_test : int
        Users with fewer than ``n + min_test`` ratings are left out.
    metrics, primary, search, budget, random_state, out, jobs, progress
        As for :func:`podium.compare`. ERR counts grades from the lowest rating on.

    Returns
    -------
    dict
        A :class:`Comparison` for each n; with ``out``, in a folder of its own.
    """
    ratings, name = (data, "ratings") if isinstance(data, Ratings) else (read_ratings(data), dataset_name(Path(data)))
    if len(ratings) == 0:
        raise ValueError(f"{name}: there are no ratings to compare on")
    lowest = float(ratings.values.min())
    rules = f"{convention}+min_grade={lowest:g}" if lowest != 0 and "min_grade" not in convention else convention
    numbers = [n] if isinstance(n, int) else list(dict.fromkeys(n))
    found = {}
    for number in numbers[:1] if protocol == "time" else numbers:
        how = RatingProtocol(protocol, number, replicates, min_test)
        found[number] = _compare(
            RatingSource(ratings, name, how, random_state),
            methods or "all",
            *named_metrics(metrics, rules, primary),
            search if isinstance(search, Search) else Search(search, budget),
            (ratings.n_users, ratings.n_items),
            random_state,
            out=None if out is None else Path(out) / how.folder,
            jobs=jobs,
            progress=progress,
        )
    return found


def _compare(
    source: RatingSource,
    methods: Any,
    metrics: Sequence[Any],
    primary: Any,
    search: Search,
    shape: tuple[int, int],
    random_state: int,
    **where: Any,
) -> Comparison:
    methods = _entrants(methods, shape)
    configuration = {
        "podium": code_version(),
        "data": {
            "name": source.name,
            "description": source.description,
            "fingerprint": source.fingerprint,
            "folds": source.folds,
        },
        "unit": "user",
        "item": "item",
        "protocol": {"name": str(source.protocol), "text": source.protocol.describe()},
        "average": source.average,
        "search": search.description(),
        "methods": {method.name: method.description() for method in methods},
        "metrics": [metric.name for metric in metrics],
        "primary": primary.name,
        "convention": primary.convention,
        "seed": random_state,
        "seeds": [random_state],
        "stochastic": [],
    }
    return carry_out(configuration, source, methods, metrics, primary, search, **where)


def _entrants(methods: Any, shape: tuple[int, int]) -> list[RatingMethod]:
    """The entrants that ``methods`` asks for, and the floor after them."""
    own = methods if isinstance(methods, Mapping) else {}
    names = [*asked_for(methods, _methods(), _floors()), *_floors()]
    return [_built_in(n, shape) if own.get(n) is None else RatingMethod(n, ranker=own[n], shape=shape) for n in names]


def _built_in(name: str, shape: tuple[int, int]) -> RatingMethod:
    method = require_method(name, _methods())
    takes_seed = bool(accepted(method.build, {"random_state": 0}))
    return RatingMethod(name, dict(method.grid), takes_seed=takes_seed, shape=shape)


def dataset_name(path: Path) -> str:
    """Of a data set; files named like MovieLens' ``u.data`` or ``ratings.csv`` are known by their folder."""
    own = path.name.split(".")[0]
    folder = path.resolve().parent.name
    return folder if own.lower() in ("u", "ratings", "data") and folder else own


def _methods() -> Mapping[str, Any]:
    from podium.ratings.methods import RATING_METHODS

    return RATING_METHODS


def _floors() -> tuple[str, ...]:
    from podium.ratings.methods import FLOORS

    return FLOORS

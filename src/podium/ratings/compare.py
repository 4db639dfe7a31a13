"""Comparisons of rankers of ratings: a study in which users take the place of queries."""

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from podium.core.random_state import RandomState, seed_of
from podium.experiments import Comparison, Search
from podium.experiments.compare import run_study
from podium.experiments.listening import listening, tell
from podium.experiments.plan.domain import Domain
from podium.experiments.plan.judges import judges
from podium.experiments.plan.study import Study
from podium.experiments.run.cluster import open_cluster
from podium.experiments.run.runner import Listener
from podium.metrics.definition import Metric
from podium.ratings.data import Ratings
from podium.ratings.estimator import RATING_METHODS
from podium.ratings.evaluation import METRICS
from podium.ratings.files import read_ratings
from podium.ratings.folds import OnQueries, RatingProtocol, RatingSource
from podium.ratings.rankers.floors import FLOORS

__all__ = ["compare_ratings"]


def compare_ratings(
    data: str | Path | Ratings,
    methods: str | Sequence[str] | Mapping[str, Any] | None = None,
    *,
    protocol: str = "given-n",
    n: int | Sequence[int] = (10, 20, 50),
    replicates: int = 10,
    min_test: int = 10,
    metrics: Sequence[str | Metric] = METRICS,
    convention: str = "standard",
    primary: str | Metric | None = None,
    search: str | Search = "grid",
    budget: int | None = None,
    random_state: RandomState = 0,
    out: str | Path | None = None,
    jobs: int | None = None,
    dask: Any = None,
    progress: Listener | bool | None = None,
) -> dict[int, Comparison]:
    """Train, choose and test rankers of ratings on the same draws, for each number ``n`` of ratings given.

    Three tenths of each user's training ratings are held out to choose hyper-parameters by the ``primary`` metric; the
    choice is then fitted on all of them and evaluated on the test ratings, once. Every user is a query: a user's figure
    is the mean over the replicates, and tests and intervals are over users.

    Parameters
    ----------
    data : path or Ratings
        What they learn from.
    methods : "all", names, or a mapping from names to rankers, optional
        Names that ``podium methods --ratings`` lists, or rankers of your own; by default all. The floor of every table,
        ``item-mean`` and ``popularity``, is always added.
    protocol : {"given-n", "held-out-users", "time"}
        See ``podium.ratings.splits``.
    n : int or several
        The number of known ratings of each (test) user.
    replicates : int
        The number of draws, each with its own seed; 1 for ``time``, which ignores ``n``.
    min_test : int
        Users with fewer than ``n + min_test`` ratings are left out.
    metrics, convention, primary, search, budget, random_state, out, jobs, dask, progress : Any
        As for :func:`podium.compare`. ERR counts grades from the lowest rating.

    Returns
    -------
    dict
        One :class:`~podium.experiments.Comparison` per n; with ``out``, each has a folder of its own.

    Examples
    --------
    >>> import podium
    >>> ratings = podium.make_ratings(40, 50, 1200)
    >>> found = podium.compare_ratings(ratings, ["item-mean", "popularity"], n=10, replicates=2, min_test=5, jobs=1)
    >>> comparison = found[10]
    >>> comparison.figure("item-mean", "ndcg@10") > comparison.figure("popularity", "ndcg@10")
    True
    """
    random_state = seed_of(random_state)
    ratings, name = (data, "ratings") if isinstance(data, Ratings) else (read_ratings(data), dataset_name(Path(data)))
    if len(ratings) == 0:
        raise ValueError(f"{name}: there are no ratings to compare on")
    lowest = float(ratings.values.min())
    if lowest != 0 and "min_grade" not in convention:
        convention = f"{convention}+min_grade={lowest:g}"
    strategy = search if isinstance(search, Search) else Search(search, budget)
    on_queries = partial(OnQueries, n_users=ratings.n_users, n_items=ratings.n_items)
    domain = Domain(RATING_METHODS, FLOORS, unit="user", item="item", on_queries=on_queries)
    entered = domain.study_methods(methods or "all")
    reading = {"path": None if isinstance(data, Ratings) else str(Path(data).absolute())}
    numbers = [n] if isinstance(n, int) else list(dict.fromkeys(n))
    comparisons = {}
    with listening(progress) as listener, open_cluster(dask, jobs) as cluster:
        for number in numbers[:1] if protocol == "time" else numbers:
            how = RatingProtocol(protocol, number, replicates, min_test)
            source = RatingSource(ratings, name, how, random_state)
            judged_by = judges(metrics, convention, primary, source)
            tell((f"{how.folder}: {line}" for line in judged_by.notes), listener)
            study = Study(
                *(source, entered, judged_by.metrics, judged_by.primary, strategy, random_state, [random_state]),
                reading=reading,
                domain=domain,
                silent=judged_by.silent,
            )
            folder = None if out is None else Path(out) / how.folder
            comparisons[number] = run_study(study, out=folder, jobs=jobs, progress=listener, cluster=cluster)
    return comparisons


def dataset_name(path: Path) -> str:
    """Return a name for the data; files such as MovieLens' ``u.data`` or ``ratings.csv`` are named by their folder."""
    own = path.name.split(".")[0]
    folder = path.resolve().parent.name
    return folder if own.lower() in ("u", "ratings", "data") and folder else own

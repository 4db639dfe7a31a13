"""Comparisons of rankers of ratings: a study in which users take the place of queries."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from podium.core.parameters import require_choice
from podium.core.random_state import RandomState, seed_of
from podium.experiments import Comparison, Search
from podium.experiments.compare import run_study
from podium.experiments.listening import listening, tell
from podium.experiments.plan.domain import Domain
from podium.experiments.plan.judges import judges
from podium.experiments.plan.study import Study
from podium.experiments.run.cluster import open_cluster
from podium.experiments.run.runner import Listener
from podium.metrics.conventions import convention as find_convention
from podium.metrics.definition import Metric, import_metrics, metric
from podium.ratings.catalogue.evaluation import CATALOGUE_METRICS, RELEVANT, depth_of, threshold
from podium.ratings.catalogue.exposure import is_exposure
from podium.ratings.catalogue.folds import SHOWN, ExposureJudge
from podium.ratings.data import Ratings
from podium.ratings.estimator import RATING_METHODS
from podium.ratings.evaluation import METRICS
from podium.ratings.files import read_ratings
from podium.ratings.folds import STUDIED, OnQueries, RatingProtocol, RatingSource
from podium.ratings.rankers.floors import FLOORS

__all__ = ["compare_ratings"]


def compare_ratings(
    data: str | Path | Ratings,
    methods: str | Sequence[str] | Mapping[str, Any] | None = None,
    *,
    protocol: str = "given-n",
    n: int | Sequence[int] | None = None,
    replicates: int | None = None,
    min_test: int = 10,
    candidates: str = "rated",
    relevant: float | None = None,
    binary: bool = False,
    metrics: Sequence[str | Metric] | None = None,
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

    Some of each user's training ratings are held out to choose hyper-parameters by the ``primary`` metric; the choice
    is then fitted on all of them and evaluated on the test ratings, once. Every user is a query: a user's figure is the
    mean over the replicates, and tests and intervals are over users.

    Parameters
    ----------
    data : path or Ratings
        What they learn from.
    methods : "all", names, or a mapping from names to rankers, optional
        Names that ``podium methods --ratings`` lists, or rankers of your own; by default all. The floor of every table,
        ``item-mean`` and ``popularity``, is always added.
    protocol : {"given-n", "held-out-users", "leave-last-out", "random", "time"}
        How ratings become training and test parts: :func:`podium.given_n`, :func:`podium.held_out_users`,
        :func:`podium.leave_last_out`, :func:`podium.random_split` with a fifth of each user's ratings, or
        :func:`podium.time_split`. What is held out for the choice is divided off in the same way, but three tenths of
        the training ratings at random with the first two and the last.
    n : int or several, optional
        The number of known ratings of each (test) user, by default 10, 20 and 50; with ``leave-last-out``, of ratings
        tested, by default 1. ``random`` and ``time`` ignore it.
    replicates : int, optional
        The number of draws, each with its own seed: by default 10, of ``random`` 5, and 1 of ``leave-last-out``, where
        only equal times are drawn, and ``time``, where nothing is.
    min_test : int
        With ``given-n`` and ``held-out-users``, users with fewer than ``n + min_test`` ratings are left out.
    candidates : {"rated", "catalogue"}
        What is ranked for a user: the items rated in the test part, as in the papers; or all items that the user has
        not rated in training, as :func:`podium.evaluate_catalogue` does. Then ``metrics`` may have ``coverage@k``,
        ``novelty@k``, ``popularity@k`` and ``lift@k``.
    relevant, binary : float, bool
        With ``candidates="catalogue"``: the lowest rating that is worth finding (by default 4), and whether all of
        these are worth the same. Methods that learn from what users have chosen (they have a parameter
        ``relevant_from``) take ratings of at least ``relevant`` for it.
    metrics, convention, primary, search, budget, random_state, out, jobs, dask, progress : Any
        As for :func:`podium.compare`. Of rated items, ERR counts grades from the lowest rating.

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
    whole = candidates == "catalogue"
    asked = list((CATALOGUE_METRICS if whole else METRICS) if metrics is None else metrics)
    options: dict[str, Any] = {}
    if whole:
        relevant = threshold(convention, relevant)
        options["relevant_from"] = relevant
        convention = str(replace(find_convention(convention), relevant_from=1.0 if binary else relevant))
    elif relevant is not None or binary:
        raise ValueError("relevant and binary are for candidates='catalogue'")
    else:
        convention = _from_lowest(convention, float(ratings.values.min()))
    measures = [metric(import_metrics([m])[0], convention) if isinstance(m, str) else m for m in asked]
    exposed, ranked = [m for m in measures if is_exposure(m)], [m for m in measures if not is_exposure(m)]
    if exposed and not whole:
        raise ValueError(f"{exposed[0].name} is of a whole catalogue: give candidates='catalogue'")
    strategy = search if isinstance(search, Search) else Search(search, budget)
    depth = depth_of(measures) if whole else None
    lists: dict[str, Any] = {"whole": True, "depth": depth and max(depth, SHOWN)} if whole else {}
    on_queries = partial(OnQueries, n_users=ratings.n_users, n_items=ratings.n_items, **lists)
    domain = Domain(
        *(RATING_METHODS, FLOORS), unit="user", item="item", on_queries=on_queries, leaves_out=depth is not None
    )
    entered = domain.study_methods(methods if methods is not None else "all", options)
    reading = {"path": None if isinstance(data, Ratings) else str(Path(data).absolute())}
    require_choice("protocol", protocol, tuple(STUDIED))
    draws = STUDIED[protocol] if replicates is None else replicates
    comparisons = {}
    with listening(progress) as listener, open_cluster(dask, jobs) as cluster:
        for number in _numbers(protocol, n):
            how = RatingProtocol(protocol, number, draws, min_test, candidates, relevant or RELEVANT, binary)
            source = RatingSource(ratings, name, how, random_state)
            judged_by = judges(ranked, convention, primary, source)
            tell((f"{how.folder}: {line}" for line in judged_by.notes), listener)
            study = Study(
                *(source, entered, judged_by.metrics, judged_by.primary, strategy, random_state, [random_state]),
                options=options,
                reading=reading,
                domain=domain,
                silent=judged_by.silent,
                beside=ExposureJudge(exposed, source) if exposed else None,
            )
            folder = None if out is None else Path(out) / how.folder
            comparisons[number] = run_study(study, out=folder, jobs=jobs, progress=listener, cluster=cluster)
    return comparisons


def _from_lowest(convention: str, lowest: float) -> str:
    """Return the convention with ERR's grades counted from the lowest rating, unless it says something else."""
    return convention if lowest == 0 or "min_grade" in convention else f"{convention}+min_grade={lowest:g}"


def _numbers(protocol: str, n: int | Sequence[int] | None) -> list[int]:
    """Return the n of each table."""
    if n is None:
        n = 1 if protocol == "leave-last-out" else (10, 20, 50)
    numbers = [n] if isinstance(n, int) else list(dict.fromkeys(n))
    return numbers[:1] if protocol in ("time", "random") else numbers


def dataset_name(path: Path) -> str:
    """Return a name for the data; files such as MovieLens' ``u.data`` or ``ratings.csv`` are named by their folder."""
    own = path.name.split(".")[0]
    folder = path.resolve().parent.name
    return folder if own.lower() in ("u", "ratings", "data") and folder else own

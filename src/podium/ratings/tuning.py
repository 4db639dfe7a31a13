"""The setting of a ranker of ratings: searched for on held-out ratings, or taken from a finished comparison."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Self

from podium.core.random_state import RandomState, seed_of
from podium.core.user_objects import import_user_object, is_user_object
from podium.data.queries import Queries
from podium.experiments import Comparison, Search
from podium.experiments.from_run import original
from podium.experiments.listening import listening
from podium.experiments.plan.configuration import plain_parameters
from podium.experiments.plan.domain import Domain
from podium.experiments.plan.methods import Setting, StudyMethod
from podium.experiments.plan.protocol import Average, ProtocolFacts
from podium.experiments.plan.sources import Parts
from podium.experiments.plan.study import Study
from podium.experiments.run.carrying import over_folds
from podium.experiments.run.clock import Clock
from podium.experiments.run.runner import Listener
from podium.experiments.run.store import FILE
from podium.experiments.tuning import SettingSearch, Tuning, final_ranker, joint_value, search_store
from podium.metrics import Metric
from podium.metrics import metric as find_metric
from podium.numerics.blas import quiet_blas
from podium.rankers.methods import accepted
from podium.ratings.data import Ratings
from podium.ratings.estimator import RATING_METHODS, RatingData, RatingRanker, as_ratings
from podium.ratings.evaluation import on_scale
from podium.ratings.files import read_ratings
from podium.ratings.folds import HELD_OUT, ITERATIONS, TRAINING, OnQueries, as_lists, fingerprint, stop_after
from podium.ratings.rankers.floors import FLOORS
from podium.ratings.splits import hold_out

__all__ = ["train_from_comparison", "tune_ratings"]


def tune_ratings(
    method: str | RatingRanker,
    ratings: RatingData,
    *,
    space: Mapping[str, Any] | None = None,
    metric: str | Metric = "ndcg@10",
    convention: str = "standard",
    search: str | None = None,
    budget: int | None = None,
    settings: Mapping[str, Any] | None = None,
    random_state: RandomState = 0,
    out: str | Path | None = None,
    jobs: int | None = 1,
    progress: Listener | bool | None = None,
    clock: Clock | None = None,
) -> Any:
    """Search for the best setting of a ranker of ratings and return it, fitted with that on all ratings.

    Three tenths of each user's ratings are held out, as :func:`podium.compare_ratings` does; every setting is fitted on
    the rest and judged by how it ranks the ratings held out. The best is fitted on all ratings, for as many iterations
    as were best there.

    Parameters
    ----------
    method : str or RatingRanker
        What ``podium methods --ratings`` lists, ``module:name``, or a ranker.
    ratings : Ratings, or (users, items, values)
        What to learn from.
    space : mapping, optional
        What to try for each parameter, ``{"regularization": [1, 10]}``; by default the method's own.
    metric, convention, search, budget, settings : Any
        As for :func:`podium.tune`: what judges a setting, how many are tried, and what is fixed.
    random_state : int
        Seeds what is held out, the search and the ranker.
    out, jobs, progress, clock : Any
        As for :func:`podium.tune`.

    Returns
    -------
    RatingRanker
        Fitted. Its attribute ``trials_`` is a frame with one row per trial, ``tuning_`` says what was chosen and why.

    Examples
    --------
    >>> import podium
    >>> ratings = podium.make_ratings(40, 30, 800)
    >>> ranker = podium.tune_ratings("pmf", ratings, space={"l2": [1.0, 100.0]}, settings={"n_factors": 2})
    >>> sorted(ranker.tuning_.parameters), ranker.trials_.shape[0]
    (['l2'], 2)
    """
    ratings, clock, random_state = as_ratings(ratings), clock or Clock(None), seed_of(random_state)
    source = HeldOut(ratings, random_state)
    lowest, highest = float(ratings.values.min()), float(ratings.values.max())
    measure = on_scale(metric if isinstance(metric, Metric) else find_metric(metric, convention), lowest, highest)
    strategy = Search(search or ("grid" if budget is None else "random"), budget)
    domain = _domain(ratings)
    tried = _method(domain, method, space, settings or {})
    study = Study(source, [tried], [measure], measure, strategy, random_state, (random_state,), domain=domain)
    with listening(progress) as listener:
        with search_store(study, out) as store:
            found = SettingSearch(study, store, tried, listener, clock, jobs).run()
        return _fit(tried, found, ratings, clock, listener)


def train_from_comparison(
    comparison: Comparison | str | Path,
    method: str | None = None,
    *,
    data: str | Path | Ratings | None = None,
    progress: Listener | bool | None = None,
) -> Any:
    """Return the pick of a comparison of rankers of ratings, or the named method, fitted on all its ratings.

    Its setting is the best over the held-out ratings of all replicates together; nothing is tried again, and the test
    ratings have no say. It is fitted for the median of the iterations that were best on them.

    Parameters
    ----------
    comparison : Comparison or path
        As returned by :func:`podium.compare_ratings`, or the folder of one of its tables, such as ``given-10``.
    method : str, optional
        One of the methods compared; by default the pick.
    data : path or Ratings, optional
        Where the ratings are now, if they were moved or in memory; they must be the same, by their digest.
    progress : bool or Listener, optional
        As for :func:`podium.tune`.

    Returns
    -------
    RatingRanker
        Fitted, with ``trials_`` and ``tuning_``.

    Examples
    --------
    >>> import podium
    >>> ratings = podium.make_ratings(40, 50, 1200)
    >>> found = podium.compare_ratings(ratings, ["pmf"], n=10, replicates=2, min_test=5, jobs=1)
    >>> podium.train_from_comparison(found[10], "pmf", data=ratings).tuning_.n_folds
    2
    """
    if not isinstance(comparison, Comparison):
        comparison = load_comparison(comparison)
    configuration = comparison.configuration
    if configuration.unit != "user":
        raise ValueError("this is a comparison on documents of queries: comparison.train(), or podium train --from-run")
    name = method or comparison.pick
    if name is None or name not in comparison.methods:
        raise ValueError(f"no method named {name!r} in this comparison; there are {', '.join(comparison.methods)}")
    ratings = _ratings_of(comparison, data)
    trials = [t for result in comparison.results if result.method == name for t in result.trials]
    tried = _compared(comparison, name, ratings)
    with listening(progress) as listener:
        return _fit(tried, _best(comparison, tried, trials), ratings, Clock(None), listener)


class HeldOut:
    """One fold without a test part: three tenths of each user's ratings validate, the others train."""

    average: Average = "repeats"
    protocol = ProtocolFacts("held-out ratings", f"judged on {HELD_OUT:.0%} of each user's ratings")

    def __init__(self, ratings: Ratings, random_state: int) -> None:
        self._ratings, self._seed = ratings, random_state
        self.name, self.folds = "ratings", ["held-out ratings"]
        self.description = f"{len(ratings)} ratings by {ratings.n_users} users, {self.protocol.text}"
        self.fingerprint = fingerprint(ratings)
        if (ratings.sizes < 2).all():
            raise ValueError("no user has two ratings or more: nothing can be held out to choose a setting by")

    def load(self, fold: str) -> Parts:
        """Return training and validation lists."""
        train, validation = (as_lists(self._ratings, (part, TRAINING)) for part in self.parts())
        return train, validation, None

    def parts(self) -> tuple[Ratings, Ratings]:
        return hold_out(self._ratings, HELD_OUT, (self._seed, 0, 1))


class Searched(OnQueries):
    """A ranker of ratings in a search for settings, where nothing is tested and so one fit is enough."""

    def fit(self, queries: Queries, eval_set: Queries, eval_metric: str | Metric) -> Self:
        train, validation = (self._ratings(part.features, part.labels) for part in (queries, eval_set))
        self._search(train, validation, eval_metric)
        self.final = self.ranker
        return self


def _domain(ratings: Ratings) -> Domain:
    on_queries = partial(Searched, n_users=ratings.n_users, n_items=ratings.n_items)
    return Domain(RATING_METHODS, FLOORS, unit="user", item="item", on_queries=on_queries)


def _method(
    domain: Domain, method: str | RatingRanker, space: Mapping[str, Any] | None, settings: Mapping[str, Any]
) -> StudyMethod:
    """Return the method to tune, with what is searched and what is fixed."""
    given: Any = method
    if isinstance(method, str):
        name, given = method, import_user_object(method) if is_user_object(method) else None
    else:
        name = type(method).__name__.lower()
    found = domain.study_method(name, given)
    if given is None:
        asked = {**(space or {}), **settings}
        if unknown := asked.keys() - accepted(found.build, asked).keys():
            raise ValueError(f"{name} has no parameter {min(unknown)!r}")
    grid = {key: values for key, values in (found.grid if space is None else space).items() if key not in settings}
    return replace(found, grid=grid, fixed={**found.fixed, **settings})


def _fit(method: StudyMethod, found: Tuning, ratings: Ratings, clock: Clock, listener: Listener) -> Any:
    """Return the ranker with the chosen setting, fitted on all ratings."""
    listener.note("fitting on all ratings with the chosen setting")
    ranker = final_ranker(replace(method, on_queries=None), found.chosen, {}, found.seed)
    stop = stop_after(found.carried.get(ITERATIONS))

    def ends(progress: Any) -> bool:
        return bool((stop is not None and stop(progress)) or (clock.is_limited and clock.stop_fit(progress)))

    with quiet_blas():
        ranker.fit(ratings, callback=ends)
    for line in found.notes:
        listener.note(line)
    ranker.tuning_, ranker.trials_ = found, found.frame()
    return ranker


def load_comparison(folder: str | Path) -> Comparison:
    """Return the comparison of rankers of ratings in a folder; where several are below it, say which."""
    folder = Path(folder)
    tables = sorted(path.parent for path in folder.glob(f"*/{FILE}"))
    if tables and not (folder / FILE).exists():
        listed = ", ".join(map(str, tables))
        raise ValueError(f"{folder} has a comparison for each number of ratings given: name one of {listed}")
    return Comparison.load(folder)


def _ratings_of(comparison: Comparison, data: str | Path | Ratings | None) -> Ratings:
    """Return the ratings of a comparison, read again; refuse others."""
    where = data if data is not None else (comparison.run_facts.get("reading") or {}).get("path")
    if where is None:
        raise ValueError("the ratings of this comparison were in memory: give them again (data)")
    if not isinstance(where, Ratings) and not Path(where).exists():
        raise ValueError(f"the ratings of this comparison are no longer at {where}: say where they are (data, --data)")
    ratings = where if isinstance(where, Ratings) else read_ratings(where)
    given, expected = fingerprint(ratings), comparison.configuration.data.fingerprint
    if given != expected:
        raise ValueError(
            f"{'the ratings given' if isinstance(where, Ratings) else where} are not those of this comparison: their "
            f"digest is {given[:12]}, that of the comparison {expected[:12]}. Compare again, or tune: "
            "podium ratings train FILE --tune"
        )
    return ratings


def _compared(comparison: Comparison, name: str, ratings: Ratings) -> StudyMethod:
    """Return a method as it took part in a comparison."""
    if comparison.study is not None:
        return next(m for m in comparison.study.methods if m.name == name)
    if name not in RATING_METHODS and not is_user_object(name):
        raise ValueError(
            f"{name} is a ranker of your own, which the folder of the run does not hold: train it yourself"
        )
    return _method(_domain(ratings), name, None, comparison.configuration.methods[name].fixed)


def _best(comparison: Comparison, method: StudyMethod, trials: list[Any]) -> Tuning:
    """Return the setting with the highest mean over the held-out ratings of all replicates, from stored trials."""
    configuration = comparison.configuration
    folds = configuration.data.folds
    tried: dict[str, dict[str, Any]] = {}
    for trial in trials:
        tried.setdefault(repr(sorted(plain_parameters(trial.parameters).items())), {})[trial.fold] = trial
    values = {key: joint_value(by_fold.values()) for key, by_fold in tried.items() if len(by_fold) == len(folds)}
    good = {key: value for key, value in values.items() if value == value}
    if not good:
        raise ValueError(
            f"no setting of {method.name} was tried on all {len(folds)} replicates of this comparison, as a Bayesian "
            "search and a run that was stopped leave it: choose one by podium ratings train FILE --tune"
        )
    key = max(good, key=lambda k: good[k])
    chosen = [tried[key][fold] for fold in folds]
    found = Tuning(find_metric(comparison.primary, comparison.convention), configuration.seed, trials, len(folds))
    found.chosen = Setting(original(chosen[0].parameters, method), chosen[0].seed, chosen[0].number)
    found.value = good[key]
    found.carried = over_folds([trial.carried for trial in chosen])
    return found

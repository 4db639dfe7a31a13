"""Tuning one method: a search for its setting on whole queries, then a fit on all data with what was found."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from podium.core.later import polars
from podium.core.random_state import RandomState, seed_of
from podium.core.showing.frames import as_kind
from podium.core.user_objects import import_user_object, is_user_object
from podium.data.queries import Queries
from podium.experiments.listening import listening, tell
from podium.experiments.plan.configuration import plain_parameters
from podium.experiments.plan.domain import QUERIES
from podium.experiments.plan.methods import Setting, StudyMethod
from podium.experiments.plan.search import Search, Settings
from podium.experiments.plan.search_folds import SearchFolds
from podium.experiments.plan.study import Study
from podium.experiments.run.carrying import over_folds
from podium.experiments.run.clock import Clock
from podium.experiments.run.cluster import Cluster, open_cluster
from podium.experiments.run.forecast import Forecast
from podium.experiments.run.lock import locked
from podium.experiments.run.outcomes import Trial
from podium.experiments.run.pool import Request, TrialPool
from podium.experiments.run.runner import Listener
from podium.experiments.run.store import FILE, Store
from podium.metrics import Metric, import_metrics
from podium.metrics import metric as find_metric
from podium.metrics.telling import first_that_tells
from podium.numerics.blas import quiet_blas
from podium.rankers.methods import METHODS, accepted

__all__ = ["tune"]

_WITHOUT_LIMIT = 1000
"""Settings drawn at most where time is the limit."""


def tune(
    method: Any,
    queries: Queries,
    *,
    space: Mapping[str, Sequence[Any]] | None = None,
    metric: str | Metric | Sequence[str | Metric] = "ndcg@10",
    convention: str = "standard",
    search: str | None = None,
    budget: int | None = None,
    minutes: float | None = None,
    eval_set: Queries | None = None,
    folds: int = 5,
    normalize: str | None = "robust",
    settings: Mapping[str, Any] | None = None,
    random_state: RandomState = 0,
    out: str | Path | None = None,
    jobs: int | None = 1,
    dask: Any = None,
    progress: Listener | bool | None = None,
    clock: Clock | None = None,
) -> Any:
    """Search for the best setting of a method and return the ranker that is fitted with it on all queries.

    Every setting is tried on every fold, and the one with the highest mean over all queries is chosen (of equals the
    first). What the validation part decides within a fit is carried over to the final one: numbers of trees, epochs
    and rounds as the median over the folds, not scaled up; other choices as the most frequent one. Of several
    restarts, the final fit keeps the one with the lowest training objective.

    Parameters
    ----------
    method : str or ranker
        What ``podium methods`` lists; ``module:name``; or a ranker, whose other parameters stay as they are.
    queries : Queries
        What to learn from.
    space : mapping, optional
        What to try for each parameter, ``{"n_leaves": [7, 31]}``: values, or a space of
        ``podium.rankers.spaces``. By default the method's own.
    metric : str or Metric
        What a setting is judged by. If it cannot tell methods apart on these labels, NDCG or MAP takes its place. Of
        several, the first that can tell.
    convention : str
        The rules that the metric follows.
    search : {"grid", "random", "bayes"}, optional
        By default the grid, or ``random`` with a budget.
    budget : int, optional
        Settings to try, for ``random`` and ``bayes``.
    minutes : float, optional
        Time for all: the search, the final fit, and whatever the caller still does. If no setting is tried on
        every fold in that time, the method's default setting is fitted.
    eval_set : Queries, optional
        Validation queries to judge settings by, in place of cross-validation. They also end the final fit, which is on
        ``queries`` alone.
    folds : int
        Folds of the cross-validation.
    normalize : {"robust", "standard", "minmax", "zscore", None}
        For built-in methods, as in :func:`podium.compare`.
    settings : mapping, optional
        Parameters that are fixed.
    random_state : int
        Seeds folds, search and ranker.
    out : path, optional
        Folder that keeps the trials: a search that was stopped goes on from there.
    jobs : int, optional
        Processes; None is one per core. With more than 1, a script needs ``if __name__ == "__main__":``.
    dask : address, client or "local", optional
        Compute the trials on the workers of a Dask cluster, as :func:`podium.compare` does; the final fit is here.
        ``jobs`` above 1 is then the most workers to use.
    progress : bool or Listener, optional
        By default a bar with the time left, in a terminal and in notebooks; True also shows lines where standard error
        is a file, False shows nothing. A listener is told instead.
    clock : Clock, optional
        May have started before this call.

    Returns
    -------
    ranker
        Fitted. Its attribute ``trials_`` is a frame with one row per trial, ``tuning_`` says what was chosen and why.

    Examples
    --------
    >>> import podium
    >>> queries = podium.make_queries(n_queries=30, n_documents=8, random_state=0)
    >>> ranker = podium.tune("listnet", queries, space={"l2": [0.001, 0.1]}, folds=3)
    >>> ranker.tuning_.parameters, ranker.trials_.shape[0]
    ({'l2': 0.001}, 6)
    """
    clock, random_state = clock or Clock(minutes), seed_of(random_state)
    measure, notes = first_that_tells(named(metric, convention), eval_set if eval_set is not None else queries)
    strategy = Search(search or ("grid" if budget is None else "random"), _budget(search, budget, clock))
    tuned = _method(method, space, {"normalize": normalize}, settings or {})
    source = SearchFolds(queries, eval_set, folds, random_state)
    study = Study(source, [tuned], [measure], measure, strategy, random_state, (random_state,))
    jobs = None if dask is not None and jobs == 1 else jobs
    with listening(progress) as listener:
        tell(notes, listener)
        with search_store(study, out) as store, open_cluster(dask, jobs) as cluster:
            found = SettingSearch(study, store, tuned, listener, clock, jobs, cluster=cluster).run()
        found.notes[:0] = notes
        return fit_chosen(tuned, found, queries, eval_set, clock, listener)


@dataclass(slots=True)
class Tuning:
    """The outcome of a search."""

    metric: Metric
    seed: int
    trials: list[Trial]
    """All that were done, in the order of the search."""
    n_folds: int
    chosen: Setting | None = None
    """None if no setting was tried on every fold."""
    value: float = math.nan
    """The mean of the metric over all validation queries with the chosen setting."""
    carried: dict[str, Any] = field(default_factory=dict)
    """What the validation parts decided within fits."""
    incomplete: int = 0
    """Settings that were not tried on every fold, for lack of time."""
    notes: list[str] = field(default_factory=list)
    """What was changed or left out."""

    @property
    def parameters(self) -> dict[str, Any]:
        """The chosen setting; empty for the default."""
        return {} if self.chosen is None else self.chosen.parameters

    @property
    def n_settings(self) -> int:
        return len({trial.number for trial in self.trials})

    def frame(self) -> polars.DataFrame:
        """Return one row per trial."""
        name = f"{self.metric.name} on validation"
        rows = [
            {
                "method": trial.method,
                "setting": trial.number,
                "fold": trial.fold,
                **plain_parameters(trial.parameters),
                name: None if math.isnan(trial.validation) else trial.validation,
                **trial.carried,
                "seconds": trial.seconds,
                "error": trial.error,
                "chosen": self.chosen is not None and trial.number == self.chosen.number,
            }
            for trial in self.trials
        ]
        return polars.DataFrame(rows, infer_schema_length=None)

    def as_dict(self) -> dict[str, Any]:
        """Return what was chosen and why as JSON-like values."""
        return {
            "metric": str(self.metric),
            "parameters": plain_parameters(self.parameters),
            "carried over": self.carried,
            "value": None if math.isnan(self.value) else self.value,
            "settings": self.n_settings,
            "folds": self.n_folds,
            "notes": list(self.notes),
        }


@dataclass(slots=True)
class SettingSearch:
    """One search over all folds together: a setting's value is its mean over the validation queries of all folds."""

    study: Study
    store: Store
    method: StudyMethod
    listener: Listener
    clock: Clock
    jobs: int | None = 1
    settings: Settings | None = None
    """What to try; by default what the study's search asks for."""
    known: dict[int, Setting] = field(default_factory=dict)
    """Settings by number."""
    tried: dict[int, dict[str, Trial]] = field(default_factory=dict)
    """Trials by number of the setting and fold."""
    cluster: Cluster | None = None
    """Where trials are computed, if not here."""

    def run(self) -> Tuning:
        """Try settings on every fold, until there are no more or the time is over; return the best."""
        folds, seed = self.study.source.folds, self.study.random_state
        search = self.settings or self.study.search.settings(self.method, seed)
        total = search.total * len(folds)
        guides = self.listener, self.jobs, self.clock, self._reserve
        with TrialPool(self.study, self.store, *guides, cluster=self.cluster) as pool:
            forecast = Forecast({self.method.name: total}, pool.jobs or 1)
            self.listener.start(total, 0)
            while batch := list(iter(search.ask, None)):  # all of a list, one at a time of a Bayesian search
                self.known |= {setting.number: setting for setting in batch}
                requests = [Request(self.method, setting, fold) for setting in batch for fold in folds]
                for request, trial in pool.trials(requests, forecast):
                    self._add(search, request, trial.without_scores())
                if pool.is_over:
                    break
        return self._chosen(total)

    def _add(self, search: Any, request: Request, trial: Trial) -> None:
        number = request.setting.number
        by_fold = self.tried.setdefault(number, {})
        by_fold[request.fold] = trial
        if len(by_fold) == len(self.study.source.folds):
            search.tell(request.setting, joint_value(by_fold.values()))

    def _reserve(self) -> float:
        """Return the seconds that the final fit takes, judged by the slowest trial so far, which had fewer data."""
        seconds = [trial.seconds for by_fold in self.tried.values() for trial in by_fold.values()]
        slowest = max(seconds, default=0.3 * self.clock.limit)
        n = len(self.study.source.folds)
        return 2.0 + 0.06 * self.clock.limit + 1.4 * slowest * (n / (n - 1) if n > 1 else 1.0)

    def _chosen(self, total: int) -> Tuning:
        folds = self.study.source.folds
        trials = [
            self.tried[number][fold] for number in sorted(self.tried) for fold in folds if fold in self.tried[number]
        ]
        complete = {n: by_fold for n, by_fold in sorted(self.tried.items()) if len(by_fold) == len(folds)}
        values = {n: joint_value(by_fold.values()) for n, by_fold in complete.items()}
        good = {n: value for n, value in values.items() if not math.isnan(value)}
        found = Tuning(self.study.primary, self.study.random_state, trials, len(folds))
        if not good:
            failed = next((trial for trial in trials if trial.error is not None), None)
            if failed is not None:
                raise ValueError(f"{self.method.name}: no setting could be fitted: {failed.error}")
            found.notes.append(
                "not one setting was tried on every fold in the time given: the default setting is fitted"
            )
            return found
        best = max(good, key=lambda n: good[n])
        found.chosen, found.value = self.known[best], good[best]
        found.carried = over_folds([complete[best][fold].carried for fold in folds])
        found.incomplete = total // len(folds) - len(complete)
        if found.incomplete:
            found.notes.append(
                f"{found.incomplete} of {total // len(folds)} settings were left out: "
                "the time was over before they were tried on every fold"
            )
        return found


def fit_chosen(
    method: StudyMethod, found: Tuning, queries: Queries, eval_set: Queries | None, clock: Clock, listener: Listener
) -> Any:
    """Return the ranker with the chosen setting, fitted on all queries."""
    listener.note("fitting on all data with the chosen setting")
    ranker = final_ranker(method, found.chosen, {} if eval_set is not None else found.carried, found.seed)
    options = {"eval_set": eval_set, "eval_metric": found.metric} if eval_set is not None else {}
    fit_within(ranker, queries, clock, options)
    if clock.stopped_a_fit:
        found.notes.append(f"the time was over in the final fit, which was ended early ({ranker.n_iter_} steps)")
    for line in found.notes:
        listener.note(line)
    ranker.tuning_, ranker.trials_ = found, as_kind(found.frame(), queries.frame_kind or "polars")
    return ranker


def final_ranker(method: StudyMethod, chosen: Setting | None, carried: Mapping[str, Any], seed: int) -> Any:
    """Return the unfitted ranker of the final fit."""
    setting = chosen or Setting({}, seed if method.takes_seed else None)
    inner = replace(method, on_queries=None).ranker(setting)
    if carried:
        inner.set_params(**carried)
    return inner if method.on_queries is None else method.on_queries(inner)


def fit_within(ranker: Any, queries: Queries, clock: Clock, options: Mapping[str, Any]) -> Any:
    """Fit a ranker on all data, no longer than the clock allows."""
    given = dict(options)
    if clock.is_limited:
        given["callback"] = clock.stop_fit
    with quiet_blas():
        return ranker.fit(queries, **accepted(ranker.fit, given))


def joint_value(trials: Any) -> float:
    """Return the mean of the metric over the validation queries of all folds; NaN if a trial failed."""
    trials = list(trials)
    if any(trial.error is not None for trial in trials):
        return math.nan
    values = np.concatenate([trial.validation_values for trial in trials])
    return float(np.nanmean(values)) if not np.isnan(values).all() else math.nan


@contextmanager
def search_store(study: Study, out: str | Path | None) -> Iterator[Store]:
    """Hold the store of a search, in a folder or for this call only."""
    with ExitStack() as stack:
        folder = Path(out) if out is not None else Path(stack.enter_context(tempfile.TemporaryDirectory()))
        stack.enter_context(locked(folder))
        store = Store(folder / FILE, study.configuration, create=True)
        stack.callback(store.close)
        store.describe(status="search")
        yield store


def named(asked: str | Metric | Sequence[str | Metric], convention: str) -> list[Metric]:
    """Return the metrics that names stand for."""
    several = [asked] if isinstance(asked, str | Metric) else asked
    return [_named(m, convention) if isinstance(m, str) else m for m in several]


def _named(name: str, convention: str) -> Metric:
    return find_metric(import_metrics([name])[0], None if "(" in name else convention)


def _budget(search: str | None, budget: int | None, clock: Clock) -> int | None:
    return _WITHOUT_LIMIT if budget is None and search in ("random", "bayes") and clock.is_limited else budget


def _method(
    method: Any, space: Mapping[str, Sequence[Any]] | None, options: Mapping[str, Any], settings: Mapping[str, Any]
) -> StudyMethod:
    """Return the method to tune, with what is searched and what is fixed."""
    name = method if isinstance(method, str) else type(method).__name__.lower()
    if isinstance(method, str) and is_user_object(method):
        method = import_user_object(method)
    if isinstance(method, str):
        found = QUERIES.study_method(name, None, options)
        unknown = {**(space or {}), **settings}.keys() - accepted(found.build, {**(space or {}), **settings}).keys()
        if unknown:
            raise ValueError(f"{name} has no parameter {min(unknown)!r}")
    else:
        known = method if isinstance(method, tuple) else (method, _known_space(method))
        found = QUERIES.study_method(name, known, options)
        takes_seed = getattr(known[0], "random_state", 0) is None
        found = replace(found, takes_seed=takes_seed)
    grid = {key: values for key, values in (found.grid if space is None else space).items() if key not in settings}
    return replace(found, grid=grid, fixed={**found.fixed, **settings})


def _known_space(ranker: Any) -> Mapping[str, Sequence[Any]]:
    """Return what is searched for the built-in method of this class; nothing if there is none."""
    kind = ranker if isinstance(ranker, type) else type(ranker)
    for method in METHODS.values():
        build = method.build.func if isinstance(method.build, partial) else method.build
        if build is kind:
            return method.grid
    return {}

"""One trial: fit a method with a setting on the training part, and evaluate it on the validation part."""

import time
import warnings
from typing import Any

import numpy as np

from podium.data.queries import Queries
from podium.experiments.plan.methods import Setting, StudyMethod
from podium.experiments.run.carrying import carried_over
from podium.experiments.run.interruption import can_be_interrupted, is_interrupted
from podium.experiments.run.outcomes import ModelSummary, Trial
from podium.experiments.run.seal import Viewable, VisibleFold, with_grade
from podium.metrics import Metric
from podium.numerics.blas import quiet_blas
from podium.rankers.fitted import was_interrupted
from podium.rankers.methods import accepted


class OutOfTimeError(Exception):
    """The time for trials is over."""


def run_trial(method: StudyMethod, setting: Setting, fold: Viewable, metric: Metric, end: float | None = None) -> Trial:
    """Fit and evaluate one setting. Code that it needs is compiled before the clock starts.

    With ``end``, a time of ``time.perf_counter`` in this process, a fit that is not done by then raises OutOfTimeError.
    """
    seen = fold.view()
    if not method.requires:
        warm_up(method, setting, seen, metric)
    return _run_trial(method, setting, seen, metric, end)


_warm: set[tuple[Any, ...]] = set()


def warm_up(method: StudyMethod, setting: Setting, fold: Viewable, metric: Metric) -> None:
    """Have this process compile, or load from disk, all code that a trial needs: it is not training and not timed."""
    seen = fold.view()
    choices = tuple(sorted((k, repr(v)) for k, v in setting.parameters.items() if not isinstance(v, float)))
    train = seen.train
    kind = (method.name, type(train), train.is_sparse, train.dtype, choices)
    if kind not in _warm:
        _run_trial(method, setting, sample(seen), metric)
        _warm.add(kind)


def warm_up_metric(fold: Viewable, metric: Metric) -> None:
    """Do the same for what evaluates scores."""
    part = sample(fold.view()).validation
    mean(metric.per_query(np.arange(part.n_documents, dtype=np.float64), part.labels, part.offsets))


def _run_trial(
    method: StudyMethod, setting: Setting, fold: VisibleFold, metric: Metric, end: float | None = None
) -> Trial:
    metric = with_grade(metric, fold.top_grade)
    with quiet_blas():  # as in worker processes: results must not depend on where they are computed
        ranker = method.ranker(setting)
        started = time.perf_counter()
        raised = _fit(ranker, fold, metric, end)
        seconds = time.perf_counter() - started
        on_validation = _scores(ranker, fold.validation, method.name)
        on_test = None if fold.test is None else _scores(ranker, fold.test, method.name)
        values = metric.per_query(on_validation, fold.validation.labels, fold.validation.offsets)
    return Trial.of(
        *(method.name, fold.name, setting),
        validation=mean(values),
        seconds=seconds,
        warnings=raised,
        carried=carried_over(ranker),
        validation_values=values,
        validation_scores=on_validation,
        test_scores=on_test,
        model=ModelSummary.of(ranker),
    )


def fit_again(method: StudyMethod, setting: Setting, fold: VisibleFold, metric: Metric) -> Any:
    """Return a method's ranker fitted as in a trial."""
    ranker = method.ranker(setting)
    with quiet_blas():
        _fit(ranker, fold, with_grade(metric, fold.top_grade), None)
    return ranker


def _fit(ranker: Any, fold: VisibleFold, metric: Metric, end: float | None) -> list[str]:
    """Fit, and return the warnings raised (such as no convergence)."""

    def watch_clock(_: Any) -> None:
        if is_interrupted() or (end is not None and time.perf_counter() > end):
            raise OutOfTimeError

    options = {"eval_set": fold.validation, "eval_metric": metric}
    if end is not None or can_be_interrupted():
        options["callback"] = watch_clock
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        ranker.fit(fold.train, **accepted(ranker.fit, options))
    if was_interrupted(ranker):
        raise KeyboardInterrupt  # the ranker kept what it had; a study must not take that for a result
    return sorted({f"{w.category.__name__}: {w.message}" for w in caught})


def _scores(ranker: Any, queries: Queries, name: str) -> np.ndarray:
    scores = np.asarray(ranker.predict(queries), dtype=np.float64)
    if scores.shape != (queries.n_documents,):
        raise ValueError(f"{name}: predict returned {scores.shape} scores for {queries.n_documents} documents")
    return scores


def mean(values: np.ndarray) -> float:
    """Return the mean of a metric over queries; those that have no value are left out."""
    return float(np.nanmean(values)) if not np.isnan(values).all() else float("nan")


def sample(fold: VisibleFold, n_queries: int = 3, n_documents: int = 20) -> VisibleFold:
    """Return a few short lists with the fold's types: enough to compile all code that the whole fold needs."""
    grades = np.unique(fold.train.labels)
    # Their own might all be equal and teach nothing: three of the grades there are, or any if there is only one.
    taught = grades[[0, len(grades) // 2, -1]] if len(grades) > 1 else np.arange(3.0)
    size = n_queries, n_documents, taught
    train, validation = (_head(part, *size) for part in (fold.train, fold.validation))
    test = None if fold.test is None else _head(fold.test, *size)
    return VisibleFold(fold.name, train, validation, test, float(taught.max()))


def _head(queries: Queries, n_queries: int, n_documents: int, grades: np.ndarray) -> Queries:
    few = queries.take(np.arange(min(n_queries, len(queries))))
    head = few.only(np.arange(few.n_documents) - few.offsets[few.query_of_document] < n_documents)
    if not head.has_labels:
        return head
    return head.with_labels(grades[np.arange(head.n_documents) % 3])

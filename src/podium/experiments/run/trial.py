"""One trial: fit a method with some parameters on the training part, and see its worth on the validation part."""

from __future__ import annotations

import time
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from podium.data.queries import Queries
from podium.experiments.plan.methods import Setting, StudyMethod
from podium.experiments.run.details import ModelSummary
from podium.experiments.run.seal import Trial, Viewable, VisibleFold, with_grade

if TYPE_CHECKING:
    from podium.metrics import Metric


def run_trial(method: StudyMethod, setting: Setting, fold: Viewable, metric: Metric) -> Trial:
    """Fit one setting. Code that has to be compiled for it is compiled before the clock starts."""
    seen = fold.view()
    warm_up(method, setting, seen, metric)
    return _attempt(method, setting, seen, metric)


_warm: set[tuple[Any, ...]] = set()


def warm_up(method: StudyMethod, setting: Setting, fold: Viewable, metric: Metric) -> None:
    """Have this process compile, or load from disk, all code that a trial needs: it is not training and not timed."""
    seen = fold.view()
    words = tuple(sorted((k, repr(v)) for k, v in setting.parameters.items() if not isinstance(v, float)))
    kind = (method.name, type(seen.train.features), seen.train.features.dtype, words)
    if kind not in _warm:
        _attempt(method, setting, sample(seen), metric)
        _warm.add(kind)


def warm_up_metric(fold: Viewable, metric: Metric) -> None:
    """The same for what evaluates scores."""
    queries = sample(fold.view()).validation
    metric.per_query(np.arange(queries.n_documents, dtype=np.float64), queries.labels, queries.offsets)


def _attempt(method: StudyMethod, setting: Setting, fold: VisibleFold, metric: Metric) -> Trial:
    from podium.numerics.blas import quiet_blas

    metric = with_grade(metric, fold.top_grade)
    with quiet_blas():  # in worker processes it is so anyway, and results must not depend on where they are computed
        ranker = method.build(setting)
        started = time.perf_counter()
        complaints = _fit(ranker, fold, metric)
        seconds = time.perf_counter() - started
        on_validation = _scores(ranker, fold.validation)
        on_test = _scores(ranker, fold.test)
    return Trial(
        method.name,
        fold.name,
        setting.parameters,
        setting.seed,
        setting.number,
        mean(metric, fold.validation, on_validation),
        seconds,
        complaints,
        validation_scores=on_validation,
        test_scores=on_test,
        model=ModelSummary.of(ranker),
    )


def _fit(ranker: Any, fold: VisibleFold, metric: Metric) -> list[str]:
    """Fit, and return what there was to complain about (such as no convergence)."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        ranker.fit(fold.train, eval_set=fold.validation, eval_metric=metric)
    if getattr(getattr(ranker, "convergence_", None), "interrupted", False):
        raise KeyboardInterrupt  # the ranker kept what it had; a comparison must not take that for a result
    return sorted({f"{w.category.__name__}: {w.message}" for w in caught})


def _scores(ranker: Any, queries: Queries) -> np.ndarray:
    return np.asarray(ranker.predict(queries), dtype=np.float64)


def mean(metric: Metric, queries: Queries, scores: np.ndarray) -> float:
    """The mean of a metric over labelled queries; queries that have no value are left out."""
    values = metric.per_query(scores, queries.labels, queries.offsets)
    return float(np.nanmean(values)) if not np.isnan(values).all() else float("nan")


def sample(fold: VisibleFold, n_queries: int = 3, n_documents: int = 20) -> VisibleFold:
    """A few short lists with the fold's types: enough to have all code compiled that the whole fold needs."""
    train, validation, test = (_head(part, n_queries, n_documents) for part in (fold.train, fold.validation, fold.test))
    return VisibleFold(fold.name, train, validation, test, 2.0)


def _head(queries: Queries, n_queries: int, n_documents: int) -> Queries:
    few = queries.take(np.arange(min(n_queries, len(queries))))
    sizes = np.minimum(few.sizes, n_documents)
    rows = np.concatenate([np.arange(start, start + n) for start, n in zip(few.offsets[:-1], sizes, strict=True)])
    labels = np.arange(len(rows)) % 3.0 if few.has_labels else None  # real ones might all be equal and teach nothing
    return Queries(few.features[rows], labels, sizes=sizes)

"""How a method is judged on a fold: train on one part, choose on another, test once on a third.

The rule that test labels choose nothing is kept by construction. What searches for hyper-parameters receives a
:class:`VisibleFold`, whose test part has no labels at all, and returns scores; only :func:`judge`, called once with
these scores, is given the labels.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from podium.experiments.entrants import Entrant
from podium.queries import Queries

if TYPE_CHECKING:
    from podium.metrics import Metric


@dataclass(frozen=True, slots=True)
class VisibleFold:
    """What a method may see of a fold."""

    name: str
    train: Queries
    validation: Queries
    test: Queries
    """Without labels."""
    top_grade: float
    """The highest grade of all three parts: ERR needs to know it."""

    def view(self) -> VisibleFold:
        return self


class Viewable(Protocol):
    """A fold, or where to find one."""

    def view(self) -> VisibleFold: ...


@dataclass(frozen=True, slots=True)
class Answers:
    """What a method may not see of a fold: the labels of its test part."""

    labels: np.ndarray
    offsets: np.ndarray
    qids: np.ndarray
    document_ids: np.ndarray | None
    top_grade: float


@dataclass(frozen=True, slots=True)
class Found:
    """The outcome of a search: of the model chosen on the validation part, its parameters and its test scores."""

    parameters: dict[str, Any]
    validation: float
    candidates: list[dict[str, Any]]
    warnings: list[str]
    seconds: float
    search_seconds: float
    test_scores: np.ndarray


def seal(name: str, train: Queries, validation: Queries, test: Queries) -> tuple[VisibleFold, Answers]:
    """Divide a fold into what methods see and the answers."""
    for part, queries in (("training", train), ("validation", validation), ("test", test)):
        if len(queries) == 0:
            raise ValueError(f"{name}: the {part} part has no queries")
    top_grade = float(max(queries.labels.max(initial=0.0) for queries in (train, validation, test)))
    seen = VisibleFold(name, _bare(train), _bare(validation), Queries(test.features, sizes=test.sizes), top_grade)
    return seen, Answers(test.labels, test.offsets, test.qids, test.document_ids, top_grade)


def search(entrant: Entrant, fold: Viewable, metric: Metric) -> Found:
    """Fit a method with each combination of its grid and keep the one that is best on the validation part.

    Ties go to the earlier combination. A candidate without a value there (NaN) never wins over one that has it.
    """
    seen = fold.view()
    warm_up(entrant, seen, metric)
    return _search(entrant, seen, metric)


_warm: set[tuple[str, str]] = set()


def warm_up(entrant: Entrant, fold: Viewable, metric: Metric) -> None:
    """Have this process compile, or load from disk, all code that a search needs: it is not training and not timed."""
    seen = fold.view()
    kind = f"{type(seen.train.features).__name__} {seen.train.features.dtype}"
    if (entrant.name, kind) not in _warm:
        _search(entrant, sample(seen), metric)
        _warm.add((entrant.name, kind))


def warm_up_metric(fold: Viewable, metric: Metric) -> None:
    """The same for what evaluates scores."""
    queries = sample(fold.view()).validation
    metric.per_query(queries.labels, np.arange(queries.n_documents, dtype=np.float64), queries.offsets)


def _search(entrant: Entrant, fold: VisibleFold, metric: Metric) -> Found:
    from podium.training.threads import quiet_blas

    metric = with_grade(metric, fold.top_grade)
    began = time.perf_counter()
    candidates: list[dict[str, Any]] = []
    best: tuple[float, Any, list[str]] | None = None
    number = 0
    with quiet_blas():  # in worker processes it is so anyway, and results must not depend on where they are computed
        for parameters in entrant.combinations():
            ranker = entrant.build(parameters)
            started = time.perf_counter()
            complaints = _fit(ranker, fold, metric)
            seconds = time.perf_counter() - started
            value = validate(ranker, fold.validation, metric)
            candidates.append({"parameters": parameters, "validation": value, "seconds": seconds})
            if best is None or value > best[0] or (np.isnan(best[0]) and not np.isnan(value)):
                best, number = (value, ranker, complaints), len(candidates) - 1
        search_seconds = time.perf_counter() - began
        assert best is not None  # even an empty grid has one combination
        value, ranker, complaints = best
        test_scores = np.asarray(ranker.predict(fold.test), dtype=np.float64)
    chosen = candidates[number]
    return Found(chosen["parameters"], value, candidates, complaints, chosen["seconds"], search_seconds, test_scores)


def _fit(ranker: Any, fold: VisibleFold, metric: Metric) -> list[str]:
    """Fit, and return what there was to complain about (such as no convergence)."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        ranker.fit(fold.train, eval_set=fold.validation, eval_metric=metric)
    if getattr(getattr(ranker, "convergence_", None), "interrupted", False):
        raise KeyboardInterrupt  # the ranker kept what it had; a comparison must not take that for a result
    return sorted({f"{w.category.__name__}: {w.message}" for w in caught})


def validate(ranker: Any, queries: Queries, metric: Metric) -> float:
    """The mean of a metric over labelled queries; queries that have no value are left out."""
    values = metric.per_query(queries.labels, np.asarray(ranker.predict(queries)), queries.offsets)
    return float(np.nanmean(values)) if not np.isnan(values).all() else float("nan")


def judge(test_scores: np.ndarray, answers: Answers, metrics: Sequence[Metric]) -> dict[str, np.ndarray]:
    """The value of each metric on each test query: the one use of the test labels."""
    from podium.metrics.measuring import measure

    if not np.isfinite(test_scores).all():
        raise ValueError("the model gave scores that are not finite on the test part")
    exact = [with_grade(metric, answers.top_grade) for metric in metrics]
    values = measure(exact, answers.labels, test_scores, answers.offsets, answers.document_ids)
    return {metric.name: values[:, i] for i, metric in enumerate(metrics)}


def with_grade(metric: Metric, top_grade: float) -> Metric:
    """The metric with the data set's highest grade, where it needs one: that of a part may be lower."""
    if metric.family != "err" or metric.rules.max_grade is not None:
        return metric
    return replace(metric, rules=replace(metric.rules, max_grade=top_grade))


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


def _bare(queries: Queries) -> Queries:
    """Features, labels and sizes alone, as they are in worker processes too."""
    return Queries(queries.features, queries.labels if queries.has_labels else None, sizes=queries.sizes)

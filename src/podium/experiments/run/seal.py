"""The seal on a test part: its labels are used once by each method, and not before the method has been chosen.

:func:`seal` divides a fold into what methods see, where the test part has no labels at all, and a :class:`SealedTest`
that holds them. The labels come out in one way only: :meth:`SealedTest.judge` takes a :class:`SelectedTrial`, which
:func:`select_trial` makes from the finished trials of a whole search, and takes each choice once.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from podium.data.queries import Queries
from podium.experiments.result.published import fingerprint
from podium.experiments.run.details import ModelSummary, TestQueries

if TYPE_CHECKING:
    from podium.metrics import Metric


class SealError(RuntimeError):
    """An attempt to use test labels a second time, or before the selection has ended."""


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
class Trial:
    """One fit: what was tried, and what came of it on the validation part."""

    method: str
    fold: str
    parameters: dict[str, Any]
    seed: int | None
    """What its random numbers came from; None for a ranker that takes no seed."""
    number: int = 0
    """In the order of the search."""
    validation: float = math.nan
    """The primary metric there; NaN if no query has a value, or if it failed."""
    seconds: float = 0.0
    """Training alone."""
    warnings: list[str] = field(default_factory=list)
    error: str | None = None
    traceback: str = ""
    validation_scores: np.ndarray | None = field(default=None, repr=False, compare=False)
    test_scores: np.ndarray | None = field(default=None, repr=False, compare=False)
    """Of every test document, seen without its label."""
    model: ModelSummary = field(default_factory=ModelSummary, repr=False, compare=False)

    def without_scores(self) -> Trial:
        return replace(self, validation_scores=None, test_scores=None, model=ModelSummary())


@dataclass(frozen=True, slots=True)
class SelectedTrial:
    """The trial that a finished selection chose. Made by :func:`select_trial`."""

    key: tuple[str, str, int]
    """Method, fold, seed."""
    trial: Trial


def select_trial(key: tuple[str, str, int], trials: Sequence[Trial], expected: int) -> SelectedTrial:
    """The trial that is best on the validation part, the first of equals; one without a value there never wins.

    Raises
    ------
    SealError
        If trials of the search are still missing.
    ValueError
        If all trials failed.
    """
    if len(trials) < expected:
        raise SealError(f"{key}: the selection has not ended: {len(trials)} of {expected} trials are done")
    good = sorted((t for t in trials if t.error is None), key=lambda t: t.number)
    if not good:
        raise ValueError(trials[0].error)
    return SelectedTrial(key, max(good, key=lambda t: -math.inf if math.isnan(t.validation) else t.validation))


class SealedTest:
    """The labels of a fold's test part."""

    def __init__(self, fold: str, test: Queries, top_grade: float) -> None:
        self._fold = fold
        self.__queries = TestQueries(
            test.qids,
            test.offsets,
            test.labels,
            test.document_ids,
            None if test.feature_names is None else np.asarray(test.feature_names),
        )
        self._top_grade = top_grade
        self.fingerprint = fingerprint(test)
        """Says which data these are, and nothing of their labels."""
        self._judged: set[tuple[str, str, int]] = set()

    def judge(self, choice: SelectedTrial, metrics: Sequence[Metric]) -> tuple[dict[str, np.ndarray], TestQueries]:
        """The value of each metric on each test query, and the queries: the one use of the test labels by a method.

        Raises
        ------
        SealError
            If this method was judged before, or if what is given is not the outcome of a selection on this fold.
        """
        if not isinstance(choice, SelectedTrial) or choice.key[1] != self._fold:
            raise SealError(f"{self._fold}: test labels are for a choice made on the validation part; got {choice!r}")
        if choice.key in self._judged:
            raise SealError(f"{choice.key}: judged already; test labels are used once")
        self._judged.add(choice.key)
        scores = choice.trial.test_scores
        if scores is None or not np.isfinite(scores).all():
            raise ValueError("the model gave scores that are not finite on the test part")
        queries = self.__queries
        return _measure(scores, queries, metrics, self._top_grade), queries


def _measure(
    scores: np.ndarray, queries: TestQueries, metrics: Sequence[Metric], top_grade: float
) -> dict[str, np.ndarray]:
    from podium.metrics.measuring import measure

    exact = [with_grade(metric, top_grade) for metric in metrics]
    values = measure(exact, scores, queries.labels, queries.offsets, queries.document_ids)
    return {metric.name: values[:, i] for i, metric in enumerate(metrics)}


def seal(name: str, train: Queries, validation: Queries, test: Queries) -> tuple[VisibleFold, SealedTest]:
    """Divide a fold into what methods see and the sealed test labels."""
    for part, queries in (("training", train), ("validation", validation), ("test", test)):
        if len(queries) == 0:
            raise ValueError(f"{name}: the {part} part has no queries")
    top_grade = float(max(queries.labels.max(initial=0.0) for queries in (train, validation, test)))
    seen = VisibleFold(name, _bare(train), _bare(validation), Queries(test.features, sizes=test.sizes), top_grade)
    return seen, SealedTest(name, test, top_grade)


def with_grade(metric: Metric, top_grade: float) -> Metric:
    """The metric with the data set's highest grade, where it needs one: that of a part may be lower."""
    if not metric.needs_max_grade:
        return metric
    return replace(metric, rules=replace(metric.rules, max_grade=top_grade))


def _bare(queries: Queries) -> Queries:
    """Features, labels and sizes alone, as they are in worker processes too."""
    return Queries(queries.features, queries.labels if queries.has_labels else None, sizes=queries.sizes)

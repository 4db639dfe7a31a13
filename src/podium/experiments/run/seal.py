"""The seal on a test part: its labels are used once by each method, and not before the method's trial is selected.

:func:`seal` divides a fold into what methods see, where the test part has no labels at all, and a :class:`SealedTest`
that holds them. The labels come out in one way only: :meth:`SealedTest.judge` takes a :class:`SelectedTrial`, which
:func:`select_trial` makes from the finished trials of a whole search, and takes each once.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

import numpy as np

from podium.data.queries import Queries
from podium.experiments.run.outcomes import TestPart, Trial
from podium.metrics import Metric
from podium.metrics.measuring import measure

if TYPE_CHECKING:
    from podium.experiments.plan.study import Judging


class SealError(RuntimeError):
    """An attempt to use test labels a second time, or before the search has ended."""


@dataclass(frozen=True, slots=True)
class VisibleFold:
    """What a method may see of a fold."""

    name: str
    train: Queries
    validation: Queries
    test: Queries | None
    """Without labels; None where a setting is searched for and nothing is tested."""
    top_grade: float
    """The highest grade of the training and validation parts, for metrics that need to know it."""

    def view(self) -> VisibleFold:
        return self


class Viewable(Protocol):
    """A fold, or where to find one."""

    def view(self) -> VisibleFold: ...


@dataclass(frozen=True, slots=True)
class SelectedTrial:
    """The trial that a finished search selected. Made by :func:`select_trial`."""

    key: tuple[str, str, int]
    """Method, fold, seed."""
    trial: Trial


def select_trial(key: tuple[str, str, int], trials: Sequence[Trial], expected: int) -> SelectedTrial:
    """Return the trial that is best on the validation part, the first of equals; one without a value never wins.

    Raises
    ------
    SealError
        If trials of the search are still missing.
    ValueError
        If all trials failed.
    """
    if len(trials) < expected:
        raise SealError(f"{key}: the search has not ended: {len(trials)} of {expected} trials are done")
    good = sorted((t for t in trials if t.error is None), key=lambda t: t.number)
    if not good:
        raise ValueError(trials[0].error)
    return SelectedTrial(key, max(good, key=lambda t: -math.inf if math.isnan(t.validation) else t.validation))


class SealedTest:
    """The labels of a fold's test part."""

    def __init__(self, fold: str, test: Queries, top_grade: float, leaves_out: bool = False) -> None:
        self._fold = fold
        self._leaves_out = leaves_out
        names = None if test.feature_names is None else np.asarray(test.feature_names)
        self.__part = TestPart(test.qids, test.offsets, test.labels, test.document_ids, names)
        self.__top_grade = max(top_grade, _top_grade(test))
        self.fingerprint = fingerprint(test)
        """Says which data these are, and nothing of their labels."""
        self.documents = test.qids, test.offsets, test.document_ids
        """Their names, for runs that were made elsewhere."""
        self._judged: set[tuple[str, str, int]] = set()

    def judge(
        self, selected: SelectedTrial, metrics: Sequence[Metric], judging: Judging | None = None
    ) -> tuple[dict[str, np.ndarray], TestPart]:
        """Return the value of each metric on each test query, and the queries: a method's one use of the test labels.

        ``judging`` does it in place of the metrics, if there is any.

        A metric that depends on the highest grade there is takes that of the whole fold: a test part with a higher
        grade than any seen before is judged on its own scale.

        Raises
        ------
        SealError
            If this method was judged before, or if what is given was not selected on this fold.
        """
        if not isinstance(selected, SelectedTrial) or selected.key[1] != self._fold:
            raise SealError(f"{self._fold}: test labels are for a trial selected on validation data; got {selected!r}")
        if selected.key in self._judged:
            raise SealError(f"{selected.key}: judged already; test labels are used once")
        self._judged.add(selected.key)
        scores = selected.trial.test_scores
        if scores is None or not (np.isfinite(scores) | (self._leaves_out & np.isneginf(scores))).all():
            raise ValueError("the model gave scores that are not finite on the test part")
        part = self.__part
        if judging is not None:
            return judging.judge(selected.key[0], self._fold, part, scores)
        exact = [with_grade(metric, self.__top_grade) for metric in metrics]
        values = measure(exact, scores, part.labels, part.offsets, part.document_ids)
        return {metric.name: values[:, i] for i, metric in enumerate(metrics)}, part


def visible(name: str, train: Queries, validation: Queries) -> VisibleFold:
    """Return a fold to search settings on, without a test part."""
    return VisibleFold(name, train.bare(), validation.bare(), None, max(_top_grade(train), _top_grade(validation)))


def seal(
    name: str, train: Queries, validation: Queries, test: Queries | None, leaves_out: bool = False
) -> tuple[VisibleFold, SealedTest]:
    """Divide a fold into what methods see and the sealed test labels; with ``leaves_out``, a score may be −∞."""
    assert test is not None, name
    for part, queries in (("training", train), ("validation", validation), ("test", test)):
        if len(queries) == 0:
            raise ValueError(f"{name}: the {part} part has no queries")
    top_grade = max(_top_grade(train), _top_grade(validation))
    seen = VisibleFold(name, train.bare(), validation.bare(), test.bare().without_labels(), top_grade)
    return seen, SealedTest(name, test, top_grade, leaves_out)


def with_grade(metric: Metric, top_grade: float) -> Metric:
    """The metric with the data set's highest grade, where it needs one: that of a part may be lower."""
    if not metric.needs_max_grade:
        return metric
    return replace(metric, rules=replace(metric.rules, max_grade=top_grade))


def fingerprint(queries: Queries) -> str:
    """Return a digest of one test part: query ids, grades and shapes, whichever file they came from."""
    digest = hashlib.blake2b(digest_size=8)
    digest.update(f"{queries.n_features} ".encode())
    digest.update(" ".join(map(str, queries.qids)).encode())
    digest.update(np.ascontiguousarray(queries.sizes, np.int64).tobytes())
    digest.update(np.ascontiguousarray(queries.labels, np.float64).tobytes())
    return digest.hexdigest()


def _top_grade(queries: Queries) -> float:
    return float(queries.labels.max(initial=0.0))

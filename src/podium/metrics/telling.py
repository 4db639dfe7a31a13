"""Metrics that cannot tell methods apart: where every order of the documents gets the same value.

If all documents of a query are relevant, average precision is 1 whatever the order, and so is the mean over such
queries of every method, chance included. A metric like that must not choose anything.
"""

import math
import warnings
from collections.abc import Iterable, Sequence

import numpy as np

from podium.data.queries import Queries
from podium.data.remote import RemoteQueries
from podium.metrics.definition import Metric, metric

OTHERS = ("ndcg@10", "ndcg", "map")
"""Asked for in this order where the metric given cannot tell."""


def can_tell(measure: Metric, queries: Queries) -> bool:
    """Return whether some order of some query has another value than another order of it."""
    labels, offsets = queries.labels, queries.offsets
    if not len(labels):
        return False
    orders = (labels, -labels, *np.random.default_rng(0).random((2, len(labels))))
    values = (measure.per_query(scores, labels, offsets) for scores in orders)
    first = next(values)
    return any(bool((np.abs(other - first) > 1e-12).any()) for other in values)


class Telling:
    """Which of some metrics can tell methods apart, by the labels of the queries looked at so far."""

    def __init__(self, metrics: Iterable[Metric]) -> None:
        self.silent = list(dict.fromkeys(metrics))
        """Those that have not told anything yet."""
        self._lowest, self._one_grade = math.inf, True

    def look_at(self, queries: Queries | RemoteQueries) -> None:
        """Take in the labels of more queries."""
        if isinstance(queries, RemoteQueries):
            for found in queries.each(_looked_at, self.silent):
                self.silent = [measure for measure in self.silent if measure in found.silent]
                self._lowest, self._one_grade = min(self._lowest, found._lowest), self._one_grade and found._one_grade
            return
        self.silent = [measure for measure in self.silent if not can_tell(measure, queries)]
        if self.silent and queries.n_documents:
            starts = queries.offsets[:-1][queries.sizes > 0]
            low, high = (extreme.reduceat(queries.labels, starts) for extreme in (np.minimum, np.maximum))
            self._lowest = min(self._lowest, float(low.min()))
            self._one_grade = self._one_grade and np.array_equal(low, high)

    @property
    def reason(self) -> str:
        """Why the others cannot."""
        if self._one_grade:
            return "within each query, all documents have the same grade"
        if self._lowest > 0:
            return f"grades begin at {self._lowest:g}, so that every document counts as relevant"
        return "every order of a query's documents has the same value"


def _looked_at(part: Queries, metrics: Sequence[Metric]) -> Telling:
    found = Telling(metrics)
    found.look_at(part)
    return found


def cannot_tell(name: str, reason: str) -> str:
    """Return the line that says so of a metric."""
    return f"{name} cannot tell methods apart here: {reason}"


def first_that_tells(asked: Sequence[Metric], queries: Queries | RemoteQueries) -> tuple[Metric, list[str]]:
    """Return the first metric that can tell methods apart on these labels, and a line for each that cannot.

    After those asked for, NDCG and MAP under the same convention are tried.

    Raises
    ------
    ValueError
        If none can.
    """
    listed = with_others(asked)
    found = Telling(listed)
    found.look_at(queries)
    return chosen(listed, found)


def with_others(asked: Sequence[Metric]) -> list[Metric]:
    """Return the metrics asked for, each once, and after them those to try where none of these can tell."""
    return list(dict.fromkeys([*asked, *(metric(name, asked[0].convention) for name in OTHERS)]))


def chosen(listed: Sequence[Metric], found: Telling) -> tuple[Metric, list[str]]:
    """Return the first listed metric that can tell, and lines that say why if that is not the first of all."""
    failing = [measure.name for measure in listed if measure in found.silent]
    able = [measure for measure in listed if measure not in found.silent]
    if not able:
        raise ValueError(f"no metric can tell methods apart here ({', '.join(failing)}): {found.reason}")
    if able[0] == listed[0]:
        return able[0], []
    return able[0], [cannot_tell(listed[0].name, found.reason), f"{able[0].name} chooses instead"]


def watched_metric(
    asked: str | Metric, queries: Queries | RemoteQueries, otherwise: str = "the validation queries choose nothing"
) -> Metric | None:
    """Return what chooses within a fit: the metric asked for, or the next that can tell on these queries.

    It warns if that is another one. If none can tell, it warns that, with what happens ``otherwise``, and returns None.
    """
    measure = metric(asked)
    try:
        found, lines = first_that_tells([measure], queries)
    except ValueError as error:
        warnings.warn(f"{error}; {otherwise}", stacklevel=3)
        return None
    if lines:
        warnings.warn("; ".join(lines), stacklevel=3)
    return found

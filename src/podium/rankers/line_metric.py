"""A metric along lines: its mean over queries at ``scores + step × direction``, for many steps at once."""

from typing import NamedTuple

import numpy as np

from podium.data.queries import Queries
from podium.metrics import Metric

DOCUMENTS_AT_ONCE = 2**20
"""Documents, about, that are ranked in one call: copies of all lists, one for each step."""


class _Copies(NamedTuple):
    """Several copies of all lists, as one set of lists."""

    labels: np.ndarray
    offsets: np.ndarray
    document_ids: np.ndarray | None


class LineMetric:
    """The weighted mean of a metric over queries, as a function of steps along a line of scores.

    All steps are measured in one compiled pass over copies of the lists. Queries without a value are left out: whether
    a query has one depends on its labels, not on its ranking.

    Parameters
    ----------
    metric : Metric
    queries : Queries
    query_weight : (n_queries,), optional
    """

    def __init__(self, metric: Metric, queries: Queries, query_weight: np.ndarray | None = None) -> None:
        self.metric, self.queries = metric, queries
        values = metric.per_query(np.zeros(queries.n_documents), queries.labels, queries.offsets, queries.document_ids)
        defined = ~np.isnan(values)
        self.weights = np.where(defined, 1.0 if query_weight is None else query_weight, 0.0)
        total = self.weights.sum()
        self.weights = self.weights / total if total > 0 else self.weights
        self._most = max(1, DOCUMENTS_AT_ONCE // max(queries.n_documents, 1))
        self._copies: dict[int, _Copies] = {}

    def at(self, scores: np.ndarray) -> float:
        """Return the mean at these scores, (n_documents,)."""
        return float(self.along(scores, np.zeros_like(scores), np.zeros(1))[0])

    def along(self, scores: np.ndarray, direction: np.ndarray, steps: np.ndarray) -> np.ndarray:
        """Return the means at ``scores + step * direction``, (n_steps,)."""
        means = np.empty(len(steps))
        for first in range(0, len(steps), self._most):
            some = steps[first : first + self._most]
            copies = self._copied(len(some))
            moved = (scores + some[:, np.newaxis] * direction).ravel()
            values = self.metric.per_query(moved, copies.labels, copies.offsets, copies.document_ids)
            means[first : first + len(some)] = np.nan_to_num(values.reshape(len(some), -1)) @ self.weights
        return means

    def _copied(self, n: int) -> _Copies:
        if n not in self._copies:
            labels, offsets, ids = self.queries.labels, self.queries.offsets, self.queries.document_ids
            starts = (np.arange(n)[:, np.newaxis] * offsets[-1] + offsets[:-1]).ravel()
            ids = None if ids is None else np.tile(ids, n)
            self._copies[n] = _Copies(np.tile(labels, n), np.append(starts, n * offsets[-1]), ids)
        return self._copies[n]

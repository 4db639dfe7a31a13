"""Weak rankers of the form "feature above threshold", all of them judged in one pass over binned features."""

from typing import Any

import numpy as np

from podium.numerics.compiling import njit
from podium.numerics.pool import share
from podium.scorers.thresholds import by_column, column


class Thresholds:
    """Candidate thresholds of each feature, and how many of them each document exceeds.

    Parameters
    ----------
    features : (n_documents, n_features), dense or CSR
    n_thresholds : int
        Number of thresholds per feature, at most: a feature with more distinct values has them at equal shares of the
        documents.
    """

    def __init__(self, features: Any, n_thresholds: int) -> None:
        n, width = features.shape
        features = by_column(features)
        self.values = [_thresholds(np.sort(column(features, j)), n_thresholds) for j in range(width)]
        most = max(map(len, self.values), default=0)
        self.codes = np.empty((width, n), np.uint8 if most < 256 else np.uint16)
        for j, values in enumerate(self.values):
            self.codes[j] = np.searchsorted(values, column(features, j))
        self.edges = np.empty((width, most + 1))

    def weigh(self, potential: np.ndarray) -> np.ndarray:
        """Return the potential of the documents above each threshold, (n_features, most thresholds + 1)."""
        width, n = self.codes.shape
        share(_sum_above, width, self.codes, potential, self.edges, work=width * n)
        return self.edges

    def above(self, feature: int, k: int) -> np.ndarray:
        """Return which documents exceed the feature's threshold number ``k``, (n_documents,) bool."""
        return self.codes[feature] > k


def _thresholds(ascending: np.ndarray, n_thresholds: int) -> np.ndarray:
    n = len(ascending)
    rises = 1 + np.flatnonzero(ascending[1:] > ascending[:-1])  # a threshold may lie before each of these
    if len(rises) > n_thresholds:
        wanted = np.arange(1, n_thresholds + 1) * (n / (n_thresholds + 1))
        rises = np.unique(rises[np.minimum(np.searchsorted(rises, wanted), len(rises) - 1)])
    below, above = ascending[rises - 1], ascending[rises]
    middle = below + 0.5 * (above - below)
    return np.where(middle < above, middle, below)  # between neighboring floats there is no middle


@njit(nogil=True, cache=True, error_model="numpy")
def _sum_above(first: int, stop: int, codes: np.ndarray, potential: np.ndarray, edges: np.ndarray) -> None:
    """Fill rows ``first:stop`` of ``edges``: entry k is the sum over documents with a code above k."""
    for j in range(first, stop):
        of_feature, sums = codes[j], edges[j]
        sums[:] = 0.0
        for i in range(len(of_feature)):
            sums[of_feature[i]] += potential[i]
        above = 0.0
        for k in range(len(sums) - 1, -1, -1):
            in_bin = sums[k]
            sums[k] = above
            above += in_bin

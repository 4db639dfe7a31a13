"""Squared error: regression on the labels, one document at a time.

    L = ½ Σ_i (s_i − y_i)² / n                regression
    L = min_w ½ Σ_i (s_i − y_i − w)² / n      the same, with an offset of each query's own

The simplest thing that can be done with grades. The first is the only loss here that knows no lists: a query matters
only in that its documents share its weight. The second takes no notice of differences between queries, which do not
matter for ranking: Zheng, Zha and Sun, "Query-level learning to rank using isotonic regression", Allerton 2008.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from podium.losses.base import LabeledLists, Loss
from podium.losses.targets import Targets, grade_targets
from podium.numerics.elementary import FAST
from podium.numerics.loop import Derivatives, OneList

__all__ = ["QueryOffsetLoss", "RegressionLoss"]


class RegressionLoss(Loss):
    """Half the mean squared difference between a query's scores and labels.

    Parameters
    ----------
    normalize : bool
        Mean over the query's documents; else their sum, so that queries count by their length.
    targets : "identity", None or a sequence
        Regress on the label itself, on 2^label − 1, or on a number for each of the grades 0, 1, 2, …

    Examples
    --------
    >>> loss = RegressionLoss(normalize=False).value_and_gradient([0.5, 0.0, -1.0], labels=[1, 2, 0], offsets=[0, 3])
    >>> loss.value, loss.d_scores.tolist()
    (2.625, [-0.5, -2.0, -1.0])
    """

    keeps_float32 = True
    convex = True
    shift_invariant = False
    has_curvature = True
    exact_curvature = True
    cost = "n"

    def __init__(self, normalize: bool = True, targets: Targets = "identity") -> None:
        self.normalize = normalize
        self.targets = targets

    def prepare(self, data: LabeledLists) -> tuple[Any, ...]:
        labels, offsets = data.labels, data.offsets
        return _targets_and_scale(self, labels, offsets)


class QueryOffsetLoss(Loss):
    """Half the mean squared difference between a query's scores and labels, the query's best offset taken off.

    It is half the variance of the differences. A single document contributes 0.

    Parameters
    ----------
    normalize : bool
        Mean over the query's documents; else their sum, so that queries count by their length.
    targets : "identity", None or a sequence
        Regress on the label itself, on 2^label − 1, or on a number for each of the grades 0, 1, 2, …

    Examples
    --------
    >>> loss = QueryOffsetLoss(normalize=False).value_and_gradient([0.5, 1.0, 0.0], labels=[1, 2, 0], offsets=[0, 3])
    >>> loss.value, loss.d_scores.tolist()
    (0.25, [0.0, -0.5, 0.5])
    """

    convex = True
    has_curvature = True
    exact_curvature = True
    cost = "n"

    def __init__(self, normalize: bool = True, targets: Targets = "identity") -> None:
        self.normalize = normalize
        self.targets = targets

    def prepare(self, data: LabeledLists) -> tuple[Any, ...]:
        labels, offsets = data.labels, data.offsets
        return _targets_and_scale(self, labels, offsets)


def _targets_and_scale(loss: RegressionLoss | QueryOffsetLoss, labels: np.ndarray, offsets: np.ndarray) -> Any:
    sizes = np.diff(offsets)
    scale = 1.0 / np.maximum(sizes, 1) if loss.normalize else np.ones(len(sizes))
    return grade_targets(labels, loss.targets), scale


@njit(fastmath=FAST, error_model="numpy")
def regression(given: OneList, prepared: Any, out: Derivatives) -> float:
    scores, q, start = given.scores, given.query, given.start
    gradient, curvature = out.gradient, out.curvature
    labels, scale = prepared[0][start : start + len(scores)], prepared[1][q]
    squares = 0.0
    for i in range(len(scores)):
        error = scores[i] - labels[i]
        squares += error * error
        gradient[i] = scale * error
    for i in range(len(curvature)):
        curvature[i] = scale
    return 0.5 * scale * squares


@njit(fastmath=FAST, error_model="numpy")
def query_offset(given: OneList, prepared: Any, out: Derivatives) -> float:
    scores, q, start = given.scores, given.query, given.start
    gradient, curvature = out.gradient, out.curvature
    n = len(scores)
    labels, scale = prepared[0][start : start + n], prepared[1][q]
    offset, squares = 0.0, 0.0
    for i in range(n):
        offset += scores[i] - labels[i]
    offset /= n
    for i in range(n):
        error = scores[i] - labels[i] - offset
        squares += error * error
        gradient[i] = scale * error
    for i in range(len(curvature)):
        curvature[i] = scale * (1.0 - 1.0 / n)
    return 0.5 * scale * squares


@njit(fastmath=FAST, error_model="numpy")
def add_regression(
    scores: np.ndarray, targets: np.ndarray, weight: float, gradient: np.ndarray, curvature: np.ndarray
) -> float:
    """Add weight/2 Σ (s − t)² to a loss whose gradient and curvature are there already; what it adds to the value."""
    squares = 0.0
    for i in range(len(scores)):
        error = scores[i] - targets[i]
        squares += error * error
        gradient[i] += weight * error
    for i in range(len(curvature)):
        curvature[i] += weight
    return 0.5 * weight * squares


RegressionLoss.kernel = regression
QueryOffsetLoss.kernel = query_offset

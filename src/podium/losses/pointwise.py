"""Squared error: regression on the labels, one document at a time.

    L = ½ Σ_i (s_i − y_i)² / n

The simplest thing that can be done with grades. It is the only loss here that knows no lists: a query matters only in
that its documents share its weight.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from podium.losses.base import Loss
from podium.solvers.elementary import FAST


class RegressionLoss(Loss):
    """Half the mean squared difference between a query's scores and labels.

    Parameters
    ----------
    normalize : bool
        Mean over the query's documents; else their sum, so that queries count by their length.

    Examples
    --------
    >>> loss = RegressionLoss(normalize=False).value_and_gradient([0.5, 0.0, -1.0], labels=[1, 2, 0], offsets=[0, 3])
    >>> loss.value, loss.d_scores.tolist()
    (2.625, [-0.5, -2.0, -1.0])
    """

    convex = True
    shift_invariant = False
    has_curvature = True
    exact_curvature = True
    cost = "n"

    def __init__(self, normalize: bool = True) -> None:
        self.normalize = normalize

    def prepare(self, labels: np.ndarray, offsets: np.ndarray) -> tuple[Any, ...]:
        sizes = np.diff(offsets)
        return labels, 1.0 / np.maximum(sizes, 1) if self.normalize else np.ones(len(sizes))


@njit(fastmath=FAST, error_model="numpy")
def regression(
    scores: np.ndarray,
    prepared: Any,
    q: int,
    start: int,
    parameters: np.ndarray,
    gradient: np.ndarray,
    curvature: np.ndarray,
    d_parameters: np.ndarray,
) -> float:
    labels, scale = prepared[0][start : start + len(scores)], prepared[1][q]
    squares = 0.0
    for i in range(len(scores)):
        error = scores[i] - labels[i]
        squares += error * error
        gradient[i] = scale * error
    for i in range(len(curvature)):
        curvature[i] = scale
    return 0.5 * scale * squares


RegressionLoss.kernel = regression

"""ListMLE: the Plackett-Luce likelihood of the order that the labels give.

Documents 1 … n from the best grade to the worst; each place goes to a document with probability proportional to e^s
among those left:

    L = Σ_i [ log Σ_{j≥i} exp(s_j) − s_i ]        ∂L/∂s_i = exp(s_i) Σ_{k≤i} 1 / Σ_{j≥k} exp(s_j) − 1

Xia, Liu, Wang, Zhang and Li, "Listwise approach to learning to rank: theory and algorithm", ICML 2008.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit

from podium.core.parameters import require_choice
from podium.losses.base import LabeledLists, Loss
from podium.numerics.elementary import FAST, SAFE_RANGE, exp, extent, log
from podium.numerics.grades import shuffle_ties
from podium.numerics.kernels import Derivatives, OneList, own

__all__ = ["ListMLELoss"]


class ListMLELoss(Loss):
    """Negative log-likelihood of the labels' order under the Plackett-Luce model.

    The model knows no ties, grades do: among equal labels some order must be taken as the truth, and the choice moves
    results. :class:`~podium.losses.PMOPLoss` models ties instead. A single document contributes 0.

    Parameters
    ----------
    ties : "stable" or "random"
        Equal labels in their given order, or in a random one, drawn anew in each pass over the data.
    random_state : int
        Seed of the random orders; they do not depend on the number of threads.

    Examples
    --------
    >>> loss = ListMLELoss().value_and_gradient([0.5, 0.0, -1.0], labels=[1, 2, 0], offsets=[0, 3])
    >>> round(loss.value, 4)
    1.3055
    >>> loss.d_scores.round(3).tolist()
    [0.364, -0.669, 0.304]
    """

    keeps_float32 = True
    convex = True
    has_curvature = True
    exact_curvature = True
    cost = "n"

    ties: str = "stable"
    random_state: int = 0

    def likelihood(self) -> Loss:
        return self

    def prepare(self, data: LabeledLists) -> tuple[Any, ...]:
        require_choice("ties", self.ties, ("stable", "random"))
        return self.prepare_epoch((data.groups.order,), data, epoch=0)

    def prepare_epoch(self, prepared: tuple[Any, ...], data: LabeledLists, epoch: int) -> tuple[Any, ...]:
        if self.ties == "stable":
            return prepared
        return (shuffle_ties(data.groups, data.offsets, data.streams(self.random_state, epoch)),)


@njit(error_model="numpy")
def listmle(given: OneList, prepared: Any, out: Derivatives) -> float:
    order = own(prepared[0], given)
    low, high = extent(given.scores)
    if high - low <= SAFE_RANGE:
        return _plain(given.scores, order, high, out.gradient, out.curvature)
    return _in_logarithms(given.scores, order, out.gradient, out.curvature)


@njit(fastmath=FAST, error_model="numpy")
def _plain(scores: np.ndarray, order: np.ndarray, high: float, gradient: np.ndarray, curvature: np.ndarray) -> float:
    """Use running sums of exponentials that cannot underflow; ``gradient`` holds these exponentials meanwhile."""
    n, number = len(scores), scores.dtype.type
    value = 0.0
    for i in range(n):
        gradient[i] = exp(scores[i] - high)
        value += high - scores[i]
    remaining = np.empty(n, scores.dtype)
    total = 0.0
    for i in range(n - 1, -1, -1):
        total += gradient[order[i]]
        remaining[i] = total
    for i in range(n):
        value += log(remaining[i])
        remaining[i] = number(1) / remaining[i]
    inverse, inverse_squared = 0.0, 0.0
    for i in range(n):
        e = float(gradient[order[i]])
        inverse += remaining[i]
        gradient[order[i]] = e * inverse - 1.0
        if len(curvature) > 0:
            inverse_squared += float(remaining[i]) * float(remaining[i])
            curvature[order[i]] = e * inverse - e * e * inverse_squared
    return value


@njit(error_model="numpy")
def _in_logarithms(scores: np.ndarray, order: np.ndarray, gradient: np.ndarray, curvature: np.ndarray) -> float:
    """Do the same with the logarithms of all running sums, for scores that lie far apart."""
    n = len(scores)
    value = 0.0
    remaining = np.empty(n)
    total = -np.inf
    for i in range(n - 1, -1, -1):
        s = float(scores[order[i]])
        total = np.logaddexp(total, s)
        remaining[i] = total
        value += total - s
    inverse, inverse_squared = -np.inf, -np.inf
    for i in range(n):
        s = float(scores[order[i]])
        inverse = np.logaddexp(inverse, -remaining[i])
        gradient[order[i]] = math.exp(s + inverse) - 1.0
        if len(curvature) > 0:
            inverse_squared = np.logaddexp(inverse_squared, -2.0 * remaining[i])
            curvature[order[i]] = math.exp(s + inverse) - math.exp(2.0 * s + inverse_squared)
    return value


ListMLELoss.kernel = listmle

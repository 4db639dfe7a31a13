"""Rank Regress: squared error on the pairs that the labels order.

    L = Σ_{y_i > y_j} (1 − (s_i − s_j))²

It asks every better document to lead every worse one by exactly 1. Sums over grades make it linear in the number of
documents: the sum over the worse documents needs only their count, their sum of scores and their sum of squares.
"""

from typing import Any

import numpy as np

from podium.losses.base import Derivatives, LabeledLists, Loss, OneList, njit
from podium.numerics.grades import own_groups, pair_scale

__all__ = ["RankRegressLoss"]


class RankRegressLoss(Loss, convex=True, has_curvature=True, exact_curvature=True, keeps_float32=True, guarded=False):
    """Mean squared error of score differences over a query's pairs of unequal label.

    Equal labels say nothing; a query without a pair contributes 0.

    Parameters
    ----------
    normalize : bool
        Mean over the query's pairs; else their sum, so that queries count by their number of pairs.

    Examples
    --------
    >>> loss = RankRegressLoss(normalize=False).value_and_gradient([0.5, 0.0, -1.0], labels=[1, 2, 0], offsets=[0, 3])
    >>> round(loss.value, 4), loss.d_scores.round(4).tolist()
    (2.5, [4.0, -3.0, -1.0])
    """

    normalize: bool = True

    def prepare(self, data: LabeledLists) -> tuple[Any, ...]:
        return data.groups, pair_scale(data.groups, self.normalize)


@njit(error_model="numpy")
def rankregress(given: OneList, prepared: Any, out: Derivatives) -> float:
    scores, gradient, curvature = given.scores, out.gradient, out.curvature
    (order, bounds), scale = own_groups(prepared[0], given), prepared[1][given.query]
    n, n_groups = len(scores), len(bounds) - 1
    center, total = 0.0, 0.0  # scores are taken from their mean, so that sums of squares keep their digits
    for i in range(n):
        center += scores[i] / n
    sums = np.zeros(n_groups)
    for g in range(n_groups):
        for i in order[bounds[g] : bounds[g + 1]]:
            sums[g] += scores[i] - center
        total += sums[g]

    value, above, squares = 0.0, 0.0, 0.0  # sum and sum of squares of the scores of better documents
    for g in range(n_groups):
        n_above, n_below = bounds[g], n - bounds[g + 1]
        below = total - above - sums[g]
        own_squares = 0.0
        for i in order[bounds[g] : bounds[g + 1]]:
            s = scores[i] - center
            lead = n_below * (1.0 - s) + below  # Σ_j (1 − (s − s_j)) over the worse
            lag = n_above * (1.0 + s) - above  # Σ_i (1 − (s_i − s)) over the better
            value += n_above * (1.0 + s) ** 2 - 2.0 * (1.0 + s) * above + squares
            own_squares += s * s
            gradient[i] = scale * 2.0 * (lag - lead)
            if len(curvature) > 0:
                curvature[i] = scale * 2.0 * (n_above + n_below)
        above += sums[g]
        squares += own_squares
    return scale * value


RankRegressLoss.kernel = rankregress

"""GBRank: a squared hinge on pairs, with the margin that their targets ask for, and a pull between equal grades.

    L = Σ_{y_i > y_j} (t_i − t_j − (s_i − s_j))₊²  +  λ Σ_{y_i = y_j, i < j} (s_i − s_j)²  +  λ3/2 Σ_i (t_i − s_i)²

The first sum is the squared Ranking SVM with margin 0 of the scores s − t: so it is found by sorting. The second is,
for each grade, its number of documents times their sum of squares around their mean.

Zheng, Zha, Zhang, Chapelle, Chen and Sun, "A general boosting method and its application to learning ranking functions
for web search", NIPS 2007; with the terms for ties and targets as in Moon et al., "IntervalRank", WSDM 2010.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from podium.core.parameters import require_number
from podium.losses.base import LabeledLists, Loss
from podium.losses.pointwise import add_regression
from podium.losses.ranksvm import ranksvm
from podium.losses.targets import Targets, grade_targets
from podium.numerics.grades import Groups, count_pairs, grade_index, label_groups, pair_scale
from podium.numerics.loop import Derivatives, OneList

__all__ = ["GBRankLoss"]


class GBRankLoss(Loss):
    """Mean squared shortfall over pairs of unequal label, plus λ times the mean squared difference over equal ones.

    A query without a pair of either kind, such as one document, contributes 0, or its regression term alone.

    Parameters
    ----------
    ties : float
        λ ≥ 0: how strongly documents of equal label are drawn together.
    regression : float
        λ3 ≥ 0: weight of the squared differences between scores and targets, half of their mean over the query's
        documents. It makes absolute scores matter.
    targets : None, "identity" or a sequence
        Where grades should be: 2^g − 1, the grade itself, or a number for each of the grades 0, 1, 2, …
    normalize : bool
        Means over each kind of pairs and over documents; else sums.

    Examples
    --------
    >>> loss = GBRankLoss(ties=0.5).value_and_gradient([0.0, 1.0, 0.0], labels=[1, 0, 0], offsets=[0, 3])
    >>> loss.value, loss.d_scores.tolist()
    (3.0, [-3.0, 3.0, 0.0])
    """

    convex = True
    has_curvature = True
    cost = "n log n"

    def __init__(
        self, ties: float = 0.1, regression: float = 0.0, targets: Targets = None, normalize: bool = True
    ) -> None:
        self.ties = ties
        self.regression = regression
        self.targets = targets
        self.normalize = normalize

    @property
    def shift_invariant(self) -> bool:  # type: ignore[override]
        return not self.regression

    def prepare(self, data: LabeledLists) -> tuple[Any, ...]:
        labels, offsets = data.labels, data.offsets
        require_number("ties", self.ties, at_least=0.0)
        require_number("regression", self.regression, at_least=0.0)
        groups = label_groups(labels, offsets)
        hinge = (*groups, grade_index(*groups, offsets), pair_scale(groups, self.normalize), 0.0, True)
        sizes = np.diff(offsets)
        ties, weights = np.full(len(sizes), float(self.ties)), np.full(len(sizes), float(self.regression))
        if self.normalize:
            ties /= np.maximum(_count_ties(groups, sizes), 1)
            weights /= np.maximum(sizes, 1)
        return *hinge, grade_targets(labels, self.targets), ties, weights


def _count_ties(groups: Groups, sizes: np.ndarray) -> np.ndarray:
    """(n_queries,): how many pairs of equal grade each query has."""
    return sizes * (sizes - 1) / 2 - count_pairs(groups.bounds, groups.first)


@njit(error_model="numpy")
def gbrank(given: OneList, prepared: Any, out: Derivatives) -> float:
    scores, q, start = given.scores, given.query, given.start
    gradient, curvature = out.gradient, out.curvature
    n = len(scores)
    orders, all_bounds, first, grades, scale, margin, squared, all_targets, ties, weights = prepared
    hinge = orders, all_bounds, first, grades, scale, margin, squared
    targets = all_targets[start : start + n]
    lead = np.empty(n)
    for i in range(n):
        lead[i] = scores[i] - targets[i]
    value = ranksvm(OneList(lead, q, start, given.parameters), hinge, out)
    if ties[q] > 0.0:
        order, bounds = orders[start : start + n], all_bounds[first[q] : first[q + 1]]
        value += _pull_together(scores, order, bounds, ties[q], gradient, curvature)
    if weights[q] > 0.0:
        value += add_regression(scores, targets, weights[q], gradient, curvature)
    return value


@njit(error_model="numpy")
def _pull_together(
    scores: np.ndarray,
    order: np.ndarray,
    bounds: np.ndarray,
    weight: float,
    gradient: np.ndarray,
    curvature: np.ndarray,
) -> float:
    """Add weight · Σ (s_i − s_j)² over the pairs of equal grade."""
    value = 0.0
    for g in range(len(bounds) - 1):
        group = order[bounds[g] : bounds[g + 1]]
        n, mean, squares = len(group), 0.0, 0.0
        for i in group:
            mean += float(scores[i]) / n
        for i in group:
            distance = float(scores[i]) - mean
            squares += distance * distance
            gradient[i] += 2.0 * weight * n * distance
            if len(curvature) > 0:
                curvature[i] += 2.0 * weight * (n - 1)
        value += weight * n * squares
    return value


GBRankLoss.kernel = gbrank

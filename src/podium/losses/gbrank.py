"""GBRank: a squared hinge on pairs, with the margin that their targets ask for, and a pull between equal grades.

    L = Σ_{y_i > y_j} (t_i − t_j − (s_i − s_j))₊²  +  λ Σ_{y_i = y_j, i < j} (s_i − s_j)²  +  λ3/2 Σ_i (t_i − s_i)²

The first sum is the squared Ranking SVM with margin 0 of the scores s − t: so it is found by sorting. The second is,
for each grade, its number of documents times their sum of squares around their mean.

Zheng, Zha, Zhang, Chapelle, Chen and Sun, "A general boosting method and its application to learning ranking functions
for web search", NIPS 2007; with the terms for ties and targets as in Moon et al., "IntervalRank", WSDM 2010.
"""

from typing import Any

import numpy as np

from podium.core.parameters import number
from podium.losses.base import Derivatives, LabeledLists, Loss, OneList, njit, own
from podium.losses.pointwise import Targets, add_regression, grade_targets
from podium.losses.ranksvm import hinges_of, ranksvm
from podium.numerics.grades import count_pairs, own_groups

__all__ = ["GBRankLoss"]


class GBRankLoss(Loss, convex=True, has_curvature=True, visits_pairs=True, cost="n log n (n² for short lists)"):
    """Mean squared shortfall over pairs of unequal label, plus λ times the mean squared difference over equal ones.

    A query without a pair of either kind, such as one document, contributes 0, or its regression term alone.

    Parameters
    ----------
    ties : float
        How strongly documents of equal label are drawn together, λ ≥ 0.
    regression : float
        Weight λ3 ≥ 0 of the squared differences between scores and targets, half of their mean over the query's
        documents. It makes absolute scores matter.
    targets : None, "identity" or a sequence
        Where grades should be: 2^g − 1, the grade itself, or a number for each of the grades 0, 1, 2 and so on.
    normalize : bool
        Means over each kind of pairs and over documents; else sums.

    Examples
    --------
    >>> loss = GBRankLoss(ties=0.5).value_and_gradient([0.0, 1.0, 0.0], labels=[1, 0, 0], offsets=[0, 3])
    >>> loss.value, loss.d_scores.tolist()
    (3.0, [-3.0, 3.0, 0.0])
    """

    ties: float = number(0.1, at_least=0)
    regression: float = number(0.0, at_least=0)
    targets: Targets = None
    normalize: bool = True

    @property
    def shift_invariant(self) -> bool:  # type: ignore[override]
        """Without a regression term, only differences of scores count."""
        return not self.regression

    def prepare(self, data: LabeledLists) -> tuple[Any, ...]:
        sizes = data.sizes
        ties, weights = np.full(len(sizes), float(self.ties)), np.full(len(sizes), float(self.regression))
        if self.normalize:
            n_ties = sizes * (sizes - 1) / 2 - count_pairs(data.groups)
            ties /= np.maximum(n_ties, 1)
            weights /= np.maximum(sizes, 1)
        hinges = hinges_of(data, self.normalize, margin=0.0, squared=True)
        return hinges, grade_targets(data.labels, self.targets), ties, weights


@njit(error_model="numpy")
def gbrank(given: OneList, prepared: Any, out: Derivatives) -> float:
    scores, q = given.scores, given.query
    hinges, all_targets, ties, weights = prepared
    targets = own(all_targets, given)
    value = ranksvm(OneList(scores - targets, q, given.start, given.parameters), hinges, out)
    if ties[q] > 0.0:
        order, bounds = own_groups(hinges.groups, given)
        value += _pull_together(scores, order, bounds, ties[q], out)
    if weights[q] > 0.0:
        value += add_regression(scores, targets, weights[q], out)
    return value


@njit(error_model="numpy")
def _pull_together(scores: np.ndarray, order: np.ndarray, bounds: np.ndarray, weight: float, out: Derivatives) -> float:
    """Return weight · Σ (s_i − s_j)² over the pairs of equal grade and add its derivatives."""
    value = 0.0
    for g in range(len(bounds) - 1):
        group = order[bounds[g] : bounds[g + 1]]
        n, mean, squares = len(group), 0.0, 0.0
        for i in group:
            mean += float(scores[i]) / n
        for i in group:
            distance = float(scores[i]) - mean
            squares += distance * distance
            out.gradient[i] += 2.0 * weight * n * distance
            if len(out.curvature) > 0:
                out.curvature[i] += 2.0 * weight * (n - 1)
        value += weight * n * squares
    return value


GBRankLoss.kernel = gbrank

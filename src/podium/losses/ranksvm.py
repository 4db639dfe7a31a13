"""Ranking SVM: hinge loss on the pairs that the labels order.

    L = Σ_{y_i > y_j} max(0, m − (s_i − s_j))^p,        p = 1, or 2 with ``squared``

The pairs of long lists are never visited. Walking down the sorted scores, the documents that come within the margin of
the present one only ever grow in number; a Fenwick tree over the grades holds their counts and sums, so that each
document finds its own pairs' total in O(log n) steps.

Herbrich, Graepel and Obermayer, "Large margin rank boundaries for ordinal regression", 2000; Joachims, "Optimizing
search engines using clickthrough data", KDD 2002; squared: Chapelle and Keerthi, "Efficient algorithms for ranking with
SVMs", 2010. The papers' L2 penalty belongs to the scorer.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from podium.core.parameters import require_number
from podium.losses.base import LabeledLists, Loss
from podium.numerics.elementary import FAST, all_finite
from podium.numerics.grades import grade_index, label_groups, pair_scale
from podium.numerics.loop import Derivatives, OneList
from podium.numerics.pairs.gaps import over_pairs
from podium.numerics.sorting import descending

__all__ = ["RankSVMLoss"]

SHORT = 500
"""Up to this length, visiting all pairs, which vectorises, is quicker than sorting."""


class RankSVMLoss(Loss):
    """Mean hinge loss over a query's pairs of unequal label.

    Equal labels say nothing; a query without a pair contributes 0. The second derivative is that of the squared loss;
    for the plain hinge, which has none, each pair within the margin counts 1.

    Parameters
    ----------
    squared : bool
        Square the hinge, which makes it smooth.
    margin : float
        m > 0: the lead at which a pair costs nothing.
    normalize : bool
        Mean over the query's pairs; else their sum, so that queries count by their number of pairs.

    Examples
    --------
    >>> loss = RankSVMLoss(normalize=False).value_and_gradient([0.5, 0.0, -1.0], labels=[1, 2, 0], offsets=[0, 3])
    >>> loss.value, loss.d_scores.tolist()
    (1.5, [1.0, -1.0, 0.0])
    """

    convex = True
    keeps_float32 = True
    has_curvature = True
    cost = "n log n"

    def __init__(self, squared: bool = False, margin: float = 1.0, normalize: bool = True) -> None:
        self.squared = squared
        self.margin = margin
        self.normalize = normalize

    def prepare(self, data: LabeledLists) -> tuple[Any, ...]:
        labels, offsets = data.labels, data.offsets
        require_number("margin", self.margin, above=0.0)
        groups = label_groups(labels, offsets)
        scale = pair_scale(groups, self.normalize)
        return *groups, grade_index(*groups, offsets), scale, float(self.margin), bool(self.squared)


@njit(error_model="numpy")
def ranksvm(given: OneList, prepared: Any, out: Derivatives) -> float:
    scores, q, start = given.scores, given.query, given.start
    gradient, curvature = out.gradient, out.curvature
    n = len(scores)
    orders, all_bounds, first, grades, scale, margin, squared = prepared
    order, bounds = orders[start : start + n], all_bounds[first[q] : first[q + 1]]
    if not all_finite(scores):
        return np.nan  # the caller says which query it is
    if n <= SHORT:
        number = scores.dtype.type
        settings = number(margin), number(not squared), number(squared)
        return _over_hinges(settings, scale[q], scores, order, bounds, gradient, curvature)
    grade = grades[start : start + n]
    return _by_sorting(scores, grade, len(bounds) - 1, margin, squared, scale[q], gradient, curvature)


@njit(fastmath=FAST, error_model="numpy", forceinline=True)
def _hinge(gap: float, settings: tuple[float, float, float]) -> tuple[float, float, float]:
    """``plain`` is 1 for the hinge and ``square`` for its square, else 0."""
    margin, plain, square = settings
    zero, one, two = type(gap)(0), type(gap)(1), type(gap)(2)
    missing = max(margin - gap, zero)
    active = one if missing > zero else zero
    return (
        missing * (plain + square * missing),
        -active * plain - two * square * missing,
        active * (plain + two * square),
    )


_over_hinges = over_pairs(_hinge)


@njit(error_model="numpy")
def _by_sorting(
    scores: np.ndarray,
    grade_of: np.ndarray,
    n_grades: int,
    margin: float,
    squared: bool,
    scale: float,
    gradient: np.ndarray,
    curvature: np.ndarray,
) -> float:
    n = len(scores)
    order = np.empty(n, np.uint32)
    descending(scores, order)
    x, grade = np.empty(n), np.empty(n, np.int64)
    ahead, behind = np.zeros((3, n)), np.zeros((3, n))

    # As the better of a pair: the worse documents that score more than s − m.
    for i in range(n):
        x[i] = float(scores[order[i]]) - float(scores[order[0]])
        grade[i] = n_grades - 1 - grade_of[order[i]]
    _within_margin(x, grade, n_grades, margin, ahead)
    # As the worse: the better ones that score less than s + m. The same, seen in a mirror.
    for i in range(n):
        x[i] = float(scores[order[0]]) - float(scores[order[n - 1 - i]])
        grade[i] = grade_of[order[n - 1 - i]]
    _within_margin(x, grade, n_grades, margin, behind)

    value = 0.0
    for i in range(n):
        up, down = ahead[:, i], behind[:, n - 1 - i]
        document = order[i]
        pairs = up[0] + down[0]
        if squared:
            value += up[2]
            gradient[document] = scale * 2.0 * (down[1] - up[1])
            pairs *= 2.0
        else:
            value += up[1]
            gradient[document] = scale * (down[0] - up[0])
        if len(curvature) > 0:
            curvature[document] = scale * pairs
    return scale * value


@njit(error_model="numpy")
def _within_margin(x: np.ndarray, grade: np.ndarray, n_grades: int, margin: float, sums: np.ndarray) -> None:
    """For each i, over the j with grade_j < grade_i and v = margin − x_i + x_j > 0: Σ 1, Σ v, Σ v². ``x`` descends."""
    tree = np.zeros((n_grades + 1, 3))
    reached = 0
    for i in range(len(x)):
        while reached < len(x) and margin - x[i] + x[reached] > 0.0:
            node = grade[reached] + 1
            while node <= n_grades:
                tree[node, 0] += 1.0
                tree[node, 1] += x[reached]
                tree[node, 2] += x[reached] * x[reached]
                node += node & -node
            reached += 1
        count, total, squares = 0.0, 0.0, 0.0
        node = grade[i]
        while node > 0:
            count += tree[node, 0]
            total += tree[node, 1]
            squares += tree[node, 2]
            node -= node & -node
        room = margin - x[i]
        sums[0, i] = count
        sums[1, i] = count * room + total
        sums[2, i] = count * room * room + 2.0 * room * total + squares


RankSVMLoss.kernel = ranksvm

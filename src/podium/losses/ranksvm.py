"""Ranking SVM: hinge loss on the pairs that the labels order.

    L = Σ_{y_i > y_j} max(0, m − (s_i − s_j))^p,        p = 1, or 2 with ``squared``

The pairs of long lists are never visited. Walking down the sorted scores, the documents that come within the margin of
the present one only ever grow in number; a Fenwick tree over the grades holds their counts and sums, so that each
document finds its own pairs' total in O(log n) steps.

Herbrich, Graepel and Obermayer, "Large margin rank boundaries for ordinal regression", 2000; Joachims, "Optimizing
search engines using clickthrough data", KDD 2002; squared: Chapelle and Keerthi, "Efficient algorithms for ranking with
SVMs", 2010. The papers' L2 penalty belongs to the scorer.
"""

from typing import Any, NamedTuple

import numpy as np

from podium.core.parameters import number
from podium.losses.base import Array, Derivatives, LabeledLists, Loss, OneList, njit, own
from podium.numerics.elementary import FAST
from podium.numerics.grades import Groups, grade_index, own_groups, pair_scale
from podium.numerics.pairs.gaps import over_pairs
from podium.numerics.sorting import descending

__all__ = ["RankSVMLoss"]

SHORT = 500
"""Up to this length, visiting all pairs, which vectorizes, is quicker than sorting."""


class RankSVMLoss(Loss, convex=True, has_curvature=True, keeps_float32=True, visits_pairs=True):
    """Mean hinge loss over a query's pairs of unequal label.

    Equal labels say nothing; a query without a pair contributes 0. The second derivative is that of the squared loss;
    for the plain hinge, which has none, each pair within the margin counts 1.

    Parameters
    ----------
    squared : bool
        Square the hinge, which makes it smooth.
    margin : float
        The lead m > 0 at which a pair costs nothing.
    normalize : bool
        Mean over the query's pairs; else their sum, so that queries count by their number of pairs.

    Examples
    --------
    >>> loss = RankSVMLoss(normalize=False).value_and_gradient([0.5, 0.0, -1.0], labels=[1, 2, 0], offsets=[0, 3])
    >>> loss.value, loss.d_scores.tolist()
    (1.5, [1.0, -1.0, 0.0])
    """

    cost = "n log n (n² for short lists)"
    squared: bool = False
    margin: float = number(1.0, above=0)
    normalize: bool = True

    def prepare(self, data: LabeledLists) -> tuple[Any, ...]:
        return hinges_of(data, self.normalize, self.margin, self.squared)


class Hinges(NamedTuple):
    """What the kernel needs to know of labels and parameters."""

    groups: Groups
    grade: Array
    """(n_documents,) the group each document is in."""
    scale: Array
    """(n_queries,) what the sum over pairs is multiplied by."""
    margin: float
    squared: bool


def hinges_of(data: LabeledLists, normalize: bool, margin: float, squared: bool) -> Hinges:
    grade = grade_index(data.groups, data.offsets)
    return Hinges(data.groups, grade, pair_scale(data.groups, normalize), float(margin), bool(squared))


@njit(error_model="numpy")
def ranksvm(given: OneList, prepared: Hinges, out: Derivatives) -> float:
    scores, margin, squared, scale = given.scores, prepared.margin, prepared.squared, prepared.scale[given.query]
    order, bounds = own_groups(prepared.groups, given)
    if len(scores) <= SHORT:
        number = scores.dtype.type
        settings = number(margin), number(not squared), number(squared)
        return _over_hinges(settings, scale, scores, order, bounds, out.gradient, out.curvature)
    return _by_sorting(scores, own(prepared.grade, given), len(bounds) - 1, margin, squared, scale, out)


@njit(fastmath=FAST, error_model="numpy", forceinline=True)
def _hinge(gap: float, settings: tuple[float, float, float]) -> tuple[float, float, float]:
    """Return a pair's loss and its derivatives; ``plain`` is 1 for the hinge, ``square`` for its square, else 0."""
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
    scores: Array, grade_of: Array, n_grades: int, margin: float, squared: bool, scale: float, out: Derivatives
) -> float:
    n, gradient, curvature = len(scores), out.gradient, out.curvature
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
def _within_margin(x: Array, grade: Array, n_grades: int, margin: float, sums: Array) -> None:
    """Write for each i, over the j with grade_j < grade_i and v = margin − x_i + x_j > 0: Σ 1, Σ v, Σ v².

    ``x`` descends.
    """
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

"""IntervalRank: how far must scores move until the grades lie in separate, narrow intervals?

With a target t_g for each grade, and Δ_g = t_{g+1} − t_g between neighboring grades of the query:

    L = min  ½ Σ_g Σ_{i∈g} [ (l_g − s_i)₊² + (s_i − u_g)₊² ] + λ1/2 ‖ε‖² + λ2/2 ‖ξ‖²        over l, u, ε, ξ
        subject to  l_g ≤ u_g ≤ l_g + ξ_g,    l_{g+1} − u_g ≥ Δ_g − ε_g                    (Theorem 5)

    ∂L/∂s_i = s_i − clip(s_i, l_g, u_g)                                                     (Lemma 2)

and, if wanted, + λ3/2 Σ_i (t_i − s_i)² (equation 11). Without the slacks (λ1 = ∞, λ2 = 0) it is isotonic ranking
(equation 5): the least move that puts every pair as far apart as its targets are.

As the least of a convex function plus half the squared distance to it (a Moreau envelope), L has a Hessian between 0
and 1 in every direction, not only along the axes. So 1 is an honest second derivative for all documents.

Moon, Smola, Chang and Zheng, "IntervalRank: isotonic regression with listwise and pairwise constraints", WSDM 2010;
isotonic ranking: Zheng, Zha and Sun, "Query-level learning to rank using isotonic regression", Allerton 2008.
"""

import math
from typing import Any

import numpy as np

from podium.core.parameters import number, require_number
from podium.losses.base import Derivatives, LabeledLists, Loss, OneList, njit, own
from podium.losses.pointwise import Targets, add_regression, grade_targets
from podium.numerics.grades import own_groups
from podium.numerics.intervals.barrier import barrier_terms, solve_with_barrier
from podium.numerics.intervals.chain import SortedGrades, solve_intervals
from podium.numerics.sorting import descending

__all__ = ["IntervalRankLoss", "IsotonicLoss"]

MAX_WORK = 50_000_000
"""Documents × grades of the largest query: the solver's memory in the worst case, 64 bytes each, grows with it."""


class _Intervals(Loss, convex=True, has_curvature=True, ns_per_document=75.0, cost="n log n"):
    """Base class of IntervalRank and isotonic ranking."""

    def _prepare(self, data: LabeledLists, targets: Targets, settings: tuple[float, ...]) -> tuple[Any, ...]:
        grades = np.diff(data.groups.first) - 1
        if len(grades) and (work := grades * data.sizes).max() > MAX_WORK:
            q = int(work.argmax())
            raise ValueError(
                f"query number {q} has {grades[q]} different labels on {data.sizes[q]} documents, too many for "
                "intervals of grades; round the labels"
            )
        return data.groups, grade_targets(data.labels, targets), *map(float, settings)


class IntervalRankLoss(_Intervals):
    """The least squared change of a query's scores that puts its grades into separate intervals, slacks included.

    The value is the optimum of the whole objective, a sum over the query's documents. A query with a single grade has
    nothing to separate and contributes 0, or its regression term alone. The second derivative given is an upper bound.

    Parameters
    ----------
    separation : float
        What missing distance between neighboring grades costs, λ1 ≥ 0; ``math.inf`` insists on it.
    width : float
        What the width of a grade's interval costs, λ2 ≥ 0.
    regression : float
        Weight λ3 ≥ 0 of the squared differences between scores and targets. It makes absolute scores matter.
    targets : None, "identity" or a sequence
        Where grades should be: 2^g − 1, the grade itself, or a number for each of the grades 0, 1, 2 and so on.
    barrier : float, optional
        Stop at the optimum with logarithmic barriers of weight 1/μ, which leaves more distance than asked for, μ > 0.
        The paper's is 100. Their cost is then part of the value, which may be negative. By default the exact optimum.
    tolerance : float
        Newton steps toward the barrier's optimum end with one that is shorter than this part of the intervals' range.
        The exact optimum needs none.

    Examples
    --------
    The worse document is 1 ahead where it should be 1 behind. Both move by 0.5, and leave a slack of 1:

    >>> loss = IntervalRankLoss(separation=0.5).value_and_gradient([0.0, 1.0], labels=[1, 0], offsets=[0, 2])
    >>> loss.value, loss.d_scores.tolist()
    (0.5, [-0.5, 0.5])
    """

    separation: float = 1.0
    width: float = 1.0
    regression: float = number(0.0, at_least=0)
    targets: Targets = None
    barrier: float | None = number(None, above=0)
    tolerance: float = number(1e-8, above=0)

    @property
    def shift_invariant(self) -> bool:  # type: ignore[override]
        """Without a regression term, only differences of scores count."""
        return not self.regression

    def prepare(self, data: LabeledLists) -> tuple[Any, ...]:
        for name in ("separation", "width"):
            if getattr(self, name) != math.inf:
                require_number(name, getattr(self, name), at_least=0.0)
        if self.barrier is not None:
            for name in ("separation", "width"):  # else the cost has no minimum, or a slack no cost
                require_number(f"with a barrier, {name}", getattr(self, name), above=0.0)
        settings = self.separation, self.width, self.regression, self.barrier or 0.0, self.tolerance
        return self._prepare(data, self.targets, settings)


class IsotonicLoss(_Intervals):
    """The least squared change of a query's scores after which every pair is as far apart as its targets.

    Half the squared length of that change, ½‖δ‖²: IntervalRank without slacks, and with no limit to a grade's width. A
    query with a single grade contributes 0. The second derivative given is an upper bound.

    Parameters
    ----------
    targets : None, "identity" or a sequence
        Where grades should be: 2^g − 1, the grade itself, or a number for each of the grades 0, 1, 2 and so on.

    Examples
    --------
    >>> loss = IsotonicLoss().value_and_gradient([0.0, 1.0], labels=[1, 0], offsets=[0, 2])
    >>> loss.value, loss.d_scores.tolist()
    (1.0, [-1.0, 1.0])
    """

    targets: Targets = None

    def prepare(self, data: LabeledLists) -> tuple[Any, ...]:
        return self._prepare(data, self.targets, (math.inf, 0.0, 0.0, 0.0, 0.0))


@njit(error_model="numpy")
def intervals(given: OneList, prepared: Any, out: Derivatives) -> float:
    scores = given.scores
    groups, all_targets, separation, width, weight, barrier, tolerance = prepared
    (order, best_first), targets = own_groups(groups, given), own(all_targets, given)
    value = 0.0
    if len(best_first) > 2:
        settings = separation, width, barrier, tolerance
        value = _separate(scores, order, best_first, targets, settings, out.gradient)
    else:
        out.gradient[:] = 0.0
    out.curvature[:] = 1.0 if len(best_first) > 2 else 0.0
    if weight > 0.0:
        value += add_regression(scores, targets, weight, out)
    return value


@njit(error_model="numpy")
def _separate(
    scores: np.ndarray,
    order: np.ndarray,
    best_first: np.ndarray,
    targets: np.ndarray,
    settings: tuple[float, float, float, float],
    gradient: np.ndarray,
) -> float:
    n, n_grades = len(scores), len(best_first) - 1
    separation, width, barrier, tolerance = settings
    center = 0.0  # scores are taken from their mean, so that running sums keep their digits
    for i in range(n):
        center += float(scores[i]) / n
    bounds, margins = np.empty(n_grades + 1, np.int64), np.empty(n_grades - 1)
    ascending, sums, squares = np.empty(n), np.zeros(n + 1), np.zeros(n + 1)
    bounds[0] = 0
    for g in range(n_grades):  # worst first from here on
        group = order[best_first[n_grades - 1 - g] : best_first[n_grades - g]]
        bounds[g + 1] = bounds[g] + len(group)
        _sort_group(scores, group, center, ascending[bounds[g] : bounds[g + 1]])
        if g > 0:
            margins[g - 1] = targets[group[0]] - targets[order[best_first[n_grades - g]]]
    sums[1:], squares[1:] = np.cumsum(ascending), np.cumsum(ascending * ascending)

    lower, upper = np.empty(n_grades), np.empty(n_grades)
    grades = SortedGrades(ascending, sums, squares, bounds, margins, separation, width)
    solve_intervals(grades, lower, upper)
    value = 0.0
    if barrier > 0.0:
        if not solve_with_barrier(grades, barrier, tolerance, lower, upper):
            return np.nan
        value = barrier_terms(grades, barrier, lower, upper)
    else:
        for g in range(n_grades):
            xi = upper[g] - lower[g]
            if width > 0.0 and xi > 0.0:
                value += 0.5 * width * xi * xi
        for g in range(n_grades - 1):
            epsilon = margins[g] - (lower[g + 1] - upper[g])
            if epsilon > 0.0 and separation < np.inf:
                value += 0.5 * separation * epsilon * epsilon
    for g in range(n_grades):
        for i in order[best_first[n_grades - 1 - g] : best_first[n_grades - g]]:
            s = float(scores[i]) - center
            move = s - min(max(s, lower[g]), upper[g])
            gradient[i] = move
            value += 0.5 * move * move
    return value


@njit(error_model="numpy")
def _sort_group(scores: np.ndarray, group: np.ndarray, center: float, ascending: np.ndarray) -> None:
    n = len(group)
    unsorted, order = np.empty(n), np.empty(n, np.uint32)
    for i in range(n):
        unsorted[i] = center - float(scores[group[i]])
    descending(unsorted, order)  # of their negatives
    for i in range(n):
        ascending[i] = -unsorted[order[i]]


IntervalRankLoss.kernel = IsotonicLoss.kernel = intervals

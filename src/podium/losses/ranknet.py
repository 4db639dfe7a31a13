"""RankNet: logistic loss on the pairs that the labels order.

    L = Σ_{y_i > y_j} log(1 + e^{−(s_i − s_j)})        ∂L/∂s_i = −Σ_j P(j before i),  ∂L/∂s_j = +Σ_i P(j before i),
                                                      P(j before i) = 1 / (1 + e^{s_i − s_j})

Burges, Shaked, Renshaw, Lazier, Deeds, Hamilton and Hullender, "Learning to rank using gradient descent", ICML 2005.
"""

import math
from typing import Any

import numpy as np

from podium.losses.base import Array, Derivatives, Kernel, LabeledLists, Loss, OneList, njit
from podium.losses.given_pairs import GivenPairs, given_pairs, own_edges
from podium.numerics.elementary import FAST, exp, extent, log, log1p_unit, split
from podium.numerics.grades import own_groups, pair_scale
from podium.numerics.pairs.gaps import over_pairs
from podium.numerics.pairs.graded import GradedList, add_pair_gradient, node_differences, pair_histogram
from podium.numerics.pairs.graded_crossing import call_over_grades, crossing_cost, over_grades_address
from podium.numerics.pairs.grid import Grid, grid_cost, grid_under, spacing

__all__ = ["RankNetLoss"]

LANES = 8
"""Worse documents come in multiples of this (the rest is padding), so that loops have no remainder."""


class RankNetLoss(
    Loss,
    convex=True,
    has_curvature=True,
    exact_curvature=True,
    accepts_preferences=True,
    keeps_float32=True,
    visits_pairs=True,
):
    """Mean logistic loss over a query's pairs of unequal label.

    Equal labels say nothing; a query without a pair contributes 0. Labels may be :class:`podium.Preferences`: pairs
    then count by their weights.

    Parameters
    ----------
    normalize : bool
        Mean over the query's pairs; else their sum, so that queries count by their number of pairs.
    tolerance : float
        Relative error allowed where a long list is summed on a grid, in linear time. Short lists, and long ones whose
        scores have a wide range, are summed to rounding; so are all where second derivatives are asked for.

    Examples
    --------
    >>> loss = RankNetLoss(normalize=False).value_and_gradient([0.5, 0.0, -1.0], labels=[1, 2, 0], offsets=[0, 3])
    >>> round(loss.value, 4)
    1.4888
    >>> loss.d_scores.round(3).tolist()
    [0.44, -0.891, 0.451]
    """

    cost = "n (n² for short lists)"
    normalize: bool = True
    tolerance: float = 1e-6

    def prepare(self, data: LabeledLists) -> tuple[Any, ...]:
        if data.has_pairs:
            return given_pairs(data, self.normalize, ties=False)
        settings = spacing(self.tolerance), over_grades_address(data.sizes)
        return data.groups, pair_scale(data.groups, self.normalize), *settings

    def kernel_for(self, data: LabeledLists) -> Kernel:
        return ranknet_on_pairs if data.has_pairs else ranknet


@njit(error_model="numpy")
def ranknet(given: OneList, prepared: Any, out: Derivatives) -> float:
    scores, gradient, curvature = given.scores, out.gradient, out.curvature
    groups, scales, h, panels = prepared
    (order, bounds), scale = own_groups(groups, given), scales[given.query]
    if len(curvature) > 0:
        return _over_logistic_pairs((), scale, scores, order, bounds, gradient, curvature)
    n, n_grades, grid = len(scores), len(bounds) - 1, grid_under(scores, h)
    # Half of all pairs, at least, is a fair guess; a pair costs about a nanosecond, or four where products overflow.
    on_grid, by_panels, by_pairs = grid_cost(n, n_grades, grid.n_nodes), crossing_cost(n, n_grades), 0.25 * n * n
    if on_grid < min(by_panels, by_pairs):
        return _on_grid(GradedList(scores, order, bounds), grid, scale, gradient)
    if _fits(scores) and (by_pairs < by_panels or panels == 0):
        return _by_products(scores, order, bounds, scale, gradient)
    if 4.0 * by_pairs < by_panels or panels == 0:
        return _over_logistic_pairs((), scale, scores, order, bounds, gradient, curvature)
    return _by_panels(panels, GradedList(scores, order, bounds), scale, gradient)


@njit(fastmath=FAST, error_model="numpy", forceinline=True)
def _logistic(gap: float, _: tuple[()]) -> tuple[float, float, float]:
    """Return log(1 + e^−gap) and its derivatives for any gap."""
    zero, one = type(gap)(0), type(gap)(1)
    u = exp(-abs(gap))
    likelier = one / (one + u)
    p = u * likelier if gap > zero else likelier  # probability of the wrong order
    return log1p_unit(u) + max(-gap, zero), -p, p * (one - p)


_over_logistic_pairs = over_pairs(_logistic)


@njit(error_model="numpy")
def ranknet_on_pairs(given: OneList, prepared: GivenPairs, out: Derivatives) -> float:
    """Sum over pairs given one by one."""
    scores, gradient, curvature = given.scores, out.gradient, out.curvature
    winner, loser, weight = own_edges(prepared.wins, given.query)
    value, scale = 0.0, prepared.scale[given.query]
    gradient[:] = 0.0
    curvature[:] = 0.0
    for e in range(len(winner)):
        i, j, w = winner[e], loser[e], scale * weight[e]
        f, slope, second = _logistic(float(scores[i]) - float(scores[j]), ())
        value += w * f
        gradient[i] += w * slope
        gradient[j] -= w * slope
        if len(curvature) > 0:
            curvature[i] += w * second
            curvature[j] += w * second
    return value


@njit(error_model="numpy")
def _on_grid(one: GradedList, grid: Grid, scale: float, gradient: Array) -> float:
    """Sum over all pairs in linear time, see :mod:`podium.numerics.pairs.graded`."""
    r = node_differences(grid)
    slope = np.empty(len(r))
    counts = pair_histogram(one, grid)
    value = 0.0
    for k in range(len(r)):
        f, slope[k], _ = _logistic(r[k], ())
        value += counts[k] * f
    result = np.zeros(len(gradient))
    add_pair_gradient(one, grid, slope, result)
    gradient[:] = result * scale
    return value * scale


@njit(error_model="numpy")
def _by_panels(address: int, one: GradedList, scale: float, gradient: Array) -> float:
    """Sum over all pairs at a cost that does not depend on the scores' range."""
    result = np.zeros(len(gradient))
    value = call_over_grades(address, one.scores, one.order, one.bounds, result, np.zeros(1))
    for i in range(len(gradient)):
        gradient[i] = result[i] * scale
    return value * scale


@njit(error_model="numpy")
def _fits(scores: Array) -> bool:
    """Return whether products of four terms 1 + e^{s_j − s_i} stay in range."""
    low, high = extent(scores)
    return high - low <= (20.0 if scores.itemsize == 4 else 170.0)


@njit(fastmath=FAST, error_model="numpy")
def _by_products(scores: Array, order: Array, bounds: Array, scale: float, gradient: Array) -> float:
    """Sum over all pairs with one exponential per document: e^{s_j − s_i} = worth_j / worth_i.

    The loss is the logarithm of the product of all 1 + e^{s_j − s_i}, kept as mantissas (one for each j) and exponents.
    """
    n = len(scores)
    zero, one, half = scores.dtype.type(0), scores.dtype.type(1), scores.dtype.type(0.5)
    low, high = extent(scores)
    center = (low + high) * half
    worth, mantissas = np.zeros(n + LANES, scores.dtype), np.ones(n + LANES, scores.dtype)
    odds, force = np.empty(n, scores.dtype), np.zeros(n + LANES, scores.dtype)
    for i in range(n):
        worth[i] = exp(scores[order[i]] - center)
        odds[i] = one / worth[i]
    exponents = 0
    for g in range(len(bounds) - 2):
        last = bounds[g + 1]
        stop = last + (n - last + LANES - 1) // LANES * LANES
        worse, force_of_worse, mantissas_of_worse = worth[last:stop], force[last:stop], mantissas[last:stop]
        for i in range(bounds[g], last, 4):
            # Where the last four are fewer, the missing ones have odds 0 and change nothing.
            b = odds[i + 1] if i + 1 < last else zero
            c = odds[i + 2] if i + 2 < last else zero
            d = odds[i + 3] if i + 3 < last else zero
            sums = _four_rows(odds[i], b, c, d, worse, force_of_worse, mantissas_of_worse)
            force[i] -= sums[0]
            force[i + 1] -= sums[1]
            force[i + 2] -= sums[2]
            force[i + 3] -= sums[3]
            exponents += sums[4]
    for i in range(n):
        gradient[order[i]] = force[i] * scores.dtype.type(scale)
    value = zero
    for i in range(n):
        value += log(mantissas[i])
    return scale * (float(value) + exponents * math.log(2.0))


@njit(fastmath=FAST, error_model="numpy")
def _four_rows(
    a: float, b: float, c: float, d: float, worth: Array, force: Array, mantissas: Array
) -> tuple[float, float, float, float, int]:
    """Compare four better documents with all worse ones: one division for four pairs, and no logarithm."""
    one = worth.dtype.type(1)
    pull_a = pull_b = pull_c = pull_d = worth.dtype.type(0)
    exponents = split(one)[1]
    for j in range(len(worth)):
        xa, xb, xc, xd = a * worth[j], b * worth[j], c * worth[j], d * worth[j]
        ta, tb, tc, td = one + xa, one + xb, one + xc, one + xd
        tab, tcd = ta * tb, tc * td
        product = tab * tcd
        inverse = one / product
        inverse_ab, inverse_cd = inverse * tcd, inverse * tab
        pa, pb = xa * (inverse_ab * tb), xb * (inverse_ab * ta)
        pc, pd = xc * (inverse_cd * td), xd * (inverse_cd * tc)
        mantissas[j], exponent = split(mantissas[j] * product)
        exponents = type(exponents)(exponents + exponent)
        pull_a += pa
        pull_b += pb
        pull_c += pc
        pull_d += pd
        force[j] += (pa + pb) + (pc + pd)
    return pull_a, pull_b, pull_c, pull_d, exponents


RankNetLoss.kernel = ranknet

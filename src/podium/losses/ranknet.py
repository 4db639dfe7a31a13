"""RankNet: logistic loss on the pairs that the labels order.

    L = Σ_{y_i > y_j} log(1 + e^{−(s_i − s_j)})        ∂L/∂s_i = −Σ_j P(j before i),  ∂L/∂s_j = +Σ_i P(j before i),
                                                      P(j before i) = 1 / (1 + e^{s_i − s_j})

Burges, Shaked, Renshaw, Lazier, Deeds, Hamilton and Hullender, "Learning to rank using gradient descent", ICML 2005.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit

from podium.losses.base import LabeledLists, Loss
from podium.numerics.elementary import FAST, all_finite, exp, extent, log, log1p_unit, split
from podium.numerics.grades import label_groups, pair_scale
from podium.numerics.loop import Derivatives, OneList
from podium.numerics.pairs.gaps import over_pairs
from podium.numerics.pairs.graded import add_pair_gradient, node_differences, pair_histogram
from podium.numerics.pairs.grid import count_nodes, grid_is_cheaper, spacing

__all__ = ["RankNetLoss"]

LANES = 8
"""Worse documents come in multiples of this (the rest is padding), so that loops have no remainder."""


class RankNetLoss(Loss):
    """Mean logistic loss over a query's pairs of unequal label.

    Equal labels say nothing; a query without a pair contributes 0.

    Parameters
    ----------
    normalize : bool
        Mean over the query's pairs; else their sum, so that queries count by their number of pairs.
    tolerance : float
        Relative error allowed where a long list is summed on a grid, in linear time; short ones are summed exactly, and
        so are all where second derivatives are asked for.

    Examples
    --------
    >>> loss = RankNetLoss(normalize=False).value_and_gradient([0.5, 0.0, -1.0], labels=[1, 2, 0], offsets=[0, 3])
    >>> round(loss.value, 4)
    1.4888
    >>> loss.d_scores.round(3).tolist()
    [0.44, -0.891, 0.451]
    """

    keeps_float32 = True
    convex = True
    has_curvature = True
    exact_curvature = True
    cost = "n (n² for short lists)"

    def __init__(self, normalize: bool = True, tolerance: float = 1e-6) -> None:
        self.normalize = normalize
        self.tolerance = tolerance

    def prepare(self, data: LabeledLists) -> tuple[Any, ...]:
        labels, offsets = data.labels, data.offsets
        groups = label_groups(labels, offsets)
        return *groups, pair_scale(groups, self.normalize), spacing(self.tolerance)


@njit(error_model="numpy")
def ranknet(given: OneList, prepared: Any, out: Derivatives) -> float:
    scores, q, start = given.scores, given.query, given.start
    gradient, curvature = out.gradient, out.curvature
    orders, all_bounds, first, scale, h = prepared
    order, bounds = orders[start : start + len(scores)], all_bounds[first[q] : first[q + 1]]
    if not all_finite(scores):
        return np.nan  # the caller says which query it is
    if len(curvature) == 0 and _long(scores, bounds, h):
        return _on_grid(scores, order, bounds, scale[q], h, gradient)
    if len(curvature) == 0 and _fits(scores):
        return _by_products(scores, order, bounds, scale[q], gradient)
    return _over_logistic_pairs((), scale[q], scores, order, bounds, gradient, curvature)


@njit(fastmath=FAST, error_model="numpy", forceinline=True)
def _logistic(gap: float, _: tuple[()]) -> tuple[float, float, float]:
    """log(1 + e^−gap) and its derivatives for any gap."""
    zero, one = type(gap)(0), type(gap)(1)
    u = exp(-abs(gap))
    likelier = one / (one + u)
    p = u * likelier if gap > zero else likelier  # probability of the wrong order
    return log1p_unit(u) + max(-gap, zero), -p, p * (one - p)


_over_logistic_pairs = over_pairs(_logistic)


@njit(error_model="numpy")
def _long(scores: np.ndarray, bounds: np.ndarray, h: float) -> bool:
    n = len(scores)
    low, high = extent(scores)
    # Half of all pairs, at least, is a fair guess; a pair costs about a nanosecond.
    return grid_is_cheaper(n, 0.25 * n * n, len(bounds) - 1, count_nodes(float(high) - float(low), h), 1.0)


@njit(error_model="numpy")
def _on_grid(
    scores: np.ndarray, order: np.ndarray, bounds: np.ndarray, scale: float, h: float, gradient: np.ndarray
) -> float:
    """All pairs in linear time, see :mod:`podium.numerics.pairs.graded`."""
    low, high = extent(scores)
    n_nodes = count_nodes(float(high) - float(low), h)
    r = node_differences(n_nodes, h)
    slope = np.empty(len(r))
    counts = pair_histogram(scores, order, bounds, float(low), h, n_nodes)
    value = 0.0
    for k in range(len(r)):
        f, slope[k], _ = _logistic(r[k], ())
        value += counts[k] * f
    result = np.zeros(len(scores))
    add_pair_gradient(scores, order, bounds, float(low), h, slope, result)
    for i in range(len(scores)):
        gradient[i] = result[i] * scale
    return value * scale


@njit(error_model="numpy")
def _fits(scores: np.ndarray) -> bool:
    """Do products of four terms 1 + e^{s_j − s_i} stay in range?"""
    low, high = extent(scores)
    return high - low <= (20.0 if scores.itemsize == 4 else 170.0)


@njit(fastmath=FAST, error_model="numpy")
def _by_products(
    scores: np.ndarray, order: np.ndarray, bounds: np.ndarray, scale: float, gradient: np.ndarray
) -> float:
    """One exponential per document: e^{s_j − s_i} = worth_j / worth_i.

    The loss is the logarithm of the product of all 1 + e^{s_j − s_i}, kept as mantissas (one for each j) and exponents.
    """
    n = len(scores)
    zero, one, half = scores.dtype.type(0), scores.dtype.type(1), scores.dtype.type(0.5)
    low, high = extent(scores)
    centre = (low + high) * half
    worth, mantissas = np.zeros(n + LANES, scores.dtype), np.ones(n + LANES, scores.dtype)
    odds, force = np.empty(n, scores.dtype), np.zeros(n + LANES, scores.dtype)
    for i in range(n):
        worth[i] = exp(scores[order[i]] - centre)
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
    a: float, b: float, c: float, d: float, worth: np.ndarray, force: np.ndarray, mantissas: np.ndarray
) -> tuple[float, float, float, float, int]:
    """Four better documents against all worse ones: one division for four pairs, and no logarithm."""
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

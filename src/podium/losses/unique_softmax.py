"""Unique softmax: each document against those of lower grades, weighted by its gain.

    L = Σ_i G_i log(1 + Σ_{j: y_j < y_i} e^{s_j − s_i}),        G = 2^y − 1

Documents of equal grade never compete. Grades 0, 1, … from the best: with B_g the sum of e^s over the grades after g,
and r_i = B_g / (e^{s_i} + B_g) the share that is lost to them by a document of grade g,

    ∂L/∂s_i = e^{s_i} Σ_{h < g} (1/B_h) Σ_{k of grade h} G_k r_k − G_i r_i

so that one sum per grade, from the last to the first and back, takes the place of a softmax per document.

Zhu and Klabjan, "Listwise learning to rank by exploring unique ratings", WSDM 2020.
"""

from typing import Any

import numpy as np

from podium.losses.base import Array, Derivatives, LabeledLists, Loss, OneList, njit
from podium.numerics.elementary import FAST, exp, largest, log, log1p_unit
from podium.numerics.grades import own_groups

__all__ = ["UniqueSoftmaxLoss"]

IN_ORDER = FAST - {"reassoc", "contract"}
"""For loops that write: compiled twice, for arrays next to each other and for others, they must not group or fuse terms
each in their own way."""


class UniqueSoftmaxLoss(Loss, convex=True, has_curvature=True, exact_curvature=True, keeps_float32=True):
    """Negative log-likelihood of each document against those of lower grades, weighted by its gain.

    A query's value is the sum over its documents, so that long lists count for more. Grades of 0 and less have no gain,
    but lower ones are still below. A single document and a list of equal grades contribute 0.

    Examples
    --------
    >>> loss = UniqueSoftmaxLoss().value_and_gradient([0.5, 0.0, -1.0], labels=[1, 2, 0], offsets=[0, 3])
    >>> round(loss.value, 4)
    3.5138
    >>> loss.d_scores.round(3).tolist()
    [1.457, -2.006, 0.548]
    """

    sums_documents = True

    def prepare(self, data: LabeledLists) -> tuple[Any, ...]:
        groups = data.groups
        # The gain of each group, laid out like the groups' bounds, whose last entry of each query has no group.
        gains = np.zeros(len(groups.bounds))
        is_group = np.ones(len(gains), bool)
        is_group[groups.first[1:] - 1] = False
        query = np.repeat(np.arange(len(data.sizes)), np.diff(groups.first))[is_group]
        begin = groups.bounds[is_group] + data.offsets[query]  # where a group begins, among all documents in order
        gains[is_group] = data.gains[groups.order[begin] + data.offsets[query]]
        return groups, gains


@njit(error_model="numpy")
def unique_softmax(given: OneList, prepared: Any, out: Derivatives) -> float:
    groups, all_gains = prepared
    order, bounds = own_groups(groups, given)
    gains = all_gains[groups.first[given.query] : groups.first[given.query + 1]]
    n, n_groups, dtype = len(order), len(bounds) - 1, given.scores.dtype
    s, share, lost, room = np.empty(n, dtype), np.empty(n, dtype), np.zeros(n, dtype), np.empty(n, dtype)
    for i in range(n):
        s[i] = given.scores[order[i]]
    tops, logs, kept = _from_the_last(s, bounds, share)
    # Σ over better grades h of Σ_k G_k r_k times B / B_h, where B is the sum over this grade and those after it; and
    # the same of the squares r_k² and (B / B_h)².
    first, second = 0.0, 0.0
    value = 0.0
    for g in range(n_groups):
        a, b = bounds[g], bounds[g + 1]
        lost_here, squares_here = 0.0, 0.0
        if g + 1 < n_groups and gains[g] > 0.0:
            losses, lost_here, squares_here = _against_lower(s[a:b], tops[g + 1], logs[g + 1], lost[a:b], room[a:b])
            value += gains[g] * losses
        _combine(share[a:b], first, second, gains[g], lost[a:b], len(out.curvature) > 0, room[a:b])
        first = first * kept[g] + gains[g] * lost_here
        second = second * kept[g] * kept[g] + gains[g] * squares_here
    for i in range(n):
        out.gradient[order[i]] = lost[i]
    for i in range(len(out.curvature)):
        out.curvature[order[i]] = room[i]
    return value


@njit(fastmath=FAST, error_model="numpy")
def _from_the_last(s: Array, bounds: Array, share: Array) -> tuple[Array, Array, Array]:
    """Return the sum of e^s over each grade and those after it as top + log; write each document's share in its own.

    The third array has the share that is left when the grade itself is taken away. All are relative to the largest
    score so far, so that nothing overflows.
    """
    n_groups = len(bounds) - 1
    tops, logs, kept = np.empty(n_groups, s.dtype), np.empty(n_groups, s.dtype), np.zeros(n_groups)
    top, after = s[bounds[n_groups - 1]], 0.0
    for g in range(n_groups - 1, -1, -1):
        mine, shares = s[bounds[g] : bounds[g + 1]], share[bounds[g] : bounds[g + 1]]
        before, top = top, max(top, largest(mine))
        for i in range(len(mine)):
            shares[i] = exp(mine[i] - top)
        total = 0.0
        for i in range(len(mine)):
            total += shares[i]
        after *= exp(float(before) - float(top))
        total += after
        for i in range(len(mine)):
            shares[i] /= s.dtype.type(total)
        tops[g], logs[g], kept[g] = top, log(total), after / total
        after = total
    return tops, logs, kept


@njit(fastmath=FAST, error_model="numpy")
def _against_lower(s: Array, top: float, log_sum: float, lost: Array, losses: Array) -> tuple[float, float, float]:
    """Return Σ log(1 + B / e^s), Σ r and Σ r² over the documents of a grade, where B = e^(top + log_sum).

    ``lost`` takes r, and ``losses`` the logarithms.
    """
    _fill_lost(s, top, log_sum, lost, losses)
    value, total, squares = 0.0, 0.0, 0.0
    for i in range(len(s)):
        value += losses[i]
        total += lost[i]
        squares += lost[i] * lost[i]
    return value, total, squares


@njit(fastmath=IN_ORDER, error_model="numpy")
def _fill_lost(s: Array, top: float, log_sum: float, lost: Array, losses: Array) -> None:
    one = s.dtype.type(1)
    for i in range(len(s)):
        ahead = (s[i] - top) - log_sum
        u = exp(-abs(ahead))
        lost[i] = (u if ahead > 0 else one) / (one + u)
        losses[i] = max(-ahead, s.dtype.type(0)) + log1p_unit(u)


@njit(fastmath=IN_ORDER, error_model="numpy")
def _combine(
    share: Array, first: float, second: float, gain: float, lost: Array, curved: bool, curvature: Array
) -> None:
    """Turn ``lost`` into the gradient of a grade's documents, and write their second derivatives if they are wanted."""
    number = share.dtype.type
    c, c2, weight = number(first), number(second), number(gain)
    if curved:
        for i in range(len(share)):
            rivals = share[i] * (c - share[i] * c2)
            curvature[i] = max(rivals, number(0)) + weight * lost[i] * (number(1) - lost[i])
    for i in range(len(share)):
        lost[i] = share[i] * c - weight * lost[i]


UniqueSoftmaxLoss.kernel = unique_softmax

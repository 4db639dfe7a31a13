"""Derivatives of a user's loss with respect to the scores of seen and unseen items.

With X the seen items, U the unseen ones and s the scores, the losses of a user are

    pmop      Σ_k [log Σ_{R_k} e^s − log Σ_{X_k} e^s]    stages X_1 ≻ X_2 ≻ … of the seen, R_k = X_k ∪ X_{k+1} ∪ … ∪ U
    softmax   Σ_{i∈X} [log Σ_{X∪U} e^s − s_i]
    bpr       Σ_{i∈X} log(1 + exp(s_j − s_i))             an unseen j drawn for each i
    warp      Σ_{i∈X} L(⌊|U|/N⌋) max(0, 1 − s_i + s_j)    j the first of unseen items drawn that violates the margin,
                                                          after N draws; L(r) = 1 + 1/2 + … + 1/r

In the first two, U may be a sample of m unseen items; each of them then counts |U|/m times.
"""

import math

from podium.core.arrays import Array
from podium.numerics.compiling import njit
from podium.numerics.elementary import exp
from podium.numerics.random import integer

LOSSES = ("pmop", "softmax", "bpr", "warp")
PMOP, SOFTMAX, BPR, WARP, GROUPS = range(5)
"""GROUPS is pmop with several lists per user, X_k ≻ U, in place of one list of several stages."""


@njit(error_model="numpy")
def replace_by_slopes(kind: int, seen: Array, stages: Array, sums: Array, unseen: Array, weight: float) -> float:
    """Replace the scores of seen and unseen items by the derivatives of the loss, which is returned.

    ``stages`` has the stage of each seen item, 0 the best, and ``sums`` room for two numbers per stage, (2, n_stages);
    an unseen item counts ``weight`` times. For pmop and softmax.
    """
    top = -math.inf
    for i in range(len(seen)):
        top = max(top, seen[i])
    for j in range(len(unseen)):
        top = max(top, unseen[j])
    rest = 0.0
    for j in range(len(unseen)):
        unseen[j] = weight * exp(unseen[j] - top)
        rest += unseen[j]
    if kind == SOFTMAX:
        return _softmax(seen, unseen, rest, top)
    return _ordered_partition(seen, stages, sums, unseen, rest, top, kind == GROUPS)


@njit(error_model="numpy")
def _softmax(seen: Array, unseen: Array, rest: float, top: float) -> float:
    value = 0.0
    for i in range(len(seen)):
        value += top - seen[i]
        seen[i] = exp(seen[i] - top)
        rest += seen[i]
    slope = len(seen) / rest
    for i in range(len(seen)):
        seen[i] = slope * seen[i] - 1.0
    for j in range(len(unseen)):
        unseen[j] *= slope
    return value + len(seen) * math.log(rest)


@njit(error_model="numpy")
def _ordered_partition(
    seen: Array, stages: Array, sums: Array, unseen: Array, rest: float, top: float, separate: bool
) -> float:
    group, slope = sums[0], sums[1]
    group[:] = 0.0
    for i in range(len(seen)):
        seen[i] = exp(seen[i] - top)
        group[stages[i]] += seen[i]
    value, remaining = 0.0, rest
    for k in range(len(group) - 1, -1, -1):
        remaining = group[k] + (rest if separate else remaining)
        value += math.log(remaining) - math.log(group[k])
        slope[k] = 1.0 / remaining
    total = 0.0
    for k in range(len(slope)):
        total += slope[k]
        if not separate:
            slope[k] = total  # an item of stage k takes part in the draws of stages 0 … k
    for i in range(len(seen)):
        seen[i] = seen[i] * slope[stages[i]] - seen[i] / group[stages[i]]
    for j in range(len(unseen)):
        unseen[j] *= total
    return value


@njit(error_model="numpy")
def draw_unseen(stream: Array, seen: Array, n_items: int) -> int:
    """Return an item outside ``seen`` (ascending), uniformly at random; there must be one."""
    while True:
        item = integer(stream, n_items)
        low, high = 0, len(seen)
        while low < high:
            middle = (low + high) // 2
            if seen[middle] < item:
                low = middle + 1
            else:
                high = middle
        if low == len(seen) or seen[low] != item:
            return item


@njit(error_model="numpy")
def rank_weight(n_unseen: int, n_draws: int) -> float:
    """Return L(⌊n_unseen / n_draws⌋), where the quotient estimates how many unseen items violate the margin."""
    total = 0.0
    for rank in range(1, n_unseen // n_draws + 1):
        total += 1.0 / rank
    return total

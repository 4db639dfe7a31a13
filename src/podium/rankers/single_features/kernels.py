"""Weights of pairs as the documents see them: what the pairs of one query add to each document's potential.

Documents come in groups of equal grade, best first (:mod:`podium.numerics.grades`). Factors exp(±s) are computed per
document, never per pair.
"""

import math
from typing import NamedTuple

import numpy as np

from podium.core.arrays import Array
from podium.numerics.compiling import njit
from podium.numerics.elementary import FAST

STEEPEST = 300.0
"""Scores this far from the middle of their list are as far as any: products of two factors then stay finite."""


class GradedLists(NamedTuple):
    """Queries, their documents in groups of equal grade, and the weight of a pair of each query."""

    offsets: Array
    order: Array
    bounds: Array
    first: Array
    scale: Array


@njit(error_model="numpy")
def _query(q: int, lists: GradedLists, scores: Array) -> tuple[int, Array, Array, Array, Array]:
    """Return where a query starts, its order, its bounds, and exp(s) and exp(−s) about its middle, best grade first."""
    start, stop = lists.offsets[q], lists.offsets[q + 1]
    order, s = lists.order[start:stop], scores[start:stop]
    low, high = np.inf, -np.inf
    for i in range(len(s)):
        low, high = min(low, s[i]), max(high, s[i])
    middle = 0.5 * (low + high)
    up, down = np.empty(len(s)), np.empty(len(s))
    for i in range(len(order)):
        up[i] = math.exp(min(max(s[order[i]] - middle, -STEEPEST), STEEPEST))
        down[i] = 1.0 / up[i]
    return start, order, lists.bounds[lists.first[q] : lists.first[q + 1]], up, down


@njit(nogil=True, cache=True, error_model="numpy")
def exponential_potentials(
    begin: int, end: int, lists: GradedLists, scores: Array, potential: Array, losses: Array
) -> None:
    """Compute potentials and losses for D_ij = exp(s_j − s_i), in linear time: the weight is a product."""
    for q in range(begin, end):
        start, order, bounds, up, down = _query(q, lists, scores)
        pi, scale = potential[start:], lists.scale[q]
        better = 0.0
        for g in range(len(bounds) - 1):
            here = 0.0
            for i in range(bounds[g], bounds[g + 1]):
                pi[order[i]] = -scale * up[i] * better
                here += down[i]
            better += here
        total, worse = 0.0, 0.0
        for g in range(len(bounds) - 2, -1, -1):
            here = 0.0
            for i in range(bounds[g], bounds[g + 1]):
                of_better = scale * down[i] * worse
                pi[order[i]] += of_better
                total += of_better
                here += up[i]
            worse += here
        losses[q] = total


@njit(error_model="numpy", fastmath=FAST, inline="always")
def _fidelity(odds: float) -> tuple[float, float]:
    """Return the loss of a pair with these odds against it, exp(s_j − s_i), and FRank's weight of it."""
    chance = 1.0 / (1.0 + odds)
    root = math.sqrt(chance)
    return 1.0 - root, odds * chance * root


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy")
def fidelity_potentials(
    begin: int, end: int, lists: GradedLists, scores: Array, potential: Array, losses: Array
) -> None:
    """Compute potentials and losses for D_ij = exp(s_j − s_i) / (1 + exp(s_j − s_i))^{3/2}."""
    for q in range(begin, end):
        start, order, bounds, up, down = _query(q, lists, scores)
        sums = np.zeros(len(order))
        total = 0.0
        for g in range(len(bounds) - 2):
            worse, sums_of_worse = up[bounds[g + 1] :], sums[bounds[g + 1] :]
            for i in range(bounds[g], bounds[g + 1]):
                of_document = 0.0
                for j in range(len(worse)):
                    loss, weight = _fidelity(worse[j] * down[i])
                    total += loss
                    of_document += weight
                    sums_of_worse[j] -= weight
                sums[i] += of_document
        for i in range(len(order)):
            potential[start + order[i]] = lists.scale[q] * sums[i]
        losses[q] = lists.scale[q] * total


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy")
def fidelity_splits(
    begin: int, end: int, lists: GradedLists, scores: Array, codes: Array, good: Array, bad: Array
) -> None:
    """Fill rows ``begin:end`` of two tables (n_features, n_thresholds + 1), all thresholds of these features at once.

    They are the weights of the pairs that a threshold puts in the right and in the wrong order: a pair with the codes
    a > b is split by the thresholds number b to a − 1, so its weight goes in at b and out at a of a running sum.
    """
    good[begin:end] = 0.0
    bad[begin:end] = 0.0
    for q in range(len(lists.offsets) - 1):
        start, order, bounds, up, down = _query(q, lists, scores)
        codes_here = np.empty((end - begin, len(order)), np.int64)
        for f in range(end - begin):
            for i in range(len(order)):
                codes_here[f, i] = codes[begin + f, start + order[i]]
        weights = np.empty(len(order))
        for g in range(len(bounds) - 2):
            worse = up[bounds[g + 1] :]
            for i in range(bounds[g], bounds[g + 1]):
                for j in range(len(worse)):
                    weights[j] = lists.scale[q] * _fidelity(worse[j] * down[i])[1]
                for f in range(end - begin):
                    mine, theirs = codes_here[f, i], codes_here[f, bounds[g + 1] :]
                    right, wrong = good[begin + f], bad[begin + f]
                    for j in range(len(theirs)):
                        if mine > theirs[j]:
                            right[theirs[j]] += weights[j]
                            right[mine] -= weights[j]
                        elif mine < theirs[j]:
                            wrong[mine] += weights[j]
                            wrong[theirs[j]] -= weights[j]
    for f in range(begin, end):
        for k in range(1, good.shape[1]):
            good[f, k] += good[f, k - 1]
            bad[f, k] += bad[f, k - 1]


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy")
def fidelity_after(
    begin: int, end: int, lists: GradedLists, scores: Array, above: Array, weight: float, losses: Array
) -> None:
    """Compute the losses of queries once a rule is added that gives documents above a threshold this weight."""
    factor = math.exp(weight)
    for q in range(begin, end):
        start, order, bounds, up, down = _query(q, lists, scores)
        for i in range(len(order)):
            if above[start + order[i]]:
                up[i] *= factor
                down[i] /= factor
        total = 0.0
        for g in range(len(bounds) - 2):
            worse = up[bounds[g + 1] :]
            for i in range(bounds[g], bounds[g + 1]):
                for j in range(len(worse)):
                    total += _fidelity(worse[j] * down[i])[0]
        losses[q] = lists.scale[q] * total

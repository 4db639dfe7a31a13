"""Weights of pairs as the documents see them: what one query's pairs add to each document's potential.

Documents come in groups of equal grade, best first (:mod:`podium.numerics.grades`). Factors exp(±s) are made per
document, never per pair.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from podium.numerics.elementary import FAST

STEEPEST = 300.0
"""Scores this far from the middle of their list are as far as any: products of two factors then stay finite."""


@njit(error_model="numpy")
def _factors(scores: np.ndarray, order: np.ndarray, up: np.ndarray, down: np.ndarray) -> None:
    """exp(s) and exp(−s) about the middle of the list, best grade first."""
    low, high = np.inf, -np.inf
    for i in range(len(scores)):
        low, high = min(low, scores[i]), max(high, scores[i])
    middle = 0.5 * (low + high)
    for i in range(len(order)):
        up[i] = math.exp(min(max(scores[order[i]] - middle, -STEEPEST), STEEPEST))
        down[i] = 1.0 / up[i]


@njit(nogil=True, cache=True, error_model="numpy")
def exponential_potentials(
    begin: int,
    end: int,
    offsets: np.ndarray,
    order: np.ndarray,
    bounds: np.ndarray,
    first: np.ndarray,
    scale: np.ndarray,
    scores: np.ndarray,
    potential: np.ndarray,
    losses: np.ndarray,
) -> None:
    """Potentials and losses of queries ``begin:end`` for D_ij = exp(s_j − s_i). Linear time: the weight factorises."""
    for q in range(begin, end):
        o, s, pi = order[offsets[q] : offsets[q + 1]], scores[offsets[q] : offsets[q + 1]], potential[offsets[q] :]
        b = bounds[first[q] : first[q + 1]]
        n = len(s)
        up, down = np.empty(n), np.empty(n)
        _factors(s, o, up, down)
        better = 0.0
        for g in range(len(b) - 1):
            here = 0.0
            for i in range(b[g], b[g + 1]):
                pi[o[i]] = -scale[q] * up[i] * better
                here += down[i]
            better += here
        total, worse = 0.0, 0.0
        for g in range(len(b) - 2, -1, -1):
            here = 0.0
            for i in range(b[g], b[g + 1]):
                of_better = scale[q] * down[i] * worse
                pi[o[i]] += of_better
                total += of_better
                here += up[i]
            worse += here
        losses[q] = total


@njit(error_model="numpy", fastmath=FAST, inline="always")
def _fidelity(odds: float) -> tuple[float, float]:
    """The loss of a pair with these odds against it, exp(s_j − s_i), and FRank's weight of it."""
    chance = 1.0 / (1.0 + odds)
    root = math.sqrt(chance)
    return 1.0 - root, odds * chance * root


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy")
def fidelity_potentials(
    begin: int,
    end: int,
    offsets: np.ndarray,
    order: np.ndarray,
    bounds: np.ndarray,
    first: np.ndarray,
    scale: np.ndarray,
    scores: np.ndarray,
    potential: np.ndarray,
    losses: np.ndarray,
) -> None:
    """Potentials and losses of queries ``begin:end`` for D_ij = exp(s_j − s_i) / (1 + exp(s_j − s_i))^{3/2}."""
    for q in range(begin, end):
        o, s, pi = order[offsets[q] : offsets[q + 1]], scores[offsets[q] : offsets[q + 1]], potential[offsets[q] :]
        b = bounds[first[q] : first[q + 1]]
        n = len(s)
        up, down, sums = np.empty(n), np.empty(n), np.zeros(n)
        _factors(s, o, up, down)
        total = 0.0
        for g in range(len(b) - 2):
            worse, sums_of_worse = up[b[g + 1] :], sums[b[g + 1] :]
            for i in range(b[g], b[g + 1]):
                of_document = 0.0
                for j in range(len(worse)):
                    loss, weight = _fidelity(worse[j] * down[i])
                    total += loss
                    of_document += weight
                    sums_of_worse[j] -= weight
                sums[i] += of_document
        for i in range(n):
            pi[o[i]] = scale[q] * sums[i]
        losses[q] = scale[q] * total


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy")
def fidelity_split(
    begin: int,
    end: int,
    offsets: np.ndarray,
    order: np.ndarray,
    bounds: np.ndarray,
    first: np.ndarray,
    scale: np.ndarray,
    scores: np.ndarray,
    above: np.ndarray,
    good_and_bad: np.ndarray,
) -> None:
    """The weight of the pairs of queries ``begin:end`` that a threshold puts in the right and in the wrong order."""
    for q in range(begin, end):
        o, s, h = order[offsets[q] : offsets[q + 1]], scores[offsets[q] : offsets[q + 1]], above[offsets[q] :]
        b = bounds[first[q] : first[q + 1]]
        n = len(s)
        up, down, is_above, is_below = np.empty(n), np.empty(n), np.empty(n), np.empty(n)
        _factors(s, o, up, down)
        for i in range(n):
            is_above[i] = 1.0 if h[o[i]] else 0.0
            is_below[i] = 1.0 - is_above[i]
        good, bad = 0.0, 0.0
        for g in range(len(b) - 2):
            for i in range(b[g], b[g + 1]):
                # Only pairs with one document on either side are ordered at all.
                worse, counts = up[b[g + 1] :], (is_below if h[o[i]] else is_above)[b[g + 1] :]
                ordered = 0.0
                for j in range(len(worse)):
                    ordered += counts[j] * _fidelity(worse[j] * down[i])[1]
                if h[o[i]]:
                    good += ordered
                else:
                    bad += ordered
        good_and_bad[q, 0], good_and_bad[q, 1] = scale[q] * good, scale[q] * bad

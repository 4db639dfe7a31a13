"""What pairs of places weigh in the LambdaLoss family, with equal scores.

    ρ = d(r) − d(t),        δ = d(t − r) − d(t − r + 1)        for places r < t

Where scores are equal, the weight of a pair is its mean over all orders of the tied documents. With C(k) = d(1) + … +
d(k), the mean of δ over places [a, b) and later places [c, e) is (C(c − a) − C(c − b) − C(e − a) + C(e − b)) /
((b − a)(e − c)), and 2 (m − C(m)) / (m (m − 1)) over the pairs of m tied documents: both sums telescope.
"""

from typing import NamedTuple

import numpy as np

from podium.losses.base import Array, njit
from podium.numerics.pairs.blocks import Four
from podium.numerics.tiles import MOST, ROWS, rounded_up


class Discounts(NamedTuple):
    """Tables up to the longest list, and what ρ and δ are multiplied by."""

    of_rank: Array
    """d(1), d(2), …"""
    cumulative: Array
    """C(0), C(1), …"""
    rho: float
    delta: float


class Places(NamedTuple):
    """The places of one list, of which some share their scores."""

    ends: Array
    """(n,) where the run of equal scores that a place is in ends"""
    starts: Array
    """where runs of more than one document begin"""
    discounts: Array
    """(n,) d(r), its mean over the places of tied documents"""
    rho: Array
    """The same times the factor of ρ, in the type of the scores, padded to whole vectors."""
    delta: Array
    """δ at distances 1, 2, … times its factor, in that type, after one vector of zeros"""


def discounts_up_to(longest: int, rho: float, delta: float) -> Discounts:
    """Return the tables for lists of so many documents."""
    of_rank = 1.0 / np.log2(2.0 + np.arange(longest + 1))
    return Discounts(of_rank, np.concatenate(([0.0], np.cumsum(of_rank))), rho, delta)


@njit(error_model="numpy")
def places_of(s: Array, n: int, tables: Discounts) -> Places:
    """Return the places of n scores in falling order."""
    ends, starts, n_runs = np.empty(n, np.int64), np.empty(n // 2, np.int64), 0
    means, d = np.empty(n), tables.of_rank
    a = 0
    while a < n:
        b = a + 1
        while b < n and s[b] == s[a]:
            b += 1
        if b - a == 1:
            ends[a], means[a] = b, d[a]
        else:
            ends[a:b], means[a:b] = b, d[a:b].sum() / (b - a)
            starts[n_runs] = a
            n_runs += 1
        a = b
    rho, delta = np.zeros(rounded_up(n), s.dtype), np.zeros(MOST + rounded_up(n), s.dtype)
    for r in range(n):
        rho[r] = tables.rho * means[r]
    for k in range(n):
        delta[MOST + k] = tables.delta * (d[k] - d[k + 1])
    return Places(ends, starts[:n_runs], means, rho, delta)


@njit(error_model="numpy")
def fill_four(first: int, n: int, ahead: Four, places: Places, tables: Discounts, weights: tuple[Array, ...]) -> None:
    """Write what pairs of the four places from ``first`` on weigh, of those that are there. All arrays are unowned."""
    for k in range(ROWS):
        if ahead[k] > 0.0:
            _fill_weights(first + k, n, places, tables, weights[k], weights[(k + ROWS - 1) % ROWS])


@njit(error_model="numpy")
def _fill_weights(r: int, n: int, places: Places, tables: Discounts, weight: Array, before: Array) -> None:
    """Write what pairs of place r and those after it weigh; ``before`` has that of place r − 1."""
    b, d = places.ends[r], tables.of_rank
    if r > 0 and places.ends[r - 1] == b:  # tied with the place before
        for t in range(r, n):
            weight[t] = before[t]
        return
    if b - r > 1:
        m, within = b - r, 0.0  # Σ (d_p − d_q) over the pairs p before q
        for p in range(m):
            within += d[r + p] * (m - 1 - 2 * p)
        mean = (tables.rho * within + tables.delta * (m - tables.cumulative[m])) * 2.0 / (m * (m - 1.0))
        for t in range(r, b):
            weight[t] = mean
    c = b
    while c < n:
        e = places.ends[c]
        mean = _mean_weight(r, b, c, e, places, tables)
        for t in range(c, e):
            weight[t] = mean
        c = e


@njit(error_model="numpy")
def _mean_weight(a: int, b: int, c: int, e: int, places: Places, tables: Discounts) -> float:
    """Return the mean weight of pairs of a place in [a, b) and one in [c, e), each of equal scores."""
    sums, d = tables.cumulative, places.discounts
    if b - a == 1 and e - c == 1:
        return tables.rho * (d[a] - d[c]) + tables.delta * (tables.of_rank[c - b] - tables.of_rank[c - a])
    apart = (sums[c - a] - sums[c - b]) - (sums[e - a] - sums[e - b])
    return tables.rho * (d[a] - d[c]) + tables.delta * apart / ((b - a) * (e - c))

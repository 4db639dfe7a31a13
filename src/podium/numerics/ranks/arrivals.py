"""Ranks of documents that arrive at independent random times: exact up to a sum over points of time.

If document d arrives at time t, its rank is 1 + the number of the others that have arrived before, a sum of independent
events. So P(rank of d is r) is the integral over t of d's density times a Poisson-binomial probability. At each point
of time the distribution of the number of arrivals of *all* documents is computed once, and one document is taken out of
it again in linear time.
"""

import numpy as np

from podium.numerics.compiling import njit
from podium.numerics.pool import share


def arrival_counts(arrived: np.ndarray) -> np.ndarray:
    """Return (n_points, n + 1): how likely 0, 1, … n documents have arrived, given (n_points, n) chances of each."""
    n_points, n = arrived.shape
    counts = np.zeros((n_points, n + 1))
    share(_count, n_points, arrived, counts, work=float(n_points) * n * n)
    return counts


def rank_distributions_of(arrived: np.ndarray, density: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Return (n, n): P(rank of document d is r) in column r − 1.

    ``density`` (n_points, n) is that of each document's own time, with the weights of the points in it.
    """
    n_points, n = arrived.shape
    found = np.zeros((n, n))
    share(_take_out_each, n, arrived, density, counts, found, work=float(n_points) * n * n)
    return found


def rank_before(
    i: int, j: int, arrived: np.ndarray, density: np.ndarray, counts: np.ndarray, not_yet: np.ndarray
) -> np.ndarray:
    """Return (n,): P(document i has rank r, and j a later one). ``not_yet`` (n_points,) is P(j has not arrived)."""
    found = np.zeros(arrived.shape[1])
    _take_out_two(i, j, arrived, density, counts, not_yet, found)
    return found


@njit(nogil=True, cache=True, error_model="numpy")
def _count(first: int, stop: int, arrived: np.ndarray, counts: np.ndarray) -> None:
    for point in range(first, stop):
        p, f = arrived[point], counts[point]
        f[0] = 1.0
        for j in range(len(p)):
            for k in range(j + 1, 0, -1):
                f[k] = f[k] * (1.0 - p[j]) + f[k - 1] * p[j]
            f[0] *= 1.0 - p[j]


@njit(error_model="numpy")
def _take_out(f: np.ndarray, n: int, p: float, out: np.ndarray) -> None:
    """Write the counts of n − 1 documents: those of n, without one that has arrived with probability p.

    f_k = (1 − p) g_k + p g_{k−1} is solved from the end where errors shrink.
    """
    if p <= 0.5:
        before = 0.0
        for k in range(n):
            before = max((f[k] - p * before) / (1.0 - p), 0.0)
            out[k] = before
    else:
        after = 0.0
        for k in range(n, 0, -1):
            after = max((f[k] - (1.0 - p) * after) / p, 0.0)
            out[k - 1] = after


@njit(nogil=True, cache=True, error_model="numpy")
def _take_out_each(
    first: int, stop: int, arrived: np.ndarray, density: np.ndarray, counts: np.ndarray, found: np.ndarray
) -> None:
    n = arrived.shape[1]
    others = np.empty(n)
    for d in range(first, stop):
        for point in range(len(arrived)):
            if density[point, d] > 0.0:
                _take_out(counts[point], n, arrived[point, d], others)
                for k in range(n):
                    found[d, k] += density[point, d] * others[k]


@njit(nogil=True, cache=True, error_model="numpy")
def _take_out_two(
    i: int,
    j: int,
    arrived: np.ndarray,
    density: np.ndarray,
    counts: np.ndarray,
    not_yet: np.ndarray,
    found: np.ndarray,
) -> None:
    n = arrived.shape[1]
    one, others = np.empty(n), np.empty(n)
    for point in range(len(arrived)):
        weight = density[point, i] * not_yet[point]
        if weight > 0.0:
            _take_out(counts[point], n, arrived[point, i], one)
            _take_out(one, n - 1, arrived[point, j], others)
            for k in range(n - 1):
                found[k] += weight * others[k]

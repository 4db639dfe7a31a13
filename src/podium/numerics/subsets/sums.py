"""Sums over all non-empty subsets of a list, weighted by the geometric mean of their members: exact, in O(N³).

The normalizer of an ordered-partition model with geometric potential is

    Z = Σ_{∅≠S⊆R} exp(mean of s over S) = Σ_{m=1}^{N} e_m(e^{s_1/m}, …, e^{s_N/m}),

e_m being the elementary symmetric polynomial of degree m: subsets are grouped by size, and within a size the weight
is a product over members. Each e_m is a recursion of O(N m) multiply-adds, ``E_i[j] = E_{i−1}[j] + z_i
E_{i−1}[j−1]``, and its derivative the same recursion run backwards.

Scores are shifted so that the largest is 0. Then Z ≥ 1 and every z ≤ 1, so the recursion can run in plain numbers: what
underflows is negligible, and nothing overflows while C(N, N/2) is a floating-point number, that is for N ≤ ``LONGEST``.
Sizes m that cannot matter (by a bound on e_m against one on Z) are skipped: about two thirds of them in a list of
1,000.
"""

import math

import numpy as np

from podium.numerics.compiling import Array, njit

LONGEST = 1000
"""The longest list summed: C(1000, 500) is 3e299, close to the largest floating-point number."""

_NEGLIGIBLE = -42.0  # e^-42 · 1,000 sizes is below the rounding error of Z


@njit(cache=True, error_model="numpy")
def sizes_that_matter(scores: Array) -> Array:
    """Return a mask (N + 1,) of subset sizes whose weight is not negligible. ``scores`` have their maximum at 0."""
    n = len(scores)
    best = np.sort(scores)[::-1]
    mean = best.mean()
    log_count, upper = np.empty(n + 1), np.empty(n + 1)
    lower = 0.0  # the best document alone weighs e^0
    running = 0.0
    for m in range(1, n + 1):
        running += best[m - 1]
        log_count[m] = math.lgamma(n + 1.0) - math.lgamma(m + 1.0) - math.lgamma(n - m + 1.0)
        upper[m] = log_count[m] + running / m  # no subset of m has a larger mean than the m best
        lower = max(lower, running / m, log_count[m] + mean)  # Jensen: the average weight is at least e^mean
    keep = np.zeros(n + 1, np.bool_)
    keep[1:] = upper[1:] >= lower + _NEGLIGIBLE
    return keep


@njit(cache=True, error_model="numpy", fastmath={"contract"})
def symmetric_polynomial(z: Array, m: int, table: Array) -> float:
    """Return ``e_m(z)``; rows of ``table`` (N + 1, ≥ m + 1) are filled where the way to it leads through them."""
    n = len(z)
    table[0, 0] = 1.0
    for i in range(1, n + 1):
        first, last = max(0, m - (n - i)), min(i, m)
        before, row = table[i - 1], table[i]
        if last == i:
            before[i] = 0.0  # i members cannot be chosen from i − 1
        if first == 0:
            row[0] = 1.0
            first = 1
        factor = z[i - 1]
        for j in range(first, last + 1):
            row[j] = before[j] + factor * before[j - 1]
    return table[n, m]


@njit(cache=True, error_model="numpy", fastmath={"contract", "reassoc", "nsz"})
def _add_inclusion(z: Array, m: int, table: Array, adjoint: Array, derivative: Array, membership: Array) -> None:
    """Add the weight of all m-subsets that contain i to ``membership[i]``, and 1/m of it to ``derivative[i]``."""
    n = len(z)
    adjoint[: m + 2] = 0.0
    adjoint[m] = 1.0
    for i in range(n, 0, -1):
        # adjoint[j] is e_{m−j} of the items after i: in how many ways a choice of j among the first i is completed.
        first, last = max(1, m - (n - i)), min(i, m)
        before = table[i - 1]
        total = 0.0
        for j in range(first, last + 1):
            total += adjoint[j] * before[j - 1]
        factor = z[i - 1]
        membership[i - 1] += total * factor
        derivative[i - 1] += total * factor / m
        for j in range(max(0, m - (n - i) - 1), min(i - 1, m) + 1):
            adjoint[j] += factor * adjoint[j + 1]


@njit(cache=True, error_model="numpy")
def log_subset_sum(scores: Array, derivative: Array, membership: Array) -> float:
    """Return ``log Z`` of one list of at most ``LONGEST`` scores.

    ``derivative`` (N,) receives ∂ log Z/∂s, ``membership`` (N,) the probability that each document is in the subset
    drawn.
    """
    n, top = len(scores), scores.max()
    shifted = scores - top
    keep = sizes_that_matter(shifted)
    table, adjoint, z = np.empty((n + 1, n + 2)), np.empty(n + 2), np.empty(n)
    derivative[:] = 0.0
    membership[:] = 0.0
    total = 0.0
    for m in range(1, n + 1):
        if keep[m]:
            for i in range(n):
                z[i] = math.exp(shifted[i] / m)
            total += symmetric_polynomial(z, m, table)
            _add_inclusion(z, m, table, adjoint, derivative, membership)
    derivative /= total
    membership /= total
    return math.log(total) + top

"""Sums over all pairs of documents in linear time, by interpolation on a grid of scores.

A pairwise loss is a sum of ``f(s_i − s_j)`` over up to n²/2 pairs. Where ``f`` is smooth it need not be evaluated at
each. Put an evenly spaced grid ``x_0 … x_{N−1}`` under the scores and write each score by Lagrange's formula on its
``STENCIL`` nearest nodes, ``s_i ≈ Σ_k S_ik x_k``. Then

    Σ_ij f(s_i − s_j) ≈ Σ_kl (Σ_i S_ik) (Σ_j S_jl) f(x_k − x_l):

the documents are spread on the grid once (O(n)), the pairs of *nodes* are summed (O(N²), whatever n is), and
derivatives are gathered back the same way (O(n)). Differences of nodes are again evenly spaced, so ``f`` is needed at
2N − 1 points only. N is the range of the scores over the spacing, and the spacing follows from the requested tolerance.

The error is relative to ``f`` where it stands: far out in a tail, where ``f`` decays like an exponential, the
interpolation is as exact, relatively, as in the middle. (One polynomial over the whole range would spread the error
of its worst place everywhere, and would need more nodes the wider the range is, for every document.)
"""

from typing import NamedTuple

import numpy as np

from podium.numerics.compiling import Array, njit
from podium.numerics.elementary import extent

STENCIL = 12
"""Nodes that carry one score. With twelve, halving the spacing divides the error by 4,000."""

MANY = 2.0**40
"""As good as infinitely many nodes: no grid of so many is ever made."""
_BEFORE = STENCIL // 2 - 1  # nodes of a stencil before the cell that holds the score
# 1 / Π_{i≠j} (j − i): the constant factor of the j-th Lagrange polynomial on nodes 0 … STENCIL − 1.
_FACTOR = np.array([1.0 / np.prod([j - i for i in range(STENCIL) if i != j]) for j in range(STENCIL)])

# Interpolating a function whose nearest singularity is at distance π (all logistic-like ones: 1 + e^x = 0 at x = iπ)
# leaves an error near (h/π)^12 · Π(j − ½)² · 2/12 ≈ 4,400 (h/π)^12, and four times that in its derivative. The rest
# is a margin for the sums' cancellations; the tests measure what is left of it.
_ERROR_CONSTANT = 4.0e5


def spacing(tolerance: float) -> float:
    """Return the distance of grid nodes, in units of the logistic function's scale, for this relative error."""
    if not 1e-13 <= tolerance <= 1e-2:
        raise ValueError(f"tolerance must be between 1e-13 and 1e-2; got {tolerance}")
    return float(np.pi * (tolerance / _ERROR_CONSTANT) ** (1.0 / STENCIL))


class Grid(NamedTuple):
    """An evenly spaced grid under scores."""

    low: float
    """The lowest score."""
    h: float
    """The distance of its nodes."""
    n_nodes: int


@njit(cache=True, error_model="numpy")
def grid_under(scores: Array, h: float) -> Grid:
    """Return the grid of spacing ``h`` under these scores."""
    low, high = extent(scores)
    return Grid(float(low), h, int(min((float(high) - float(low)) / h, MANY)) + STENCIL)


@njit(cache=True, error_model="numpy")
def grid_cost(n: int, n_grades: int, n_nodes: int) -> float:
    """Return about how many nanoseconds it takes to sum over the pairs of ``n`` documents in ``n_grades`` on a grid.

    A document is spread or gathered five times; then there are the pairs of nodes in each grade's passes, and the
    entries of tables. Costs only steer: all ways of summing give the same answer.
    """
    return 150.0 * n + 1.0 * n_grades * n_nodes * n_nodes + 60.0 * n_nodes


@njit(error_model="numpy", fastmath={"contract"})
def _find(score: float, grid: Grid, weights: Array) -> int:
    """Return the first node of a score's stencil and write its Lagrange weights.

    These are, on nodes 0 … STENCIL − 1, those of the point ``_BEFORE + u``, where u is the place of the score in its
    cell, 0 ≤ u < 1.
    """
    t = (float(score) - grid.low) / grid.h
    cell = int(t)
    x = t - cell + _BEFORE
    product = 1.0
    for j in range(STENCIL):
        weights[j] = product * _FACTOR[j]
        product *= x - j
    product = 1.0
    for j in range(STENCIL - 1, -1, -1):
        weights[j] *= product
        product *= x - j
    return cell


@njit(cache=True, error_model="numpy", fastmath={"contract"})
def spread(scores: Array, members: Array, grid: Grid, counts: Array) -> None:
    """Add to ``counts`` (N,) the stencils of ``scores[members]``."""
    weights = np.empty(STENCIL)
    for member in members:
        cell = _find(scores[member], grid, weights)
        for j in range(STENCIL):
            counts[cell + j] += weights[j]


@njit(cache=True, error_model="numpy", fastmath={"contract"})
def spread_weighted(values: Array, weights: Array, grid: Grid, counts: Array) -> None:
    """Add to ``counts`` (N,) the stencils of all ``values``, each times its weight."""
    stencil = np.empty(STENCIL)
    for i in range(len(values)):
        cell = _find(values[i], grid, stencil)
        for j in range(STENCIL):
            counts[cell + j] += weights[i] * stencil[j]


@njit(cache=True, error_model="numpy")
def node_positions(grid: Grid) -> Array:
    """Return (N,) the scores at which the nodes of a grid stand."""
    return grid.low + (np.arange(grid.n_nodes) - _BEFORE) * grid.h


@njit(cache=True, error_model="numpy", fastmath={"contract"})
def gather(scores: Array, members: Array, grid: Grid, potential: Array, factor: float, result: Array) -> None:
    """Add to ``result[members]`` the value of ``potential`` (N,) at each member's score, times ``factor``."""
    weights = np.empty(STENCIL)
    for member in members:
        cell = _find(scores[member], grid, weights)
        total = 0.0
        for j in range(STENCIL):
            total += weights[j] * potential[cell + j]
        result[member] += factor * total


@njit(cache=True, error_model="numpy", fastmath={"contract", "reassoc", "nsz"})
def correlate(table: Array, counts: Array, result: Array) -> None:
    """Write ``result_k = Σ_i table_{k+i} counts_i`` to ``result``, all three for N nodes: ``table`` is (2N − 1,).

    It holds a function of the differences of nodes, from ``−(N−1) h`` to ``(N−1) h``. Given the counts of documents by
    node from the last node to the first, ``result_k`` is what a document at node k sees of them, Σ_l f(x_k − x_l);
    given them from the first to the last, ``result_{N−1−l}`` is what those see of a document at node l.
    """
    n = len(counts)
    for k in range(n):
        window = table[k : k + n]
        total = 0.0
        for i in range(n):
            total += window[i] * counts[i]
        result[k] = total

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

from __future__ import annotations

import numpy as np
from numba import njit

STENCIL = 12
"""Nodes that carry one score. With twelve, halving the spacing divides the error by 4,000."""

_BEFORE = STENCIL // 2 - 1  # nodes of a stencil before the cell that holds the score
# 1 / Π_{i≠j} (j − i): the constant factor of the j-th Lagrange polynomial on nodes 0 … STENCIL − 1.
_FACTOR = np.array([1.0 / np.prod([j - i for i in range(STENCIL) if i != j]) for j in range(STENCIL)])

# Interpolating a function whose nearest singularity is at distance π (all logistic-like ones: 1 + e^x = 0 at x = iπ)
# leaves an error near (h/π)^12 · Π(j − ½)² · 2/12 ≈ 4,400 (h/π)^12, and four times that in its derivative. The rest
# is a margin for the sums' cancellations; the tests measure what is left of it.
_ERROR_CONSTANT = 4.0e5


def spacing(tolerance: float) -> float:
    """Distance of grid nodes, in units of the logistic function's own scale, for a relative error of ``tolerance``."""
    if not 1e-13 <= tolerance <= 1e-2:
        raise ValueError(f"tolerance must be between 1e-13 and 1e-2; got {tolerance}")
    return float(np.pi * (tolerance / _ERROR_CONSTANT) ** (1.0 / STENCIL))


@njit(cache=True, error_model="numpy")
def count_nodes(span: float, h: float) -> int:
    """Nodes of a grid of spacing ``h`` under scores that span ``span``."""
    return int(span / h) + STENCIL


@njit(cache=True, error_model="numpy")
def grid_is_cheaper(n: int, n_pairs: float, n_grades: int, n_nodes: int, per_pair: float) -> bool:
    """Whether ``n`` documents in ``n_grades`` are summed faster on a grid than pair by pair.

    The weights are rough costs in nanoseconds: a pair (``per_pair``, which depends on the loss); a document spread or
    gathered five times; a pair of nodes in each grade's passes; a table entry. They only steer: both ways give the same
    answer.
    """
    return per_pair * n_pairs > 150.0 * n + 1.0 * n_grades * n_nodes * n_nodes + 60.0 * n_nodes


@njit(error_model="numpy", fastmath={"contract"})
def _stencil(u: float, weights: np.ndarray) -> None:
    """Lagrange weights, on nodes 0 … STENCIL − 1, of the point ``_BEFORE + u`` with 0 ≤ u < 1."""
    x = u + _BEFORE
    product = 1.0
    for j in range(STENCIL):
        weights[j] = product * _FACTOR[j]
        product *= x - j
    product = 1.0
    for j in range(STENCIL - 1, -1, -1):
        weights[j] *= product
        product *= x - j


@njit(cache=True, error_model="numpy", fastmath={"contract"})
def spread(scores: np.ndarray, members: np.ndarray, low: float, h: float, grid: np.ndarray) -> None:
    """Add to ``grid`` (N,) the stencils of ``scores[members]``, a grid whose first score is ``low``."""
    weights = np.empty(STENCIL)
    for member in members:
        t = (float(scores[member]) - low) / h
        cell = int(t)
        _stencil(t - cell, weights)
        for j in range(STENCIL):
            grid[cell + j] += weights[j]


@njit(cache=True, error_model="numpy", fastmath={"contract"})
def spread_weighted(values: np.ndarray, weights: np.ndarray, low: float, h: float, grid: np.ndarray) -> None:
    """Add to ``grid`` (N,) the stencils of all ``values``, each times its weight."""
    stencil = np.empty(STENCIL)
    for i in range(len(values)):
        t = (values[i] - low) / h
        cell = int(t)
        _stencil(t - cell, stencil)
        for j in range(STENCIL):
            grid[cell + j] += weights[i] * stencil[j]


@njit(cache=True, error_model="numpy")
def node_positions(low: float, h: float, n_nodes: int) -> np.ndarray:
    """The scores at which the nodes of a grid stand, (N,)."""
    return low + (np.arange(n_nodes) - _BEFORE) * h


@njit(cache=True, error_model="numpy", fastmath={"contract"})
def gather(
    scores: np.ndarray,
    members: np.ndarray,
    low: float,
    h: float,
    potential: np.ndarray,
    factor: float,
    result: np.ndarray,
) -> None:
    """Add to ``result[members]`` the value of ``potential`` (N,) at each member's score, times ``factor``."""
    weights = np.empty(STENCIL)
    for member in members:
        t = (float(scores[member]) - low) / h
        cell = int(t)
        _stencil(t - cell, weights)
        total = 0.0
        for j in range(STENCIL):
            total += weights[j] * potential[cell + j]
        result[member] += factor * total


@njit(cache=True, error_model="numpy", fastmath={"contract", "reassoc", "nsz"})
def above_potential(table: np.ndarray, lower: np.ndarray, result: np.ndarray) -> None:
    """``result_k = Σ_l table(x_k − x_l) lower_l``: what a document at node k sees of the documents below it.

    ``table`` holds a function at the 2N − 1 differences of nodes, from ``−(N−1) h`` to ``(N−1) h``.
    """
    n = len(lower)
    backwards = lower[::-1].copy()
    for k in range(n):
        window = table[k : k + n]  # table(x_k − x_{n−1}) … table(x_k − x_0)
        total = 0.0
        for i in range(n):
            total += window[i] * backwards[i]
        result[k] = total


@njit(cache=True, error_model="numpy", fastmath={"contract", "reassoc", "nsz"})
def below_potential(table: np.ndarray, upper: np.ndarray, result: np.ndarray) -> None:
    """``result_l = Σ_k table(x_k − x_l) upper_k``: what a document at node l sees of the documents above it."""
    n = len(upper)
    for position in range(n):
        window = table[n - 1 - position : 2 * n - 1 - position]
        total = 0.0
        for k in range(n):
            total += window[k] * upper[k]
        result[position] = total

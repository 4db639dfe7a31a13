"""Sums of a smooth function of score differences over the pairs that grades make, in linear time.

The documents of a query are listed in ``order``, best grade first; grade ``g`` holds
``order[bounds[g]:bounds[g + 1]]``. Functions come as tables over the differences of a grid's nodes
(:mod:`podium.numerics.pairs.grid`), so one routine serves every pairwise loss.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from podium.numerics.pairs.grid import above_potential, below_potential, gather, spread


@njit(cache=True, error_model="numpy")
def node_differences(n_nodes: int, h: float) -> np.ndarray:
    """The 2N − 1 differences of N nodes, ascending: where tables are to be filled in."""
    return (np.arange(2 * n_nodes - 1) - (n_nodes - 1)) * h


@njit(cache=True, error_model="numpy")
def pair_histogram(
    scores: np.ndarray, order: np.ndarray, bounds: np.ndarray, low: float, h: float, n_nodes: int
) -> np.ndarray:
    """How many pairs (better, worse) lie at each node difference, (2N − 1,): their stencils, not rounded counts."""
    counts = np.zeros(2 * n_nodes - 1)
    lower = np.zeros(n_nodes)
    for g in range(len(bounds) - 3, -1, -1):
        spread(scores, order[bounds[g + 1] : bounds[g + 2]], low, h, lower)
        upper = np.zeros(n_nodes)
        spread(scores, order[bounds[g] : bounds[g + 1]], low, h, upper)
        backwards = lower[::-1].copy()
        for k in range(n_nodes):
            if upper[k] != 0.0:
                window = counts[k : k + n_nodes]
                for i in range(n_nodes):
                    window[i] += upper[k] * backwards[i]
    return counts


@njit(cache=True, error_model="numpy")
def add_pair_gradient(
    scores: np.ndarray,
    order: np.ndarray,
    bounds: np.ndarray,
    low: float,
    h: float,
    slope: np.ndarray,
    result: np.ndarray,
) -> None:
    """Add the gradient of ``Σ f(s_better − s_worse)`` to ``result``, given the table ``slope`` of f′."""
    n_nodes = (len(slope) + 1) // 2
    potential = np.empty(n_nodes)
    lower = np.zeros(n_nodes)
    for g in range(len(bounds) - 3, -1, -1):
        spread(scores, order[bounds[g + 1] : bounds[g + 2]], low, h, lower)
        above_potential(slope, lower, potential)
        gather(scores, order[bounds[g] : bounds[g + 1]], low, h, potential, 1.0, result)
    upper = np.zeros(n_nodes)
    for g in range(1, len(bounds) - 1):
        spread(scores, order[bounds[g - 1] : bounds[g]], low, h, upper)
        below_potential(slope, upper, potential)
        gather(scores, order[bounds[g] : bounds[g + 1]], low, h, potential, -1.0, result)


@njit(cache=True, error_model="numpy")
def tie_histogram(
    scores: np.ndarray, order: np.ndarray, bounds: np.ndarray, low: float, h: float, n_nodes: int
) -> np.ndarray:
    """How many unordered pairs of equal grade lie at each node difference, (2N − 1,), half on either side of zero."""
    counts = np.zeros(2 * n_nodes - 1)
    for g in range(len(bounds) - 1):
        members = order[bounds[g] : bounds[g + 1]]
        if len(members) < 2:
            continue
        grid = np.zeros(n_nodes)
        spread(scores, members, low, h, grid)
        backwards = grid[::-1].copy()
        for k in range(n_nodes):
            if grid[k] != 0.0:
                window = counts[k : k + n_nodes]
                for i in range(n_nodes):
                    window[i] += 0.5 * grid[k] * backwards[i]
        counts[n_nodes - 1] -= 0.5 * len(members)  # a document is not tied with itself
    return counts


@njit(cache=True, error_model="numpy")
def add_tie_gradient(
    scores: np.ndarray,
    order: np.ndarray,
    bounds: np.ndarray,
    low: float,
    h: float,
    slope: np.ndarray,
    result: np.ndarray,
) -> None:
    """Add the gradient of ``Σ_{i<j} f(s_i − s_j)`` over pairs of equal grade, ``f`` even, given the table of f′."""
    n_nodes = (len(slope) + 1) // 2
    potential = np.empty(n_nodes)
    for g in range(len(bounds) - 1):
        members = order[bounds[g] : bounds[g + 1]]
        if len(members) < 2:
            continue
        grid = np.zeros(n_nodes)
        spread(scores, members, low, h, grid)
        above_potential(slope, grid, potential)
        gather(scores, members, low, h, potential, 1.0, result)

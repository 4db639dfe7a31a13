"""Sums of a smooth function of score differences over the pairs that grades make, in linear time.

Functions come as tables over the differences of a grid's nodes (:mod:`podium.numerics.pairs.grid`), so one routine
serves every pairwise loss.
"""

from typing import NamedTuple

import numpy as np

from podium.numerics.compiling import njit
from podium.numerics.pairs.grid import Grid, correlate, gather, spread


class GradedList(NamedTuple):
    """The documents of one query by grade."""

    scores: np.ndarray
    order: np.ndarray
    """The documents, best grade first."""
    bounds: np.ndarray
    """Grade g holds ``order[bounds[g]:bounds[g + 1]]``."""


@njit(nogil=True, error_model="numpy", inline="always")
def _members(one: GradedList, g: int) -> np.ndarray:
    return one.order[one.bounds[g] : one.bounds[g + 1]]


@njit(cache=True, error_model="numpy")
def node_differences(grid: Grid) -> np.ndarray:
    """Return the 2N − 1 differences of N nodes, ascending: where tables are to be filled in."""
    return (np.arange(2 * grid.n_nodes - 1) - (grid.n_nodes - 1)) * grid.h


@njit(cache=True, error_model="numpy")
def pair_histogram(one: GradedList, grid: Grid) -> np.ndarray:
    """Return how many pairs (better, worse) lie at each node difference, (2N − 1,): stencils, not rounded counts."""
    counts = np.zeros(2 * grid.n_nodes - 1)
    lower = np.zeros(grid.n_nodes)
    for g in range(len(one.bounds) - 3, -1, -1):
        spread(one.scores, _members(one, g + 1), grid, lower)
        upper = np.zeros(grid.n_nodes)
        spread(one.scores, _members(one, g), grid, upper)
        _add_differences(upper, lower, 1.0, counts)
    return counts


@njit(error_model="numpy")
def _add_differences(upper: np.ndarray, lower: np.ndarray, factor: float, counts: np.ndarray) -> None:
    """Add ``factor`` times the product of the counts of two nodes to that of their difference."""
    backwards = lower[::-1].copy()
    for k in range(len(upper)):
        if upper[k] != 0.0:
            window = counts[k : k + len(upper)]
            for i in range(len(upper)):
                window[i] += factor * upper[k] * backwards[i]


@njit(cache=True, error_model="numpy")
def add_pair_gradient(one: GradedList, grid: Grid, slope: np.ndarray, result: np.ndarray) -> None:
    """Add the gradient of ``Σ f(s_better − s_worse)`` to ``result``, given the table ``slope`` of f′."""
    potential, lower, upper = np.empty(grid.n_nodes), np.zeros(grid.n_nodes), np.zeros(grid.n_nodes)
    for g in range(len(one.bounds) - 3, -1, -1):
        spread(one.scores, _members(one, g + 1), grid, lower)
        correlate(slope, lower[::-1].copy(), potential)
        gather(one.scores, _members(one, g), grid, potential, 1.0, result)
    for g in range(1, len(one.bounds) - 1):
        spread(one.scores, _members(one, g - 1), grid, upper)
        correlate(slope, upper, potential)
        gather(one.scores, _members(one, g), grid, potential[::-1].copy(), -1.0, result)


@njit(cache=True, error_model="numpy")
def tie_histogram(one: GradedList, grid: Grid) -> np.ndarray:
    """Return how many unordered pairs of equal grade lie at each node difference, half on either side of zero."""
    counts = np.zeros(2 * grid.n_nodes - 1)
    for g in range(len(one.bounds) - 1):
        members = _members(one, g)
        if len(members) > 1:
            here = np.zeros(grid.n_nodes)
            spread(one.scores, members, grid, here)
            _add_differences(here, here, 0.5, counts)
            counts[grid.n_nodes - 1] -= 0.5 * len(members)  # a document is not tied with itself
    return counts


@njit(cache=True, error_model="numpy")
def add_tie_gradient(one: GradedList, grid: Grid, slope: np.ndarray, result: np.ndarray) -> None:
    """Add the gradient of ``Σ_{i<j} f(s_i − s_j)`` over pairs of equal grade, ``f`` even, given the table of f′."""
    potential = np.empty(grid.n_nodes)
    for g in range(len(one.bounds) - 1):
        members = _members(one, g)
        if len(members) > 1:
            here = np.zeros(grid.n_nodes)
            spread(one.scores, members, grid, here)
            correlate(slope, here[::-1].copy(), potential)
            gather(one.scores, members, grid, potential, 1.0, result)

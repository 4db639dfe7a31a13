"""Sums over the terms of StructRank's network, for graded lists and for given edges, with their derivatives.

Each function adds the derivative with respect to the scores to ``result`` and that with respect to w1 and w2 to
``d_parameters``, and returns the sum and the number (or total weight) of its terms; see
:mod:`podium.losses.structrank.loss`.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from podium.losses.structrank.order_graph import count_edges, edge_at
from podium.numerics.elementary import FAST, exp, extent, log
from podium.numerics.pairs.graded import add_pair_gradient, node_differences, pair_histogram
from podium.numerics.pairs.grid import count_nodes, gather, grid_is_cheaper, node_positions, spread_weighted


@njit(fastmath=FAST, error_model="numpy")
def _term(a: float, b: float) -> tuple[float, float, float]:
    """``log(1 + e^a + e^b)`` and its two derivatives."""
    top = max(max(a, b), 0.0)
    one, of_a, of_b = exp(-top), exp(a - top), exp(b - top)
    total = one + of_a + of_b
    share = 1.0 / total
    return top + log(total), of_a * share, of_b * share


@njit(fastmath=FAST, error_model="numpy")
def _all_pairs(
    r: np.ndarray, count: np.ndarray, w1: float, w2: float, slope: np.ndarray, d_parameters: np.ndarray
) -> float:
    """``Σ_kl count_k count_l ℓ(r_k, r_l)`` over margins that occur ``count`` times, an edge with itself included.

    ``slope`` receives the derivative with respect to the margin of one edge at each r.
    """
    n = len(r)
    slope[:] = 0.0
    value, of_w1, of_w2 = 0.0, 0.0, 0.0
    for k in range(n):
        a = -w1 * r[k]
        row, first, own = 0.0, 0.0, 0.0
        for i in range(n):
            f, of_a, of_b = _term(a, -w2 * r[i])
            row += count[i] * f
            first += count[i] * of_a
            second = count[k] * of_b
            slope[i] -= w2 * second
            own += count[i] * r[i] * second
        slope[k] -= w1 * first
        value += count[k] * row
        of_w1 -= count[k] * r[k] * first
        of_w2 -= own
    d_parameters[0] += of_w1
    d_parameters[1] += of_w2
    return value


@njit(fastmath=FAST, error_model="numpy")
def _with_itself(
    r: np.ndarray, count: np.ndarray, w1: float, w2: float, slope: np.ndarray, d_parameters: np.ndarray
) -> float:
    """``Σ_k count_k ℓ(r_k, r_k)``; ``slope`` receives the derivative of one term."""
    value = 0.0
    for k in range(len(r)):
        f, of_a, of_b = _term(-w1 * r[k], -w2 * r[k])
        value += count[k] * f
        slope[k] = -(w1 * of_a + w2 * of_b)
        d_parameters[0] -= count[k] * r[k] * of_a
        d_parameters[1] -= count[k] * r[k] * of_b
    return value


@njit(error_model="numpy")
def _distinct_pairs(
    r: np.ndarray,
    count: np.ndarray,
    squared: np.ndarray,
    w1: float,
    w2: float,
    slope: np.ndarray,
    own_slope: np.ndarray,
    d_parameters: np.ndarray,
) -> float:
    """The sum over ordered pairs of distinct edges: all pairs, less each edge with itself.

    ``squared`` is the sum of squared weights at each margin, which equals ``count`` where all weights are 1. An edge of
    weight ω at node k then has the margin derivative ``ω slope_k − ω² own_slope_k``.
    """
    itself = np.zeros(2)
    value = _all_pairs(r, count, w1, w2, slope, d_parameters)
    value -= _with_itself(r, squared, w1, w2, own_slope, itself)
    d_parameters[0] -= itself[0]
    d_parameters[1] -= itself[1]
    return value


@njit(error_model="numpy")
def graded_full(
    scores: np.ndarray,
    order: np.ndarray,
    bounds: np.ndarray,
    w1: float,
    w2: float,
    h: float,
    result: np.ndarray,
    d_parameters: np.ndarray,
) -> tuple[float, float]:
    """All pairs of edges of a graded list: their sum and their number."""
    n_edges = count_edges(bounds)
    if n_edges < 2:
        return 0.0, 0.0
    low, high = extent(scores)
    n_nodes = count_nodes(float(high) - float(low), h)
    if n_edges < 2 * n_nodes - 1:  # fewer edges than grid nodes: take the edges themselves
        winner, loser = np.empty(n_edges, np.int64), np.empty(n_edges, np.int64)
        for e in range(n_edges):
            winner[e], loser[e] = edge_at(order, bounds, e)
        return edges_full(scores, winner, loser, np.ones(n_edges), w1, w2, h, result, d_parameters)
    r = node_differences(n_nodes, h)
    count = pair_histogram(scores, order, bounds, float(low), h, n_nodes)
    slope, own_slope = np.empty(len(r)), np.empty(len(r))
    value = _distinct_pairs(r, count, count, w1, w2, slope, own_slope, d_parameters)
    add_pair_gradient(scores, order, bounds, float(low), h, slope - own_slope, result)
    return value, float(n_edges) * (n_edges - 1.0)


@njit(error_model="numpy")
def edges_full(
    scores: np.ndarray,
    winner: np.ndarray,
    loser: np.ndarray,
    weight: np.ndarray,
    w1: float,
    w2: float,
    h: float,
    result: np.ndarray,
    d_parameters: np.ndarray,
) -> tuple[float, float]:
    """All pairs of the given edges: their sum and their total weight."""
    n_edges = len(winner)
    if n_edges < 2:
        return 0.0, 0.0
    margin, total, squared = np.empty(n_edges), 0.0, 0.0
    for e in range(n_edges):
        margin[e] = float(scores[winner[e]]) - float(scores[loser[e]])
        total += weight[e]
        squared += weight[e] * weight[e]
    low = margin.min()
    n_nodes = count_nodes(margin.max() - low, h)
    slope, own_slope = np.zeros(n_edges), np.zeros(n_edges)
    if n_edges <= n_nodes:
        value = _distinct_pairs(margin, weight, weight * weight, w1, w2, slope, own_slope, d_parameters)
    else:
        everyone = np.arange(n_edges)
        count, count_squared = np.zeros(n_nodes), np.zeros(n_nodes)
        spread_weighted(margin, weight, low, h, count)
        spread_weighted(margin, weight * weight, low, h, count_squared)
        node_slope, node_own = np.empty(n_nodes), np.empty(n_nodes)
        r = node_positions(low, h, n_nodes)
        value = _distinct_pairs(r, count, count_squared, w1, w2, node_slope, node_own, d_parameters)
        gather(margin, everyone, low, h, node_slope, 1.0, slope)
        gather(margin, everyone, low, h, node_own, 1.0, own_slope)
    for e in range(n_edges):
        of_margin = weight[e] * slope[e] - weight[e] * weight[e] * own_slope[e]
        result[winner[e]] += of_margin
        result[loser[e]] -= of_margin
    return value, total * total - squared


@njit(error_model="numpy")
def _add_logistic(
    scores: np.ndarray, i: int, j: int, weight: float, w1: float, result: np.ndarray, d_parameters: np.ndarray
) -> float:
    """One preference by itself, log(1 + e^{−w1 r})."""
    r = float(scores[i]) - float(scores[j])
    f, of_a, _ = _term(-w1 * r, -np.inf)
    result[i] -= weight * w1 * of_a
    result[j] += weight * w1 * of_a
    d_parameters[0] -= weight * r * of_a
    return weight * f


@njit(error_model="numpy")
def graded_none(
    scores: np.ndarray,
    order: np.ndarray,
    bounds: np.ndarray,
    w1: float,
    h: float,
    result: np.ndarray,
    d_parameters: np.ndarray,
) -> tuple[float, float]:
    """Every edge of a graded list by itself: the sum and the number of edges."""
    n_edges = count_edges(bounds)
    low, high = extent(scores)
    n_nodes = count_nodes(float(high) - float(low), h)
    value = 0.0
    if grid_is_cheaper(len(scores), float(n_edges), len(bounds) - 1, n_nodes, 10.0):
        r = node_differences(n_nodes, h)
        count = pair_histogram(scores, order, bounds, float(low), h, n_nodes)
        slope = np.empty(len(r))
        for k in range(len(r)):
            f, of_a, _ = _term(-w1 * r[k], -np.inf)
            value += count[k] * f
            slope[k] = -w1 * of_a
            d_parameters[0] -= count[k] * r[k] * of_a
        add_pair_gradient(scores, order, bounds, float(low), h, slope, result)
        return value, float(n_edges)
    for g in range(len(bounds) - 2):
        for better in order[bounds[g] : bounds[g + 1]]:
            for worse in order[bounds[g + 1] :]:
                value += _add_logistic(scores, better, worse, 1.0, w1, result, d_parameters)
    return value, float(n_edges)


@njit(error_model="numpy")
def edges_none(
    scores: np.ndarray,
    winner: np.ndarray,
    loser: np.ndarray,
    weight: np.ndarray,
    w1: float,
    result: np.ndarray,
    d_parameters: np.ndarray,
) -> tuple[float, float]:
    """Every given edge by itself: the sum and the total weight."""
    value = 0.0
    for e in range(len(winner)):
        value += _add_logistic(scores, winner[e], loser[e], weight[e], w1, result, d_parameters)
    return value, weight.sum()


@njit(error_model="numpy")
def drawn_terms(
    scores: np.ndarray,
    documents: np.ndarray,
    weight: np.ndarray,
    w1: float,
    w2: float,
    result: np.ndarray,
    d_parameters: np.ndarray,
) -> tuple[float, float]:
    """The terms that were drawn: their sum and total weight."""
    value = 0.0
    for t in range(len(weight)):
        i, j, k, l = documents[t, 0], documents[t, 1], documents[t, 2], documents[t, 3]  # noqa: E741
        r, other = float(scores[i]) - float(scores[j]), float(scores[k]) - float(scores[l])
        f, of_a, of_b = _term(-w1 * r, -w2 * other)
        value += weight[t] * f
        result[i] -= weight[t] * w1 * of_a
        result[j] += weight[t] * w1 * of_a
        result[k] -= weight[t] * w2 * of_b
        result[l] += weight[t] * w2 * of_b
        d_parameters[0] -= weight[t] * r * of_a
        d_parameters[1] -= weight[t] * other * of_b
    return value, weight.sum()

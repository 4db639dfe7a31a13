"""StructRank: the joint probability of all preferences of a list, as a cumulative distribution network.

Every pair of documents with y_i > y_j is an edge e with margin r_e = s_i − s_j. The probability that all preferences
hold is a product of bivariate functions over connected pairs of edges,

    φ(r, r′) = 1 / (1 + e^{−w1 r} + e^{−w2 r′}),      w1, w2 > 0 learned,
    L = mean over connected (e, e′) of  log(1 + e^{−w1 r_e} + e^{−w2 r_e′}).

``full`` connects every ordered pair of distinct edges, ``random`` each edge with a few random others, ``none`` leaves
the edges alone: one logistic term each, which with w1 = 1 is RankNet.

Huang & Frey, "Structured ranking learning using cumulative distribution networks", NIPS 2008. There, ``full`` costs the
fourth power of the list's length. Here the edges' margins are put on a grid (:mod:`podium.solvers.graded_pairs`), and
the sum runs over pairs of grid nodes: linear in the list's length.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from podium.data.preferences import Preferences
from podium.losses.base import Loss
from podium.losses.order_graph import OrderGraph, Terms, count_edges, draw_terms, edge_at, order_graph
from podium.parameters import choose
from podium.solvers.elementary import FAST, all_finite, exp, extent, log
from podium.solvers.graded_pairs import add_pair_gradient, node_differences, pair_histogram
from podium.solvers.pair_grid import (
    count_nodes,
    gather,
    grid_is_cheaper,
    node_positions,
    spacing,
    spread_weighted,
)
from podium.solvers.random import streams

_FULL, _NONE, _RANDOM = 0, 1, 2
_TOPOLOGIES = ("full", "none", "random")
_SMALLEST_WEIGHT = 1e-12  # of w1 and w2, where the grid's spacing is divided by them


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
def _graded_full(
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
        return _edges_full(scores, winner, loser, np.ones(n_edges), w1, w2, h, result, d_parameters)
    r = node_differences(n_nodes, h)
    count = pair_histogram(scores, order, bounds, float(low), h, n_nodes)
    slope, own_slope = np.empty(len(r)), np.empty(len(r))
    value = _distinct_pairs(r, count, count, w1, w2, slope, own_slope, d_parameters)
    add_pair_gradient(scores, order, bounds, float(low), h, slope - own_slope, result)
    return value, float(n_edges) * (n_edges - 1.0)


@njit(error_model="numpy")
def _edges_full(
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
def _graded_none(
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
def _edges_none(
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
def _drawn_terms(
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


@njit(error_model="numpy")
def structrank(
    scores: np.ndarray,
    prepared: Any,
    q: int,
    start: int,
    parameters: np.ndarray,
    gradient: np.ndarray,
    curvature: np.ndarray,
    d_parameters: np.ndarray,
) -> float:
    # Numba's parallel loops take flat tuples only: an order graph, drawn terms and settings, one after another.
    order, bounds, first_bound, winner, loser, weight, first_edge = prepared[:7]
    documents, term_weight, first_term, topology, logistic_spacing, normalize = prepared[7:]
    if not all_finite(scores):
        return np.nan  # the caller says which query it is
    n = len(scores)
    w1, w2 = (parameters[0], parameters[1]) if len(parameters) > 0 else (1.0, 1.0)
    h = logistic_spacing / max(w1, w2 if topology == _FULL else w1, _SMALLEST_WEIGHT)
    result, d_weights = np.zeros(n), np.zeros(2)
    if topology == _RANDOM:
        here = slice(first_term[q], first_term[q + 1])
        value, total = _drawn_terms(scores, documents[here], term_weight[here], w1, w2, result, d_weights)
    elif len(first_edge) > 0:
        here = slice(first_edge[q], first_edge[q + 1])
        if topology == _FULL:
            value, total = _edges_full(scores, winner[here], loser[here], weight[here], w1, w2, h, result, d_weights)
        else:
            value, total = _edges_none(scores, winner[here], loser[here], weight[here], w1, result, d_weights)
    else:
        grades = bounds[first_bound[q] : first_bound[q + 1]]
        if topology == _FULL:
            value, total = _graded_full(scores, order[start : start + n], grades, w1, w2, h, result, d_weights)
        else:
            value, total = _graded_none(scores, order[start : start + n], grades, w1, h, result, d_weights)
    scale = 0.0 if total == 0.0 else 1.0 / total if normalize else 1.0
    for i in range(n):
        gradient[i] = result[i] * scale
    for p in range(len(d_parameters)):
        d_parameters[p] = d_weights[p] * scale
    return value * scale


class StructRankLoss(Loss):
    """Cumulative distribution network over the preferences of a list.

    Parameters
    ----------
    topology : {"full", "none", "random"}
        Which pairs of edges are connected: all, none (one logistic term per edge) or ``neighbours`` random others of
        each.
    normalize : bool
        Average over the query's terms (the default), so that long lists do not dominate, or add them up.
    tolerance : float
        Relative error allowed in value and gradient where ``full`` and ``none`` are summed on a grid.
    learn_weights : bool
        Learn w1 and w2 (the default), or keep both at 1. A scorer whose scores can be scaled at will, such as a linear
        one, does not need them: they would only undo its penalty.
    neighbours, draws : int
        For ``random``: each edge is joined to ``neighbours`` others, ``draws`` times over; drawn anew in each epoch.
    most_terms : int
        For ``random``: at most this many terms per document; longer lists get a sample of the edges.
    random_state : int

    The loss has two parameters of its own, w1 and w2, both positive, that start at 1. Labels are grades, or
    :class:`podium.Preferences`. A list with fewer than two edges has no pair of them: under ``full`` and ``random``
    it contributes 0.

    Examples
    --------
    Two edges (document 0 over 1 and over 2) at equal scores: both terms are log 3.

    >>> v = StructRankLoss().value_and_gradient([0.0, 0.0, 0.0], [1, 0, 0], [0, 3])
    >>> round(v.value, 6), v.d_scores.round(6).tolist()
    (1.098612, [-0.666667, 0.333333, 0.333333])
    """

    kernel = structrank
    convex = True
    accepts_preferences = True
    cost = "n"

    def __init__(
        self,
        topology: str = "full",
        normalize: bool = True,
        tolerance: float = 1e-6,
        learn_weights: bool = True,
        neighbours: int = 5,
        draws: int = 3,
        most_terms: int = 64,
        random_state: int = 0,
    ) -> None:
        self.topology = topology
        self.normalize = normalize
        self.tolerance = tolerance
        self.learn_weights = learn_weights
        self.neighbours = neighbours
        self.draws = draws
        self.most_terms = most_terms
        self.random_state = random_state

    def initial_parameters(self) -> np.ndarray:
        return np.ones(2 if self.learn_weights else 0)

    def parameter_bounds(self) -> list[tuple[float | None, float | None]]:
        return [(1e-6, None)] * self.n_parameters

    def prepare(self, labels: np.ndarray | Preferences, offsets: np.ndarray) -> tuple[Any, ...]:
        choose("topology", self.topology, _TOPOLOGIES)
        graph = order_graph(labels, offsets)
        settings = (_TOPOLOGIES.index(self.topology), spacing(self.tolerance), self.normalize)
        return (*graph, *self._terms(graph, offsets, 0), *settings)

    def prepare_epoch(
        self, prepared: tuple[Any, ...], labels: np.ndarray | Preferences, offsets: np.ndarray, epoch: int
    ) -> tuple[Any, ...]:
        if self.topology != "random":
            return prepared
        graph = OrderGraph(*prepared[:7])
        return (*graph, *self._terms(graph, offsets, epoch), *prepared[10:])

    def _terms(self, graph: OrderGraph, offsets: np.ndarray, epoch: int) -> Terms:
        most = self.most_terms if self.topology == "random" else 0
        seeds = streams(self.random_state, epoch, len(offsets) - 1)
        return draw_terms(graph, offsets, self.neighbours, self.draws, most, seeds)

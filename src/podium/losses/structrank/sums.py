"""Sums over the terms of StructRank's network, for graded lists and for given edges, with their derivatives.

Each function adds derivatives to ``out`` and returns the sum and the number (or total weight) of its terms; see
:mod:`podium.losses.structrank.loss`.
"""

from functools import cache
from typing import Any, NamedTuple

import numpy as np

from podium.losses.given_pairs import SomeEdges
from podium.numerics.calls import call_on_arrays, lay_all, routine
from podium.numerics.compiling import Array, Kernel, njit, unbound, with_globals
from podium.numerics.elementary import FAST, exp, log
from podium.numerics.grades import unequal_pairs
from podium.numerics.pairs.crossing import crossing, new_points
from podium.numerics.pairs.graded import GradedList, add_pair_gradient, node_differences, pair_histogram
from podium.numerics.pairs.graded_crossing import call_over_grades, crossing_cost
from podium.numerics.pairs.grid import Grid, gather, grid_cost, grid_under, node_positions, spread_weighted
from podium.numerics.sorting import descending

_NS_PER_MARGIN = 300.0  # that a margin takes, sorted and summed


class Weights(NamedTuple):
    """The network's parameters."""

    w1: float
    w2: float
    correlation: float
    """The correlation of Gaussian functions; sigmoids have none."""


class Slopes(NamedTuple):
    """Derivatives, to be added to."""

    scores: Array
    weights: Array
    """(2,) with respect to w1 and w2."""
    work: Array
    """(1,) how many operations it took, roughly: for tests of the cost."""


class PairSums(NamedTuple):
    """A sum over pairs of edges: an edge of weight ω at k has the margin derivative ``ω slope_k − ω² own_slope_k``."""

    value: float
    slope: Array
    own_slope: Array


@njit(fastmath=FAST, error_model="numpy")
def _term(a: float, b: float) -> tuple[float, float, float]:
    """Return ``log(1 + e^a + e^b)`` and its two derivatives."""
    top = max(max(a, b), 0.0)
    one, of_a, of_b = exp(-top), exp(a - top), exp(b - top)
    total = one + of_a + of_b
    share = 1.0 / total
    return top + log(total), of_a * share, of_b * share


@njit(error_model="numpy")
def _all_pairs(r: Array, count: Array, w: Weights, slope: Array, out: Slopes) -> float:
    """Return ``Σ_kl count_k count_l ℓ(r_k, r_l)`` over margins that occur ``count`` times, each with itself included.

    The margins ascend. ``slope`` receives the derivative with respect to the margin of one edge at each r.

    A term is one of a difference, log(1 + e^a + e^b) = u + log(1 + e^{b − u}) with u = log(1 + e^a), and those have a
    fast sum whatever the range of the margins is.
    """
    n, w1, w2 = len(r), w.w1, w.w2
    u, b, share = np.empty(n), np.empty(n), np.empty(n)
    own, other = np.empty(n), np.empty(n)  # counts of the margins of u and b
    for i in range(n):
        k, l = _place(i, n, w1), _place(i, n, w2)  # noqa: E741
        u[i], share[i], _ = _term(-w1 * r[k], -np.inf)
        b[i], own[i], other[i] = -w2 * r[l], count[k], count[l]
    first, second = new_points(u, own), new_points(b, other)
    value, total, of_all = crossing(first, second, out.work), 0.0, 0.0
    for i in range(n):
        total += count[i]
        of_all += own[i] * u[i]
        slope[i] = 0.0
    value += total * of_all
    for i in range(n):
        k, l = _place(i, n, w1), _place(i, n, w2)  # noqa: E741
        of_a, of_b = share[i] * first.above[i], second.below[i]
        slope[k] -= w1 * of_a
        slope[l] -= w2 * of_b
        out.weights[0] -= count[k] * r[k] * of_a
        out.weights[1] -= count[l] * r[l] * of_b
    return value


@njit(error_model="numpy", inline="always")
def _place(i: int, n: int, w: float) -> int:
    """Return the i-th of n ascending margins in ascending order of −w times the margin."""
    return n - 1 - i if w >= 0.0 else i


@njit(fastmath=FAST, error_model="numpy")
def _with_itself(r: Array, count: Array, w: Weights, slope: Array, d_weights: Array) -> float:
    """Return ``Σ_k count_k ℓ(r_k, r_k)`` and subtract its derivatives; ``slope`` receives that of one term."""
    value = 0.0
    for k in range(len(r)):
        f, of_a, of_b = _term(-w.w1 * r[k], -w.w2 * r[k])
        value += count[k] * f
        slope[k] = -(w.w1 * of_a + w.w2 * of_b)
        d_weights[0] += count[k] * r[k] * of_a
        d_weights[1] += count[k] * r[k] * of_b
    return value


@njit(error_model="numpy")
def _sum_distinct_pairs(model: Any, start: int, stop: int, block: int, sums: Array) -> None:
    r, count, squared, weights, slope, own_slope, d_weights, work = model
    w, out = Weights(weights[0], weights[1], weights[2]), Slopes(slope, d_weights, work)
    sums[0] = _all_pairs(r, count, w, slope, out) - _with_itself(r, squared, w, own_slope, d_weights)


@cache
def distinct_pairs_address() -> int:
    """Return where the sum over pairs of edges is, compiled by itself: within its callers it takes twice the time."""
    return routine(_sum_distinct_pairs, (np.empty(0),) * 8).call.function


@njit(error_model="numpy")
def _distinct_pairs(r: Array, count: Array, squared: Array, w: Weights, pairs: int, out: Slopes) -> PairSums:
    """Sum over ordered pairs of distinct edges: all pairs, less each edge with itself. The margins ascend.

    ``squared`` is the sum of squared weights at each margin, which equals ``count`` where all weights are 1; ``pairs``
    is that of :func:`distinct_pairs_address`, or of another function's sum with the same arrays.
    """
    slope, own_slope, weights, table = np.empty(len(r)), np.empty(len(r)), np.empty(3), np.empty(16, np.int64)
    weights[0], weights[1], weights[2] = w.w1, w.w2, w.correlation
    lay_all(table, (r, count, squared, weights, slope, own_slope, out.weights, out.work))
    value = call_on_arrays(pairs, table)
    return PairSums(value if len(weights) == 3 else np.nan, slope, own_slope)  # always 3; see call_on_arrays


@njit(error_model="numpy")
def graded_full(one: GradedList, w: Weights, h: float, pairs: int, out: Slopes) -> tuple[float, float]:
    """Sum over all pairs of edges of a graded list; their number."""
    n_edges = unequal_pairs(one.bounds)
    if n_edges < 2:
        return 0.0, 0.0
    n, n_grades, grid = len(one.scores), len(one.bounds) - 1, grid_under(one.scores, h)
    on_grid = grid_cost(n, n_grades, grid.n_nodes) + 2.0 * _NS_PER_MARGIN * grid.n_nodes
    if _NS_PER_MARGIN * n_edges < on_grid:  # take the edges themselves
        return edges_full(one.scores, edges_of_grades(one, n_edges), w, h, pairs, out)
    out.work[0] += n_grades * grid.n_nodes * grid.n_nodes
    count = pair_histogram(one, grid)
    value, slope, own_slope = _distinct_pairs(node_differences(grid), count, count, w, pairs, out)
    for k in range(len(slope)):
        slope[k] -= own_slope[k]
    add_pair_gradient(one, grid, slope, out.scores)
    return value, float(n_edges) * (n_edges - 1.0)


@njit(error_model="numpy")
def edges_of_grades(one: GradedList, n_edges: int) -> SomeEdges:
    """Write down the edges of a graded list."""
    winner, loser, e = np.empty(n_edges, np.uint32), np.empty(n_edges, np.uint32), 0
    for g in range(len(one.bounds) - 2):
        for better in one.order[one.bounds[g] : one.bounds[g + 1]]:
            for worse in one.order[one.bounds[g + 1] :]:
                winner[e], loser[e] = better, worse
                e += 1
    return SomeEdges(winner, loser, np.ones(n_edges))


@njit(error_model="numpy")
def edges_full(scores: Array, edges: SomeEdges, w: Weights, h: float, pairs: int, out: Slopes) -> tuple[float, float]:
    """Sum over all pairs of the given edges; their total weight."""
    winner, loser, weight = edges
    n_edges = len(winner)
    if n_edges < 2:
        return 0.0, 0.0
    margin = np.empty(n_edges)
    for e in range(n_edges):
        margin[e] = float(scores[winner[e]]) - float(scores[loser[e]])
    grid = grid_under(margin, h)
    out.work[0] += n_edges
    slope, own_slope = np.zeros(n_edges), np.zeros(n_edges)
    if n_edges <= grid.n_nodes:
        value = _sum_sorted(margin, weight, w, pairs, slope, own_slope, out)
    else:
        value = _sum_on_grid(margin, weight, w, pairs, grid, slope, own_slope, out)
    total, squares = 0.0, 0.0
    for e in range(n_edges):
        of_margin = weight[e] * slope[e] - weight[e] * weight[e] * own_slope[e]
        out.scores[winner[e]] += of_margin
        out.scores[loser[e]] -= of_margin
        total += weight[e]
        squares += weight[e] * weight[e]
    return value, total * total - squares


@njit(error_model="numpy")
def _sum_sorted(
    margin: Array, weight: Array, w: Weights, pairs: int, slope: Array, own_slope: Array, out: Slopes
) -> float:
    """Sum over the pairs of edges with these margins; write each edge's two slopes (see :func:`_distinct_pairs`)."""
    n = len(margin)
    order, turned = np.empty(n, np.uint32), np.empty(n)
    for e in range(n):
        turned[e] = -margin[e]
    descending(turned, order)
    ascending, count, squared = np.empty(n), np.empty(n), np.empty(n)
    for i in range(n):
        e = order[i]
        ascending[i], count[i], squared[i] = margin[e], weight[e], weight[e] * weight[e]
    value, on_margins, own_on_margins = _distinct_pairs(ascending, count, squared, w, pairs, out)
    for i in range(n):
        slope[order[i]], own_slope[order[i]] = on_margins[i], own_on_margins[i]
    return value


@njit(error_model="numpy")
def _sum_on_grid(
    margin: Array, weight: Array, w: Weights, pairs: int, grid: Grid, slope: Array, own_slope: Array, out: Slopes
) -> float:
    """Do the same for margins that are spread over the nodes of a grid; add to the slopes."""
    n = len(margin)
    everyone, squares = np.empty(n, np.int64), np.empty(n)
    for e in range(n):
        everyone[e], squares[e] = e, weight[e] * weight[e]
    count, squared = np.zeros(grid.n_nodes), np.zeros(grid.n_nodes)
    spread_weighted(margin, weight, grid, count)
    spread_weighted(margin, squares, grid, squared)
    value, on_nodes, own_on_nodes = _distinct_pairs(node_positions(grid), count, squared, w, pairs, out)
    gather(margin, everyone, grid, on_nodes, 1.0, slope)
    gather(margin, everyone, grid, own_on_nodes, 1.0, own_slope)
    return value


@njit(error_model="numpy")
def _add_logistic(scores: Array, i: int, j: int, weight: float, w1: float, out: Slopes) -> float:
    """Return the term of one preference by itself, log(1 + e^{−w1 r})."""
    r = float(scores[i]) - float(scores[j])
    f, of_a, _ = _term(-w1 * r, -np.inf)
    out.scores[i] -= weight * w1 * of_a
    out.scores[j] += weight * w1 * of_a
    out.weights[0] -= weight * r * of_a
    return weight * f


@njit(error_model="numpy")
def graded_none(one: GradedList, w1: float, h: float, panels: int, out: Slopes) -> tuple[float, float]:
    """Sum over the edges of a graded list, each by itself; their number.

    ``panels`` is the address of :func:`podium.numerics.pairs.graded_crossing.over_grades`, 0 where lists are short.
    """
    scores, order, bounds = one
    n_edges = unequal_pairs(bounds)
    grid = grid_under(scores, h)
    value = 0.0
    n, n_grades = len(scores), len(bounds) - 1
    by_pairs, by_panels = 10.0 * n_edges, crossing_cost(n, n_grades)
    if grid_cost(n, n_grades, grid.n_nodes) < min(by_pairs, by_panels):
        out.work[0] += n_grades * grid.n_nodes * grid.n_nodes
        r, count = node_differences(grid), pair_histogram(one, grid)
        slope = np.empty(len(r))
        for k in range(len(r)):
            f, of_a, _ = _term(-w1 * r[k], -np.inf)
            value += count[k] * f
            slope[k] = -w1 * of_a
            out.weights[0] -= count[k] * r[k] * of_a
        add_pair_gradient(one, grid, slope, out.scores)
        return value, float(n_edges)
    if by_panels < by_pairs and panels != 0:
        slopes, scaled = np.zeros(n), np.empty(n)
        for i in range(n):
            scaled[i] = w1 * scores[i]
        value = call_over_grades(panels, scaled, order, bounds, slopes, out.work)
        for i in range(n):
            out.scores[i] += w1 * slopes[i]
            out.weights[0] += scores[i] * slopes[i]
        return value, float(n_edges)
    out.work[0] += n_edges
    for g in range(len(bounds) - 2):
        for better in order[bounds[g] : bounds[g + 1]]:
            for worse in order[bounds[g + 1] :]:
                value += _add_logistic(scores, better, worse, 1.0, w1, out)
    return value, float(n_edges)


@njit(error_model="numpy")
def edges_none(scores: Array, edges: SomeEdges, w1: float, out: Slopes) -> tuple[float, float]:
    """Sum over the given edges, each by itself; their total weight."""
    value = 0.0
    for e in range(len(edges.winner)):
        value += _add_logistic(scores, edges.winner[e], edges.loser[e], edges.weight[e], w1, out)
    return value, edges.weight.sum()


@njit(error_model="numpy")
def drawn_terms(scores: Array, documents: Array, weight: Array, w: Weights, out: Slopes) -> tuple[float, float]:
    """Sum over the terms that were drawn; their total weight."""
    value = 0.0
    for t in range(len(weight)):
        i, j, k, l = documents[t, 0], documents[t, 1], documents[t, 2], documents[t, 3]  # noqa: E741
        r, other = float(scores[i]) - float(scores[j]), float(scores[k]) - float(scores[l])
        f, of_a, of_b = _term(-w.w1 * r, -w.w2 * other)
        value += weight[t] * f
        out.scores[i] -= weight[t] * w.w1 * of_a
        out.scores[j] += weight[t] * w.w1 * of_a
        out.scores[k] -= weight[t] * w.w2 * of_b
        out.scores[l] += weight[t] * w.w2 * of_b
        out.weights[0] -= weight[t] * r * of_a
        out.weights[1] -= weight[t] * other * of_b
    return value, weight.sum()


def listed_terms(term: Kernel, name: str) -> Kernel:
    """Return :func:`_listed_terms` for a function of a network: ``term(w1 r, w2 r′, correlation)`` gives −log of it.

    The function also returns its two derivatives.
    """
    copy = with_globals(_listed_terms, term=term)
    copy.__name__ = copy.__qualname__ = f"listed_terms_{name}"  # what is cached of it goes by its name
    return njit(error_model="numpy")(copy)


term: Kernel = unbound


def _listed_terms(model: Any, start: int, stop: int, block: int, sums: Array) -> None:
    """Sum over terms of margins r and r′ (infinite where there is no second edge), each times its weight."""
    r, other, weight, weights, of_r, of_other, d_weights = model
    value = 0.0
    for t in range(len(r)):
        second = other[t] if other[t] == np.inf else weights[1] * other[t]
        f, of_x, of_y = term(weights[0] * r[t], second, weights[2])
        value += weight[t] * f
        of_r[t], of_other[t] = weight[t] * weights[0] * of_x, weight[t] * weights[1] * of_y
        d_weights[0] += weight[t] * r[t] * of_x
        if of_y != 0.0:
            d_weights[1] += weight[t] * other[t] * of_y
    sums[0] = value


@njit(error_model="numpy")
def _sigmoid_term(x: float, y: float, correlation: float) -> tuple[float, float, float]:
    f, of_a, of_b = _term(-x, -y)
    return f, -of_a, 0.0 if y == np.inf else -of_b


_sum_listed_sigmoids = listed_terms(_sigmoid_term, "sigmoid")


@cache
def sigmoid_terms_address() -> int:
    """Return where the sum over listed terms is."""
    return routine(_sum_listed_sigmoids, (np.empty(0),) * 7).call.function

"""Networks of other functions than one sigmoid, and of several: each has weights of its own, and all are multiplied.

Huang & Frey, NIPS 2008, section 6.2: "this could easily be generalized to K functions".
"""

from typing import Any, NamedTuple

import numpy as np

from podium.losses.base import Derivatives, OneList, njit
from podium.losses.given_pairs import SomeEdges, own_edges
from podium.losses.structrank.gaussian import gaussian_pairs_address, gaussian_terms_address
from podium.losses.structrank.sums import (
    Slopes,
    Weights,
    distinct_pairs_address,
    edges_full,
    edges_of_grades,
    graded_full,
    sigmoid_terms_address,
)
from podium.numerics.calls import call_on_arrays, lay_all
from podium.numerics.compiling import Array
from podium.numerics.grades import own_groups, unequal_pairs
from podium.numerics.pairs.graded import GradedList

_SMALLEST_WEIGHT = 1e-12  # where the grid's spacing is divided by it
_ADDRESSES = {
    "sigmoid": (distinct_pairs_address, sigmoid_terms_address),
    "gaussian": (gaussian_pairs_address, gaussian_terms_address),
}
"""Where each function's sum over all pairs of edges is, and where its sum over listed terms."""
FUNCTIONS = tuple(_ADDRESSES)
# The singularity of log Φ next to the real axis is at a distance of 2.8, the logistic function's at π.
_NARROWER = 0.85


class FunctionSettings(NamedTuple):
    """What the kernel needs to know of the loss's parameters."""

    sums: Array
    """(n_functions,) int64: addresses of their sums."""
    kind: int
    """0: full, 1: none, 2: random."""
    spacing: float
    correlation: float
    normalize: bool


def function_settings(
    functions: tuple[str, ...], topology: str, spacing: float, correlation: float, normalize: bool
) -> FunctionSettings:
    """Return the settings of a network of these functions."""
    kind = ("full", "none", "random").index(topology)
    addresses = np.array([_ADDRESSES[name][0 if kind == 0 else 1]() for name in functions], np.int64)
    h = spacing * _NARROWER if "gaussian" in functions else spacing
    return FunctionSettings(addresses, kind, h, correlation, normalize)


@njit(error_model="numpy")
def structrank_functions(given: OneList, prepared: Any, out: Derivatives) -> float:
    """Sum over functions and connected pairs of edges."""
    graph, terms, settings = prepared
    scores, parameters, n = given.scores, given.parameters, len(given.scores)
    slope, work = np.zeros(n), np.zeros(1)
    value, total = 0.0, 0.0
    for k in range(len(settings.sums)):
        w = Weights(1.0, 1.0, settings.correlation)
        if len(parameters) > 0:
            w = Weights(parameters[2 * k], parameters[2 * k + 1], settings.correlation)
        slopes, address = Slopes(slope, np.zeros(2), work), settings.sums[k]
        if settings.kind == 0:
            part, weight = _full(given, graph, w, settings, address, slopes)
        elif settings.kind == 1:
            part, weight = _alone(scores, _edges(given, graph), w, address, slopes)
        else:
            here = slice(terms.first[given.query], terms.first[given.query + 1])
            part, weight = _listed(scores, terms.documents[here], terms.weight[here], w, address, slopes)
        value, total = value + part, total + weight
        for p in range(min(2, len(parameters))):
            out.d_parameters[2 * k + p] = slopes.weights[p]
    scale = 0.0 if total == 0.0 else 1.0 / total if settings.normalize else 1.0
    for i in range(n):
        out.gradient[i] = slope[i] * scale
    for p in range(len(out.d_parameters)):
        out.d_parameters[p] *= scale
    return value * scale


@njit(error_model="numpy")
def _full(
    given: OneList, graph: Any, w: Weights, settings: FunctionSettings, address: int, slopes: Slopes
) -> tuple[float, float]:
    h = settings.spacing / max(w.w1, w.w2, _SMALLEST_WEIGHT)
    if len(graph.edges.first) > 0:
        return edges_full(given.scores, own_edges(graph.edges, given.query), w, h, address, slopes)
    order, bounds = own_groups(graph.groups, given)
    return graded_full(GradedList(given.scores, order, bounds), w, h, address, slopes)


@njit(error_model="numpy")
def _edges(given: OneList, graph: Any) -> SomeEdges:
    """Return the edges of one list, written down."""
    if len(graph.edges.first) > 0:
        return own_edges(graph.edges, given.query)
    order, bounds = own_groups(graph.groups, given)
    return edges_of_grades(GradedList(given.scores, order, bounds), unequal_pairs(bounds))


@njit(error_model="numpy")
def _alone(scores: Array, edges: SomeEdges, w: Weights, address: int, slopes: Slopes) -> tuple[float, float]:
    """Sum over edges, each by itself."""
    documents = np.empty((len(edges.winner), 4), np.uint32)
    documents[:, 0] = edges.winner
    documents[:, 1] = edges.loser
    documents[:, 2] = documents[:, 3] = 0  # no other edge
    return _listed(scores, documents, edges.weight, w, address, slopes)


@njit(error_model="numpy")
def _listed(
    scores: Array, documents: Array, weight: Array, w: Weights, address: int, out: Slopes
) -> tuple[float, float]:
    """Sum over listed terms: i over j, and k over l; there is no second edge where k is l."""
    n = len(weight)
    r, other, weights, table = np.empty(n), np.empty(n), np.empty(3), np.empty(14, np.int64)
    weights[0], weights[1], weights[2] = w.w1, w.w2, w.correlation
    for t in range(n):
        i, j, k, l = documents[t, 0], documents[t, 1], documents[t, 2], documents[t, 3]  # noqa: E741
        r[t] = float(scores[i]) - float(scores[j])
        other[t] = np.inf if k == l else float(scores[k]) - float(scores[l])
    of_r, of_other, weight = np.empty(n), np.empty(n), weight.copy()
    lay_all(table, (r, other, weight, weights, of_r, of_other, out.weights))
    value = call_on_arrays(address, table)
    for t in range(n):
        out.scores[documents[t, 0]] += of_r[t]
        out.scores[documents[t, 1]] -= of_r[t]
        out.scores[documents[t, 2]] += of_other[t]
        out.scores[documents[t, 3]] -= of_other[t]
    return value if len(r) + len(other) + len(weights) >= 3 else np.nan, weight.sum()  # see call_on_arrays

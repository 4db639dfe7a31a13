"""Which documents of a list are preferred to which: by grades, or by explicitly given pairs.

Grades imply up to n²/2 edges; these are never written down, only counted and numbered. Edge ``e`` of a graded list is
found from its number: edges are counted group by group, each member of a grade pointing to every document of the
lower ones.
"""

from typing import NamedTuple

import numpy as np

from podium.data.preferences import Preferences
from podium.losses.given_pairs import Edges, edges_of
from podium.numerics.compiling import njit
from podium.numerics.grades import Groups, count_pairs, label_groups
from podium.numerics.pool import share
from podium.numerics.random import integer


class OrderGraph(NamedTuple):
    """The order graphs of all queries: by grades or by given pairs; the other is empty."""

    groups: Groups
    edges: Edges


def order_graph(labels: np.ndarray | Preferences, offsets: np.ndarray) -> OrderGraph:
    """Return the order graph of each query."""
    no_rows, no_bounds = np.empty(0, np.uint32), np.empty(0, np.int64)
    if isinstance(labels, Preferences):
        return OrderGraph(Groups(no_rows, no_bounds, no_bounds), edges_of(labels.by_query(offsets)))
    return OrderGraph(label_groups(labels, offsets), Edges(no_rows, no_rows, np.empty(0), no_bounds))


@njit(error_model="numpy")
def edge_at(order: np.ndarray, bounds: np.ndarray, e: int) -> tuple[np.int64, np.int64]:
    """Return the better and the worse document of edge number ``e`` of a graded list."""
    for g in range(len(bounds) - 1):
        n_below = bounds[-1] - bounds[g + 1]
        n_here = (bounds[g + 1] - bounds[g]) * n_below
        if e < n_here:
            return np.int64(order[bounds[g] + e // n_below]), np.int64(order[bounds[g + 1] + e % n_below])
        e -= n_here
    return np.int64(-1), np.int64(-1)


class Terms(NamedTuple):
    """Connected pairs of edges, written down: i over j, and k over l."""

    documents: np.ndarray
    """(n_terms, 4) uint32: i, j, k, l, numbered within the query."""
    weight: np.ndarray
    """(n_terms,)"""
    first: np.ndarray
    """(n_queries + 1,): query q has the terms ``first[q]:first[q + 1]``."""


def draw_terms(
    graph: OrderGraph, offsets: np.ndarray, neighbours: int, draws: int, most_per_document: int, streams: np.ndarray
) -> Terms:
    """Join each edge to ``neighbours`` random others, ``draws`` times over.

    Where this would make more than ``most_per_document`` terms per document, that many are drawn for edges picked at
    random: an unbiased sample of the same mean, at a cost that stays linear in the list's length.
    """
    n_edges = _edges_of_queries(graph)
    counts = np.minimum(n_edges * neighbours * draws, most_per_document * np.diff(offsets))
    counts[n_edges < 2] = 0
    first = np.concatenate(([0], np.cumsum(counts))).astype(np.int64)
    terms = Terms(np.empty((first[-1], 4), np.uint32), np.empty(first[-1]), first)
    share(_fill_terms, offsets, graph, offsets, n_edges, neighbours * draws, streams, terms, work=50.0 * first[-1])
    return terms


def _edges_of_queries(graph: OrderGraph) -> np.ndarray:
    """Return (n_queries,) int64: how many edges each query has."""
    if len(graph.edges.first):
        return np.diff(graph.edges.first)
    return count_pairs(graph.groups).astype(np.int64)


@njit(cache=True, nogil=True, error_model="numpy")
def _fill_terms(
    begin: int,
    stop: int,
    graph: OrderGraph,
    offsets: np.ndarray,
    n_edges: np.ndarray,
    per_edge: int,
    streams: np.ndarray,
    terms: Terms,
) -> None:
    groups, given = graph.groups, graph.edges
    for q in range(begin, stop):
        edges = n_edges[q]
        stream = streams[q : q + 1].copy()
        first, last = terms.first[q], terms.first[q + 1]
        every_edge = last - first == edges * per_edge
        pair = np.empty(2, np.int64)
        for t in range(first, last):
            pair[0] = (t - first) % edges if every_edge else integer(stream, edges)
            pair[1] = integer(stream, edges - 1)
            pair[1] += pair[1] >= pair[0]  # an edge is not joined to itself
            terms.weight[t] = 1.0
            for end in range(2):
                if len(given.first) > 0:
                    e = given.first[q] + pair[end]
                    i, j = np.int64(given.winner[e]), np.int64(given.loser[e])
                    terms.weight[t] *= given.weight[e]
                else:
                    grades = groups.bounds[groups.first[q] : groups.first[q + 1]]
                    i, j = edge_at(groups.order[offsets[q] : offsets[q + 1]], grades, pair[end])
                terms.documents[t, 2 * end], terms.documents[t, 2 * end + 1] = i, j

"""Pairs of documents given one by one, as losses of pairs sum over them."""

from typing import NamedTuple

import numpy as np

from podium.losses.labeled import LabeledLists
from podium.numerics.compiling import Array, njit


class Edges(NamedTuple):
    """Pairs of all queries, one query after another."""

    winner: Array
    loser: Array
    weight: Array
    first: Array
    """(n_queries + 1,): query q has the pairs ``first[q]:first[q + 1]``; empty where grades are given."""


class SomeEdges(NamedTuple):
    """Pairs of one list."""

    winner: Array
    loser: Array
    weight: Array


def edges_of(by_query: tuple[Array, Array, Array, Array]) -> Edges:
    """Return pairs as :meth:`podium.Preferences.by_query` gives them, in the types that kernels are compiled for."""
    winner, loser, weight, first = by_query
    return Edges(winner.astype(np.uint32), loser.astype(np.uint32), weight, first)


@njit(error_model="numpy")
def own_edges(edges: Edges, query: int) -> SomeEdges:
    """Return the pairs of one query."""
    here = slice(edges.first[query], edges.first[query + 1])
    return SomeEdges(edges.winner[here], edges.loser[here], edges.weight[here])


class GivenPairs(NamedTuple):
    """What kernels of pairs need to know of preferences."""

    wins: Edges
    ties: Edges
    """Documents found equal."""
    scale: Array
    """(n_queries,) what the sum over a query's pairs is multiplied by."""


def given_pairs(data: LabeledLists, normalize: bool, *, ties: bool) -> GivenPairs:
    """Return the pairs of all queries, of mean 1 within each query if ``normalize``; ``ties`` also count if they do."""
    wins, tied = (edges_of(of(data.offsets)) for of in (data.labels.by_query, data.labels.ties_by_query))
    numbers = np.arange(len(data.sizes))
    total = np.zeros(len(numbers))
    for edges in (wins, tied) if ties else (wins,):
        total += np.bincount(np.repeat(numbers, np.diff(edges.first)), edges.weight, len(numbers))
    scale = np.divide(1.0, total, out=np.zeros(len(total)), where=total > 0) if normalize else np.ones(len(total))
    return GivenPairs(wins, tied, scale)

"""Pairs of a document that was clicked and one that was not, counted by document and place.

With n(i, p, j, q) the number of times that document i was clicked at place p of a list that showed document j, not
clicked, at place q, all that pairwise debiasing needs are the weights Σ_pq n(i, p, j, q) x_pq of pairs of documents,
and the sums Σ_ij n(i, p, j, q) ℓ_ij of pairs of places.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from podium.clicks.cells import Cells
from podium.core.arrays import Array
from podium.data.queries import Queries
from podium.data.shown import ShownLists
from podium.numerics.compiling import njit


@dataclass(frozen=True)
class PlacePairs:
    """Pairs of documents of one query; a subclass knows at which places they were.

    ``winner`` are the rows of those that were clicked, ``loser`` of those that were not.
    """

    winner: np.ndarray
    loser: np.ndarray
    n_places: int

    def weights(self, factors: np.ndarray) -> np.ndarray:
        """Return (n_pairs,) the sum over places of counts times factors, (n_places, n_places), clicked by not."""
        raise NotImplementedError

    def by_places(self, values: np.ndarray) -> np.ndarray:
        """Return (n_places, n_places), clicked by not: the sum over pairs of counts times values of pairs."""
        raise NotImplementedError


@dataclass(frozen=True)
class CountedPairs(PlacePairs):
    """Pairs counted in lists that were shown."""

    first: np.ndarray
    """(n_pairs + 1,): pair p has the cells ``first[p]:first[p + 1]``."""
    places: np.ndarray
    """(n_cells,) the pair of places in one number."""
    counts: np.ndarray

    @classmethod
    def of(cls, lists: ShownLists, queries: Queries) -> CountedPairs:
        n_pairs = _pairs_of_queries(lists.query, lists.offsets, lists.clicked, len(queries))
        pair, places, counts = _counted(
            (lists.query, lists.times, lists.offsets, lists.document.astype(np.int64), lists.place, lists.clicked),
            queries.offsets,
            n_pairs,
            lists.n_places,
        )
        first = np.flatnonzero(np.diff(pair, prepend=-1))
        n = queries.n_documents
        winner, loser = pair[first] // n, pair[first] % n
        return cls(winner, loser, lists.n_places, np.append(first, len(pair)), places, counts)

    def weights(self, factors: np.ndarray) -> np.ndarray:
        return _sums_of_pairs(self.first, self.places, self.counts, factors.ravel())

    def by_places(self, values: np.ndarray) -> np.ndarray:
        sums = _sums_of_places(self.first, self.places, self.counts, values, self.n_places**2)
        return sums.reshape(self.n_places, self.n_places)


@dataclass(frozen=True)
class ExpectedPairs(PlacePairs):
    """Pairs expected of a log of counts, as if the places of a query's documents were independent of each other.

    Document i was clicked C_ip times at place p, and j was shown there without a click N_jq times, in N sessions: then
    C_ip N_jq / N pairs are expected for p ≠ q, and none for p = q.
    """

    clicked: np.ndarray
    """(n_documents, n_places) clicks."""
    skipped: np.ndarray
    """(n_documents, n_places) impressions without a click, divided by the sessions of the query."""

    @classmethod
    def of(cls, cells: Cells, queries: Queries, n_sessions: np.ndarray) -> ExpectedPairs:
        clicked = cells.matrix(cells.clicks).toarray()
        skipped = cells.matrix(cells.impressions - cells.clicks).toarray()
        skipped /= np.maximum(n_sessions, 1)[queries.query_of_document][:, np.newaxis]
        winner, loser = _all_pairs(queries.offsets, clicked.any(axis=1), skipped.any(axis=1))
        return cls(winner, loser, cells.n_places, clicked, skipped)

    def weights(self, factors: np.ndarray) -> np.ndarray:
        return _expected_weights(self.winner, self.loser, self.clicked @ _off_diagonal(factors), self.skipped)

    def by_places(self, values: np.ndarray) -> np.ndarray:
        against = _expected_losers(self.winner, self.loser, values, self.skipped)
        return _off_diagonal(self.clicked.T @ against)


def _off_diagonal(matrix: np.ndarray) -> np.ndarray:
    return np.where(np.eye(len(matrix), dtype=bool), 0.0, matrix)


@njit(cache=True, error_model="numpy")
def _pairs_of_queries(query: Array, offsets: Array, clicked: Array, n_queries: int) -> Array:
    """Return how many pairs the distinct lists of each query have."""
    n_pairs = np.zeros(n_queries, np.int64)
    for k in range(len(query)):
        n_clicked = 0
        for a in range(offsets[k], offsets[k + 1]):
            n_clicked += clicked[a]
        n_pairs[query[k]] += n_clicked * (offsets[k + 1] - offsets[k] - n_clicked)
    return n_pairs


@njit(cache=True, error_model="numpy")
def _counted(lists: tuple[Array, ...], documents: Array, n_pairs: Array, n_places: int) -> tuple[Array, Array, Array]:
    """Return pair, places and count of each cell, sorted by these; a pair is i × (all documents) + j."""
    query, times, offsets, document, place, clicked = lists
    total, square = 0, n_places * n_places
    for q in range(len(n_pairs)):
        n = documents[q + 1] - documents[q]
        total += min(n_pairs[q], n * n * square)
    pair, places = np.empty(total, np.int64), np.empty(total, np.uint32)
    counts = np.empty(total)
    filled, here = 0, 0
    for q in range(len(n_pairs)):
        if n_pairs[q] == 0:
            continue
        n, start = documents[q + 1] - documents[q], documents[q]
        # A table of all cells where most will be filled, else a list of pairs that is sorted.
        dense = n * n * square <= 4 * n_pairs[q] + 1024
        table = np.zeros(n * n * square if dense else 0)
        keys = np.empty(0 if dense else n_pairs[q], np.int64)
        weights = np.empty(len(keys))
        used = 0
        while here < len(query) and query[here] == q:
            for a in range(offsets[here], offsets[here + 1]):
                if not clicked[a]:
                    continue
                for b in range(offsets[here], offsets[here + 1]):
                    if clicked[b]:
                        continue
                    i, j = document[a] - start, document[b] - start
                    key = (i * n + j) * square + place[a] * n_places + place[b]
                    if dense:
                        table[key] += times[here]
                    else:
                        keys[used] = key
                        weights[used] = times[here]
                        used += 1
            here += 1
        order = np.argsort(keys)
        last = -1
        for r in range(len(table) if dense else used):
            key = r if dense else keys[order[r]]
            count = table[r] if dense else weights[order[r]]
            if count == 0.0:
                continue
            if key == last:
                counts[filled - 1] += count
                continue
            last = key
            i, j = start + (key // square) // n, start + (key // square) % n
            pair[filled] = i * documents[-1] + j
            places[filled] = key % square
            counts[filled] = count
            filled += 1
    return pair[:filled].copy(), places[:filled].copy(), counts[:filled].copy()


@njit(cache=True, nogil=True, error_model="numpy")
def _sums_of_pairs(first: Array, places: Array, counts: Array, factors: Array) -> Array:
    sums = np.zeros(len(first) - 1)
    for p in range(len(sums)):
        for c in range(first[p], first[p + 1]):
            sums[p] += counts[c] * factors[places[c]]
    return sums


@njit(cache=True, nogil=True, error_model="numpy")
def _sums_of_places(first: Array, places: Array, counts: Array, values: Array, n: int) -> Array:
    sums = np.zeros(n)
    for p in range(len(first) - 1):
        for c in range(first[p], first[p + 1]):
            sums[places[c]] += counts[c] * values[p]
    return sums


@njit(cache=True, error_model="numpy")
def _all_pairs(documents: Array, wins: Array, loses: Array) -> tuple[Array, Array]:
    total = 0
    for q in range(len(documents) - 1):
        here = slice(documents[q], documents[q + 1])
        total += wins[here].sum() * loses[here].sum() - (wins[here] & loses[here]).sum()
    winner, loser = np.empty(total, np.int64), np.empty(total, np.int64)
    filled = 0
    for q in range(len(documents) - 1):
        for i in range(documents[q], documents[q + 1]):
            for j in range(documents[q], documents[q + 1]):
                if wins[i] and loses[j] and i != j:
                    winner[filled], loser[filled] = i, j
                    filled += 1
    return winner, loser


@njit(cache=True, nogil=True, error_model="numpy")
def _expected_weights(winner: Array, loser: Array, clicked: Array, skipped: Array) -> Array:
    sums = np.zeros(len(winner))
    for p in range(len(sums)):
        i, j = winner[p], loser[p]
        for k in range(clicked.shape[1]):
            sums[p] += clicked[i, k] * skipped[j, k]
    return sums


@njit(cache=True, nogil=True, error_model="numpy")
def _expected_losers(winner: Array, loser: Array, values: Array, skipped: Array) -> Array:
    against = np.zeros_like(skipped)
    for p in range(len(winner)):
        i, j = winner[p], loser[p]
        for k in range(skipped.shape[1]):
            against[i, k] += values[p] * skipped[j, k]
    return against

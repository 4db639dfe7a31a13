"""Each query's documents in groups of equal grade, best first.

Losses that compare grades need the same preparation, once per fit. ``order`` lists a query's documents (numbered from 0
within the query) best grade first and stable, so that a group of equal grades is a contiguous run. ``bounds`` holds
the runs' ends: grade ``g`` of query ``q`` is ``order[b[g]:b[g + 1]]`` where ``b = bounds[first[q]:first[q + 1]]``.

>>> groups = label_groups(np.array([0.0, 2.0, 0.0, 2.0, 1.0]), np.array([0, 5]))
>>> groups.order.tolist(), groups.bounds.tolist(), groups.first.tolist()
([1, 3, 4, 0, 2], [0, 2, 3, 5], [0, 4])
"""

from typing import NamedTuple

import numpy as np

from podium.numerics.compiling import Array, njit
from podium.numerics.kernels import OneList, own
from podium.numerics.pool import share
from podium.numerics.random import shuffle
from podium.numerics.sorting import descending

_SORTING = 50.0  # nanoseconds per document


class Groups(NamedTuple):
    """The documents of all queries by grade."""

    order: Array
    """(n_documents,) uint32: unsigned, because Numba then need not look for negative indices."""
    bounds: Array
    """(n_groups + n_queries,) int64: 0, end of the best grade, …, number of documents, for each query in turn."""
    first: Array
    """(n_queries + 1,) int64: where in ``bounds`` each query begins."""


@njit(nogil=True, error_model="numpy", inline="always")
def own_groups(groups: Groups, given: OneList) -> tuple[Array, Array]:
    """Return one list's ``order`` and ``bounds``."""
    return own(groups.order, given), groups.bounds[groups.first[given.query] : groups.first[given.query + 1]]


def label_groups(labels: Array, offsets: Array) -> Groups:
    """Group each query's documents by grade, best first."""
    order = label_order(labels, offsets)
    sizes = np.diff(offsets)
    by_grade = labels[order + np.repeat(offsets[:-1], sizes)]
    begins = np.ones(len(labels), bool)  # does a group begin here?
    begins[1:] = by_grade[1:] != by_grade[:-1]
    begins[offsets[:-1][sizes > 0]] = True
    starts = np.flatnonzero(begins)
    query = np.searchsorted(offsets, starts, side="right") - 1
    n_groups = np.bincount(query, minlength=len(sizes))
    bounds = np.insert(starts - offsets[query], np.cumsum(n_groups), sizes)
    return Groups(order, bounds.astype(np.int64), np.concatenate(([0], np.cumsum(n_groups + 1))))


def grade_index(groups: Groups, offsets: Array) -> Array:
    """Return (n_documents,) uint32: the group each document is in, 0 for a query's best grade."""
    lengths = np.delete(np.diff(groups.bounds), groups.first[1:-1] - 1)
    n_groups = np.diff(groups.first) - 1
    number = np.arange(len(lengths)) - np.repeat(np.cumsum(n_groups) - n_groups, n_groups)
    grade = np.empty(len(groups.order), np.uint32)
    grade[groups.order + np.repeat(offsets[:-1], np.diff(offsets))] = np.repeat(number, lengths)
    return grade


def pair_scale(groups: Groups, normalize: bool) -> Array:
    """Return (n_queries,) factors that make a sum over a query's pairs of unequal grade their mean, or leave it."""
    pairs = count_pairs(groups)
    if not normalize:
        return np.ones(len(pairs))
    return np.divide(1.0, pairs, out=np.zeros(len(pairs)), where=pairs > 0)


@njit(cache=True, error_model="numpy")
def count_pairs(groups: Groups) -> Array:
    """Return (n_queries,) float64: how many pairs of unequal grade each query has."""
    pairs = np.zeros(len(groups.first) - 1)
    for q in range(len(pairs)):
        pairs[q] = unequal_pairs(groups.bounds[groups.first[q] : groups.first[q + 1]])
    return pairs


@njit(error_model="numpy")
def unequal_pairs(bounds: Array) -> int:
    """Return how many pairs of unequal grade one list has."""
    total = 0
    for g in range(len(bounds) - 1):
        total += (bounds[g + 1] - bounds[g]) * (bounds[-1] - bounds[g + 1])
    return total


def label_order(labels: Array, offsets: Array) -> Array:
    """Return (n_documents,) uint32: each query's documents, best grade first, equal ones in their given order."""
    order = np.empty(len(labels), np.uint32)
    share(_sort_queries, offsets, labels, offsets, order, work=_SORTING * len(labels))
    return order


@njit(cache=True, nogil=True, error_model="numpy")
def _sort_queries(first: int, stop: int, labels: Array, offsets: Array, order: Array) -> None:
    for q in range(first, stop):
        descending(labels[offsets[q] : offsets[q + 1]], order[offsets[q] : offsets[q + 1]])


def shuffle_ties(groups: Groups, offsets: Array, streams: Array) -> Array:
    """Return a copy of ``order`` with each group in random order, drawn from the query's own stream."""
    shuffled = groups.order.copy()
    share(_shuffle_queries, offsets, groups, offsets, streams, shuffled, work=10.0 * len(shuffled))
    return shuffled


def shuffled_lists(offsets: Array, streams: Array) -> Array:
    """Return (n_documents,) uint32: the documents of each query, numbered from 0, in random order."""
    sizes = np.diff(offsets)
    order = np.arange(offsets[-1], dtype=np.uint32)
    order -= np.repeat(offsets[:-1].astype(np.uint32), sizes)
    bounds = np.column_stack((np.zeros_like(sizes), sizes)).ravel()  # each list is one group
    return shuffle_ties(Groups(order, bounds, 2 * np.arange(len(offsets))), offsets, streams)


@njit(cache=True, nogil=True, error_model="numpy")
def _shuffle_queries(begin: int, stop: int, groups: Groups, offsets: Array, streams: Array, shuffled: Array) -> None:
    for q in range(begin, stop):
        o, b = shuffled[offsets[q] : offsets[q + 1]], groups.bounds[groups.first[q] : groups.first[q + 1]]
        stream = streams[q : q + 1].copy()
        for g in range(len(b) - 1):
            shuffle(o[b[g] : b[g + 1]], stream)

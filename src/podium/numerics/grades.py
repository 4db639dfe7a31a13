"""What the labels say: each query's documents in groups of equal grade, best first.

Losses that compare grades need the same preparation, once per fit. ``order`` lists a query's documents (numbered from 0
within the query) best grade first and stable, so that a group of equal grades is a contiguous run. ``bounds`` holds
the runs' ends: grade ``g`` of query ``q`` is ``order[b[g]:b[g + 1]]`` where ``b = bounds[first[q]:first[q + 1]]``.

>>> groups = label_groups(np.array([0.0, 2.0, 0.0, 2.0, 1.0]), np.array([0, 5]))
>>> groups.order.tolist(), groups.bounds.tolist(), groups.first.tolist()
([1, 3, 4, 0, 2], [0, 2, 3, 5], [0, 4])
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit, prange

from podium.numerics.compiling import ONLY_PRANGE
from podium.numerics.random import integer
from podium.numerics.sorting import descending


class Groups(NamedTuple):
    """Documents of all queries by grade; kernels take it apart or index it as the tuple it is."""

    order: np.ndarray
    """(n_documents,) uint32: unsigned, because Numba then need not look for negative indices."""
    bounds: np.ndarray
    """(n_groups + n_queries,) int64: 0, end of the best grade, …, number of documents, for each query in turn."""
    first: np.ndarray
    """(n_queries + 1,) int64: where in ``bounds`` each query begins."""


def label_groups(labels: np.ndarray, offsets: np.ndarray) -> Groups:
    """Group each query's documents by grade, best first."""
    order = label_order(labels, offsets)
    first = np.concatenate(([0], np.cumsum(_count_bounds(labels, offsets, order))))
    bounds = np.empty(first[-1], np.int64)
    _fill_bounds(labels, offsets, order, first, bounds)
    return Groups(order, bounds, first)


def pair_scale(groups: Groups, normalize: bool) -> np.ndarray:
    """(n_queries,) factor that makes a sum over a query's pairs of unequal grade their mean, or leaves it a sum."""
    pairs = count_pairs(groups.bounds, groups.first)
    if not normalize:
        return np.ones(len(pairs))
    return np.divide(1.0, pairs, out=np.zeros(len(pairs)), where=pairs > 0)


@njit(cache=True, parallel=ONLY_PRANGE, error_model="numpy")
def label_order(labels: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """Documents of each query, best grade first, equal ones in their given order; (n_documents,) uint32."""
    order = np.empty(len(labels), np.uint32)
    for q in prange(len(offsets) - 1):
        start, stop = offsets[q], offsets[q + 1]
        descending(labels[start:stop], order[start:stop])
    return order


@njit(cache=True, parallel=ONLY_PRANGE, error_model="numpy")
def _count_bounds(labels: np.ndarray, offsets: np.ndarray, order: np.ndarray) -> np.ndarray:
    counts = np.empty(len(offsets) - 1, np.int64)
    for q in prange(len(offsets) - 1):
        y, o = labels[offsets[q] : offsets[q + 1]], order[offsets[q] : offsets[q + 1]]
        counts[q] = 1 + min(len(y), 1)
        for i in range(1, len(y)):
            counts[q] += y[o[i]] != y[o[i - 1]]
    return counts


@njit(cache=True, parallel=ONLY_PRANGE, error_model="numpy")
def _fill_bounds(
    labels: np.ndarray, offsets: np.ndarray, order: np.ndarray, first: np.ndarray, bounds: np.ndarray
) -> None:
    for q in prange(len(offsets) - 1):
        y, o = labels[offsets[q] : offsets[q + 1]], order[offsets[q] : offsets[q + 1]]
        b = bounds[first[q] : first[q + 1]]
        b[0] = 0
        g = 1
        for i in range(1, len(y)):
            if y[o[i]] != y[o[i - 1]]:
                b[g] = i
                g += 1
        b[-1] = len(y)


@njit(cache=True, error_model="numpy")
def count_pairs(bounds: np.ndarray, first: np.ndarray) -> np.ndarray:
    """(n_queries,) float64: how many pairs of unequal grade each query has."""
    pairs = np.zeros(len(first) - 1)
    for q in range(len(pairs)):
        b = bounds[first[q] : first[q + 1]]
        for g in range(len(b) - 1):
            pairs[q] += float(b[g + 1] - b[g]) * float(b[-1] - b[g + 1])
    return pairs


@njit(cache=True, parallel=ONLY_PRANGE, error_model="numpy")
def grade_index(order: np.ndarray, bounds: np.ndarray, first: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """(n_documents,) uint32: the group each document is in, 0 for a query's best grade."""
    grade = np.empty(len(order), np.uint32)
    for q in prange(len(offsets) - 1):
        o, of_query = order[offsets[q] : offsets[q + 1]], grade[offsets[q] : offsets[q + 1]]
        b = bounds[first[q] : first[q + 1]]
        for g in range(len(b) - 1):
            for i in range(b[g], b[g + 1]):
                of_query[o[i]] = g
    return grade


@njit(cache=True, parallel=ONLY_PRANGE, error_model="numpy")
def shuffle_ties(
    order: np.ndarray, bounds: np.ndarray, first: np.ndarray, offsets: np.ndarray, streams: np.ndarray
) -> np.ndarray:
    """A copy of ``order`` with each group in random order, drawn from the query's own stream of random numbers."""
    shuffled = order.copy()
    for q in prange(len(offsets) - 1):
        o = shuffled[offsets[q] : offsets[q + 1]]
        b = bounds[first[q] : first[q + 1]]
        stream = streams[q : q + 1].copy()
        for g in range(len(b) - 1):
            for i in range(b[g + 1] - 1, b[g], -1):
                j = b[g] + integer(stream, i + 1 - b[g])
                o[i], o[j] = o[j], o[i]
    return shuffled

"""Scores of a sum of trees, equal to LightGBM's to the last bit.

The evaluator lays a forest out once for each type of rows: as bit vectors (``bit_vectors.py``) where no tree has more
than 64 leaves, for walking documents side by side (``interleaved.py``) otherwise. Leaf values are summed in the order
of the trees, in float64, so scores depend neither on the layout nor on threads.
"""

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from podium.numerics.compiling import Array, Kernel, compiled, njit
from podium.numerics.pool import share
from podium.numerics.trees.bit_vectors import MOST_LEAVES, bit_vectors, score_by_bits
from podium.numerics.trees.columns import BLOCK
from podium.numerics.trees.forest import Forest
from podium.numerics.trees.interleaved import interleaved, score_interleaved

Rows = Array | tuple[Array, Array, Array]
"""(n, n_features) float32 or float64 in C order; or the data, indices and offsets of a CSR matrix of these."""

_SPARSE_ROWS = 8 * BLOCK  # expanded at once


class TreeEvaluator:
    """A forest, ready to score documents.

    >>> forest = Forest.of_steps(np.array([0, 1]), np.array([0.5, 2.0]), np.array([1.0, 10.0]), n_features=2)
    >>> TreeEvaluator(forest).scores(np.array([[0.4, 3.0], [0.6, 2.0]]))
    array([10.,  1.])
    """

    def __init__(self, forest: Forest) -> None:
        self.forest = forest
        self._layout = lru_cache(_lay_out)

    def scores(self, rows: Rows, n_trees: int | None = None) -> Array:
        """Return (n,) float64 scores by all trees, or by the first ``n_trees``.

        Float32 values are compared with thresholds as float64 ones would be. A CSR matrix is expanded one block of rows
        at a time, and only in features that a tree looks at.
        """
        n, values = (len(rows), rows) if isinstance(rows, np.ndarray) else (len(rows[2]) - 1, rows[0])
        layout = self._layout(self.forest, values.dtype)
        n_trees = self.forest.n_trees if n_trees is None else min(n_trees, self.forest.n_trees)
        out = np.empty(n)
        if isinstance(rows, np.ndarray):
            share(layout.kernel, -(-n // BLOCK), rows, layout.table, n_trees, out, work=n * layout.work)
        else:
            share(_score_sparse, -(-n // _SPARSE_ROWS), rows, layout, n_trees, out, work=n * layout.work)
        return out


class _Layout(NamedTuple):
    """A forest for rows of one type."""

    table: Any
    """``BitVectors`` or ``Interleaved``."""
    compact: Any
    """The same for rows that have only the features used."""
    place: Array
    """(n_features,) int64: the number of a feature among those used, or −1."""
    n_used: int
    kernel: Kernel
    work: float
    """Nanoseconds per document, about."""


def _lay_out(forest: Forest, dtype: np.dtype) -> _Layout:
    n_nodes, n_trees = len(forest.feature), forest.n_trees
    if n_nodes // max(n_trees, 1) < MOST_LEAVES and np.diff(forest.leaf_offsets).max(initial=1) <= MOST_LEAVES:
        table: Any = bit_vectors(forest, dtype)
        kernel, work = _BY_BITS, 0.1 * n_nodes + n_trees
    else:
        table = interleaved(forest, dtype)
        kernel, work = _INTERLEAVED, 3.0 * n_trees * np.log2(n_nodes / n_trees)
    used, number = np.unique(table.columns.feature, return_inverse=True)
    place = np.full(forest.n_features, -1)
    place[used] = np.arange(len(used))
    compact = table._replace(columns=table.columns._replace(feature=number.reshape(-1)))
    return _Layout(table, compact, place, len(used), kernel, work + len(table.columns.feature))


_BY_BITS, _INTERLEAVED = compiled(score_by_bits), compiled(score_interleaved)


def n_compiled() -> int:
    """Return how many variants of the evaluator this process had to compile, because the cache did not hold them."""
    kernels: tuple[Any, ...] = (_BY_BITS, _INTERLEAVED)
    return sum(sum(kernel.stats.cache_misses.values()) for kernel in kernels)


def _score_sparse(
    first: int, stop: int, rows: tuple[Array, Array, Array], layout: _Layout, n_trees: int, out: Array
) -> None:
    data, indices, offsets = rows
    for start in range(first * _SPARSE_ROWS, stop * _SPARSE_ROWS, _SPARSE_ROWS):
        scores = out[start : start + _SPARSE_ROWS]
        n = len(scores)
        dense = np.zeros((n, layout.n_used), data.dtype)
        _expand(data, indices, offsets[start : start + n + 1], layout.place, dense)
        layout.kernel(0, -(-n // BLOCK), dense, layout.compact, n_trees, scores)


@njit(nogil=True, cache=True, error_model="numpy")
def _expand(data: Array, indices: Array, offsets: Array, place: Array, out: Array) -> None:
    """Add the entries of rows of a CSR matrix, as far as they have a place, to zeros."""
    for i in range(len(out)):
        for k in range(offsets[i], offsets[i + 1]):
            j = place[indices[k]]
            if j >= 0:
                out[i, j] += data[k]

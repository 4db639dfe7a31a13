"""Evaluating trees of up to 64 leaves, many documents at a time, by bit vectors.

A word per tree and document has a bit for each leaf, from left to right, all ones at first. A split that sends the
document right clears the leaves of its left subtree; whatever the order of splits, the lowest bit left at the end is
the leaf that the document reaches. So the splits of all trees are taken column by column, thresholds rising: one that
no document of the block exceeds ends the column, and each other is a loop over documents without branches,

    word &= mask if value > threshold else ones

(Lucchese et al., "QuickScorer: a fast algorithm to rank documents with additive ensembles of regression trees", SIGIR
2015, turned from one document at a time to one split at a time.)
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from podium.numerics.compiling import njit
from podium.numerics.trees.columns import Columns, load_column, make_columns, thresholds_as
from podium.numerics.trees.forest import Forest

MOST_LEAVES = 64
BLOCK = 128
"""Documents evaluated at once."""
_GROUP = 64  # trees evaluated at once: their words stay in the cache
_ALIGNED = 16  # documents: words of a last block are padded to this, so that vector instructions have no remainder


class BitVectors(NamedTuple):
    """A forest laid out for :func:`score_block_by_bits`, for rows of one type."""

    columns: Columns
    bounds: np.ndarray
    """(n_groups, n_columns + 1) int64: the splits of a group of trees on each column, thresholds rising."""
    thresholds: np.ndarray
    """(n_splits,) type of the rows."""
    trees: np.ndarray
    """(n_splits,) int64: the tree within its group."""
    masks: np.ndarray
    """(n_splits,) uint32 or uint64."""
    leaves: np.ndarray
    """(n_trees, 32 or 64) float64: values of leaves from left to right."""


def bit_vectors(forest: Forest, dtype: np.dtype) -> BitVectors:
    """Lay out a forest whose trees have at most :data:`MOST_LEAVES` leaves."""
    n_leaves = np.diff(forest.leaf_offsets)
    word = np.dtype(np.uint32 if n_leaves.max() <= 32 else np.uint64)
    width = 8 * word.itemsize
    first, length = np.zeros((2, len(forest.feature)), np.int64)
    place = np.zeros(len(forest.leaf_value), np.int64)
    _number_leaves(forest.node_offsets, forest.leaf_offsets, forest.left, forest.right, first, length, place)
    leaves = np.zeros((forest.n_trees, width))
    leaves[np.repeat(np.arange(forest.n_trees), n_leaves), place] = forest.leaf_value

    columns, column, threshold = make_columns(forest)
    tree = np.repeat(np.arange(forest.n_trees), np.diff(forest.node_offsets))
    n_groups, n_columns = -(-forest.n_trees // _GROUP), len(columns.feature)
    part = tree // _GROUP * n_columns + column
    order = np.lexsort((threshold, part))
    starts = np.searchsorted(part[order], np.arange(n_groups * n_columns + 1))
    bounds = starts[np.arange(n_groups)[:, None] * n_columns + np.arange(n_columns + 1)]
    ones = np.uint64(2**64 - 1)
    left = (ones >> (np.uint64(64) - length.astype(np.uint64))) << first.astype(np.uint64)
    return BitVectors(
        columns.astype(dtype),
        bounds,
        thresholds_as(threshold[order], dtype),
        (tree % _GROUP)[order],
        (~left)[order].astype(word),
        leaves,
    )


@njit(nogil=True, cache=True, error_model="numpy")
def _number_leaves(
    node_offsets: np.ndarray,
    leaf_offsets: np.ndarray,
    left: np.ndarray,
    right: np.ndarray,
    first: np.ndarray,
    length: np.ndarray,
    place: np.ndarray,
) -> None:
    """Number each tree's leaves from left to right (``place``), and find the leaves in each left subtree."""
    for t in range(len(node_offsets) - 1):
        a, b = node_offsets[t], node_offsets[t + 1]
        lefts, rights, starts, lengths = left[a:b], right[a:b], first[a:b], length[a:b]
        n = b - a
        totals = np.ones(n, np.int64)  # leaves below each node
        for k in range(n - 1, -1, -1):  # children come after their parents
            lengths[k] = totals[lefts[k]] if lefts[k] >= 0 else 1
            totals[k] = lengths[k] + (totals[rights[k]] if rights[k] >= 0 else 1)
        for k in range(n):
            for child, start in ((lefts[k], starts[k]), (rights[k], starts[k] + lengths[k])):
                if child >= 0:
                    starts[child] = start
                else:
                    place[leaf_offsets[t] + ~child] = start


@njit(nogil=True, error_model="numpy")
def score_block_by_bits(rows: np.ndarray, forest: BitVectors, n_trees: int, out: np.ndarray) -> None:
    """Write the scores of up to :data:`BLOCK` rows by the first ``n_trees`` trees."""
    n = len(rows)
    width = -(-n // _ALIGNED) * _ALIGNED
    n_columns = len(forest.columns.feature)
    block = np.empty((n_columns, width), rows.dtype)
    highest = np.empty(n_columns, rows.dtype)
    for c in range(n_columns):
        column = block[c]
        load_column(rows, forest.columns, c, column)
        for i in range(n, width):
            column[i] = -np.inf
        top = column[0]
        for i in range(width):
            top = max(top, column[i])
        highest[c] = top
    for i in range(n):
        out[i] = 0.0
    words = np.empty((_GROUP, width), forest.masks.dtype)
    for group in range(-(-n_trees // _GROUP)):
        first = group * _GROUP
        present = min(n_trees - first, _GROUP)
        _clear_leaves(block, highest, forest, group, words)
        for t in range(present):
            leaves, row = forest.leaves[first + t], words[t]
            for i in range(n):
                out[i] += leaves[lowest_bit(row[i])]


@njit(nogil=True, error_model="numpy")
def _clear_leaves(block: np.ndarray, highest: np.ndarray, forest: BitVectors, group: int, words: np.ndarray) -> None:
    ones = ~words.dtype.type(0)
    for t in range(len(words)):
        row = words[t]
        for i in range(len(row)):
            row[i] = ones
    bounds = forest.bounds[group]
    for c in range(len(highest)):
        column = block[c]
        for s in range(bounds[c], bounds[c + 1]):
            threshold = forest.thresholds[s]
            if not threshold < highest[c]:
                break
            mask, row = forest.masks[s], words[forest.trees[s]]
            for i in range(len(column)):
                row[i] &= mask if column[i] > threshold else ones


@intrinsic  # type: ignore[untyped-decorator]
def lowest_bit(_: Any, word: Any) -> Any:
    """Return the number of the lowest bit that is 1; there is one."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        count = builder.cttz(args[0], ir.Constant(ir.IntType(1), 1))
        return builder.zext(count, ir.IntType(64)) if word.bitwidth < 64 else count

    return types.uint64(word), generate

"""Evaluating trees of up to 64 leaves, many documents at a time, by bit vectors.

A word per tree and document has a bit for each leaf, from left to right, all ones at first. A split that sends the
document right clears the leaves of its left subtree; whatever the order of splits, the lowest bit left at the end is
the leaf that the document reaches. So the splits of all trees are taken column by column, thresholds rising: one that
no document of the block exceeds ends the column, and each other is a loop over documents without branches,

    word &= mask if value > threshold else ones

(Lucchese et al., "QuickScorer: a fast algorithm to rank documents with additive ensembles of regression trees", SIGIR
2015, turned from one document at a time to one split at a time.)
"""

from typing import NamedTuple

import numpy as np

from podium.numerics.compiling import Array, njit
from podium.numerics.trees.columns import BLOCK, Columns, load_special, make_columns, replace_missing, thresholds_as
from podium.numerics.trees.forest import Forest
from podium.numerics.trees.vectors import LANES, SIDE, highest_of, keep_where_above, lowest_bit, transpose_tile

MOST_LEAVES = 64
_GROUP = 64  # trees evaluated at once: their words stay in the cache


class BitVectors(NamedTuple):
    """A forest laid out for :func:`score_by_bits`, for rows of one type."""

    columns: Columns
    bounds: Array
    """(n_groups, n_columns + 1) int64: the splits of a group of trees on each column, thresholds rising."""
    thresholds: Array
    """(n_splits,) type of the rows."""
    trees: Array
    """(n_splits,) int64: the tree within its group."""
    masks: Array
    """(n_splits,) uint32 or uint64."""
    leaves: Array
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
    node_offsets: Array, leaf_offsets: Array, left: Array, right: Array, first: Array, length: Array, place: Array
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


def score_by_bits(first: int, stop: int, rows: Array, forest: BitVectors, n_trees: int, out: Array) -> None:
    """Write the scores of blocks of :data:`BLOCK` rows, from ``first`` on, by the first ``n_trees`` trees."""
    # Once for all blocks: memory that is given back after every block may cost page faults in every block.
    width = min(BLOCK, -(-len(rows) // LANES) * LANES)
    block = np.empty((len(forest.columns.feature), width), rows.dtype)
    highest, tile = np.empty(len(block), rows.dtype), np.empty((SIDE, width), rows.dtype)
    words = np.empty((_GROUP, width), forest.masks.dtype)
    for b in range(first, stop):
        scores = out[b * BLOCK : (b + 1) * BLOCK]
        _load_block(rows[b * BLOCK : (b + 1) * BLOCK], forest.columns, block, highest, tile)
        for i in range(len(scores)):
            scores[i] = 0.0
        for group in range(-(-n_trees // _GROUP)):
            start = group * _GROUP
            _clear_leaves(block, highest, forest, group, words)
            for t in range(min(n_trees - start, _GROUP)):
                leaves, row = forest.leaves[start + t], words[t]
                for i in range(len(scores)):
                    scores[i] += leaves[lowest_bit(row[i])]


@njit(nogil=True, error_model="numpy")
def _load_block(rows: Array, columns: Columns, block: Array, highest: Array, tile: Array) -> None:
    """Write the columns of all rows, −∞ where the block is wider, and the highest value of each."""
    n, width = len(rows), block.shape[1]
    start = -SIDE  # the first feature of the tile
    for c in range(len(highest)):
        feature = columns.feature[c]
        if feature >= start + SIDE:  # columns are sorted by feature
            start = feature
            _load_tile(rows, start, tile)
        values = tile[feature - start][:n]
        if columns.ordinary[c]:  # no call with all columns: Numba would count references to each of their arrays
            replace_missing(values, columns.for_zero[c], columns.for_nan[c], block[c])
        else:
            load_special(values, columns, c, block[c])
        for i in range(n, width):
            block[c, i] = -np.inf
        top = highest_of(block[c], 0)
        for i in range(LANES, width, LANES):
            top = max(top, highest_of(block[c], i))
        highest[c] = top


@njit(nogil=True, error_model="numpy")
def _load_tile(rows: Array, start: int, tile: Array) -> None:
    """Write up to :data:`SIDE` features from ``start`` on, transposed."""
    n, n_features = rows.shape
    stop = min(start + SIDE, n_features)
    whole = n - n % SIDE if stop - start == SIDE else 0
    for i in range(0, whole, SIDE):
        transpose_tile(rows, i, start, tile)
    for i in range(whole, n):
        for j in range(start, stop):
            tile[j - start, i] = rows[i, j]


@njit(nogil=True, error_model="numpy")
def _clear_leaves(block: Array, highest: Array, forest: BitVectors, group: int, words: Array) -> None:
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
            for i in range(0, len(column), LANES):
                keep_where_above(column, row, i, threshold, mask)

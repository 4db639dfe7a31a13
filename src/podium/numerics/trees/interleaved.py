"""Evaluating trees of any size, a few documents side by side.

Walking down a tree is a chain of loads, each waiting for the one before; eight documents walk at once, so that their
chains overlap. There are no branches to mispredict: a node's number becomes that of its left or right child, leaves
lead to themselves, and all go on until the last of the eight has arrived.
"""

from typing import NamedTuple

import numpy as np

from podium.numerics.compiling import Array, njit
from podium.numerics.trees.columns import BLOCK, Columns, load_special, make_columns, replace_missing, thresholds_as
from podium.numerics.trees.forest import Forest

_LANES = 8


class Interleaved(NamedTuple):
    """A forest laid out for :func:`score_interleaved`, for rows of one type.

    A tree's nodes are followed by its leaves, which are nodes with themselves as children.
    """

    columns: Columns
    roots: Array
    """(n_trees,) uint64"""
    nodes: Array
    """(n_nodes,) records of a threshold, of the rows' type, and the numbers of the column and the two children."""
    values: Array
    """(n_nodes,) float64, of leaves."""


def interleaved(forest: Forest, dtype: np.dtype) -> Interleaved:
    """Lay out a forest."""
    columns, column, threshold = make_columns(forest)
    n_nodes, n_leaves = np.diff(forest.node_offsets), np.diff(forest.leaf_offsets)
    roots = np.cumsum(n_nodes + n_leaves) - n_nodes - n_leaves
    inner = np.arange(len(column)) + np.repeat(forest.leaf_offsets[:-1], n_nodes)
    leaf = np.arange(len(forest.leaf_value)) + np.repeat(forest.node_offsets[1:], n_leaves)
    total = len(inner) + len(leaf)
    values = np.zeros(total)
    values[leaf] = forest.leaf_value
    nodes = np.zeros(total, [("threshold", dtype), ("column", "u4"), ("left", "u4"), ("right", "u4")])
    nodes["threshold"][inner], nodes["column"][inner] = thresholds_as(threshold, dtype), column
    nodes["left"][leaf] = nodes["right"][leaf] = leaf
    for side, child in (("left", forest.left), ("right", forest.right)):
        nodes[side][inner] = np.repeat(roots, n_nodes) + np.where(
            child >= 0, child, np.repeat(n_nodes, n_nodes) + ~child
        )
    return Interleaved(columns.astype(dtype), roots.astype(np.uint64), nodes, values)


def score_interleaved(first: int, stop: int, rows: Array, forest: Interleaved, n_trees: int, out: Array) -> None:
    """Write the scores of blocks of :data:`BLOCK` rows, from ``first`` on, by the first ``n_trees`` trees."""
    height = min(BLOCK, -(-len(rows) // _LANES) * _LANES)
    block = np.zeros((height, len(forest.columns.feature)), rows.dtype)
    column, scores = np.empty(height, rows.dtype), np.empty(height)
    for b in range(first, stop):
        given = rows[b * BLOCK : (b + 1) * BLOCK]
        n = len(given)
        for c in range(block.shape[1]):
            values = given[:, forest.columns.feature[c]]
            if forest.columns.ordinary[c]:
                replace_missing(values, forest.columns.for_zero[c], forest.columns.for_nan[c], column)
            else:
                load_special(values, forest.columns, c, column)
            for i in range(n):
                block[i, c] = column[i]
        scores[:] = 0.0
        for t in range(n_trees):
            for start in range(0, n, _LANES):
                _add_tree(block[start : start + _LANES], forest, forest.roots[t], scores[start : start + _LANES])
        out[b * BLOCK : b * BLOCK + n] = scores[:n]


@njit(nogil=True, error_model="numpy")
def _add_tree(x: Array, forest: Interleaved, root: np.uint64, scores: Array) -> None:
    a = b = c = d = e = f = g = h = root  # one number per document; in registers, where an array would not be
    moved = np.uint64(1)
    while moved:
        moved = np.uint64(0)
        for _ in range(4):
            a0, b0, c0, d0, e0, f0, g0, h0 = a, b, c, d, e, f, g, h
            a, b = _child(x[0], forest, a), _child(x[1], forest, b)
            c, d = _child(x[2], forest, c), _child(x[3], forest, d)
            e, f = _child(x[4], forest, e), _child(x[5], forest, f)
            g, h = _child(x[6], forest, g), _child(x[7], forest, h)
        moved = (a ^ a0) | (b ^ b0) | (c ^ c0) | (d ^ d0) | (e ^ e0) | (f ^ f0) | (g ^ g0) | (h ^ h0)
    v = forest.values
    scores[0] += v[a]
    scores[1] += v[b]
    scores[2] += v[c]
    scores[3] += v[d]
    scores[4] += v[e]
    scores[5] += v[f]
    scores[6] += v[g]
    scores[7] += v[h]


@njit(nogil=True, error_model="numpy")
def _child(x: Array, forest: Interleaved, node: np.uint64) -> np.uint64:
    n = forest.nodes[node]
    return np.uint64(n.right if x[np.uint64(n.column)] > n.threshold else n.left)

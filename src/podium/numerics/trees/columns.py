"""What the nodes of a forest compare: columns made from the features, on which every split is ``value > threshold``.

Where missing values go differs from node to node, and a categorical split asks for membership in a set. Instead of
deciding this at each node, the evaluators compare columns in which it is decided already: one for each feature and way
of treating its missing values, in which NaN or zero may have become −∞ (left) or +∞ (right), and one for each set of
categories, 0 for its members (left) and 1 for everything else. A split at +∞, where all but missing values go left, has
a column that is 1 for what goes right. Rules of LightGBM's that hold everywhere: values within 1e-35 of zero are zero,
and NaN is zero where it is not missing.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from podium.numerics.compiling import njit
from podium.numerics.trees.forest import NEVER, ZERO, Forest

BLOCK = 128
"""Documents whose columns are made at once."""
TINY = np.float32(1e-35)
"""A larger distance from zero makes a value different from zero."""
_WORD = 32


class Columns(NamedTuple):
    """How to make columns from rows of features."""

    feature: np.ndarray
    """(n_columns,) int64, never falling"""
    for_zero: np.ndarray
    """(n_columns,) what replaces zero; type of the rows."""
    for_nan: np.ndarray
    """(n_columns,) what replaces NaN."""
    ordinary: np.ndarray
    """(n_columns,) bool: the values of the feature. Else a set of categories, or if that is empty, a split at infinity:
    1 for missing values that go right, 0 for everything else."""
    set_bounds: np.ndarray
    """(n_columns + 1,) int64: the words of the column's set of categories; none if it is not categorical."""
    set_words: np.ndarray
    """uint32: bit c % 32 of word c // 32 is 1 if category c is in the set."""

    def astype(self, dtype: np.dtype) -> Columns:
        """Return the columns for rows of this type."""
        return self._replace(for_zero=self.for_zero.astype(dtype), for_nan=self.for_nan.astype(dtype))


def make_columns(forest: Forest) -> tuple[Columns, np.ndarray, np.ndarray]:
    """Return the columns that a forest needs, and each node's column and threshold."""
    side = np.where(forest.default_left, -np.inf, np.inf)
    for_zero = np.where((forest.missing == ZERO) & ~forest.categorical, side, 0.0)
    for_nan = np.where((forest.missing == NEVER) | forest.categorical, 0.0, side)
    at_infinity = ~forest.categorical & (forest.threshold == np.inf)
    number = np.where(forest.categorical, forest.threshold, np.where(at_infinity, -2.0, -1.0))
    asked = np.column_stack((forest.feature, for_zero, for_nan, number)).reshape(-1, 4)
    columns, of_node = np.unique(asked, axis=0, return_inverse=True)
    sets = [_bits(forest.category_sets[int(k)]) if k >= 0 else np.empty(0, np.uint32) for k in columns[:, 3]]
    return (
        Columns(
            columns[:, 0].astype(np.int64),
            columns[:, 1],
            columns[:, 2],
            columns[:, 3] == -1,
            np.cumsum([0, *map(len, sets)]),
            np.concatenate(sets) if sets else np.empty(0, np.uint32),
        ),
        of_node.reshape(-1),
        np.where(forest.categorical | at_infinity, 0.5, forest.threshold),
    )


def _bits(categories: np.ndarray) -> np.ndarray:
    words = np.zeros(int(categories.max(initial=0)) // _WORD + 1, np.uint32)
    np.bitwise_or.at(words, categories // _WORD, np.uint32(1) << (categories % _WORD).astype(np.uint32))
    return words


def thresholds_as(thresholds: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Return thresholds for values of this type: the largest of it that are at most the float64 ones.

    >>> thresholds_as(np.array([0.1]), np.dtype(np.float32)) < 0.1
    array([ True])
    """
    with np.errstate(over="ignore", under="ignore"):
        nearest = thresholds.astype(dtype)
        return np.where(nearest > thresholds, np.nextafter(nearest, dtype.type(-np.inf)), nearest).astype(dtype)


@njit(nogil=True, error_model="numpy")
def replace_missing(values: np.ndarray, for_zero: np.floating, for_nan: np.floating, out: np.ndarray) -> None:
    """Write an ordinary column, made from the values of its feature, to ``out``."""
    for i in range(len(values)):
        x = values[i]
        out[i] = x if abs(x) > TINY else (for_nan if x != x else for_zero)


@njit(nogil=True, error_model="numpy")
def load_special(values: np.ndarray, columns: Columns, c: int, out: np.ndarray) -> None:
    """Write column ``c``, which is not ordinary, made from the values of its feature, to ``out``."""
    start, stop = columns.set_bounds[c], columns.set_bounds[c + 1]
    for_zero, for_nan = columns.for_zero[c], columns.for_nan[c]
    if start == stop:  # a split at infinity
        for i in range(len(values)):
            x = values[i]
            out[i] = 0.0 if abs(x) > TINY or (for_nan if x != x else for_zero) <= 0 else 1.0
        return
    words = columns.set_words[start:stop]
    for i in range(len(values)):
        x = values[i]
        out[i] = 1.0
        if x > -1.0 and x < 32.0 * len(words):
            category = np.uint32(x)  # toward zero, as in LightGBM
            out[i] = 1.0 - ((words[category >> 5] >> (category & 31)) & 1)

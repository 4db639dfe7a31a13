"""The learned model: users and items as factors, with scores s_ui = b_i + W_u · H_i.

The compiled loops over users, items and ratings share users or items among threads, so their number changes no bit.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np

from podium.core.arrays import Array, Arrays, require_array
from podium.data.queries import Queries
from podium.numerics.compiling import njit
from podium.numerics.pool import share
from podium.scorers.base import Model, Scorer


@dataclass(frozen=True)
class FactorModel(Model):
    """Factors of users and items. An unknown user or item has the number −1 and counts as the average one."""

    user_factors: np.ndarray
    """(n_users, n_factors)"""
    item_factors: np.ndarray
    """(n_items, n_factors)"""
    item_bias: np.ndarray
    """(n_items,)"""

    @cached_property
    def users(self) -> np.ndarray:
        """(n_users + 1, n_factors): the users and, last, their average, which index −1 finds."""
        return _with_average(self.user_factors)

    @cached_property
    def items(self) -> np.ndarray:
        return _with_average(self.item_factors)

    @cached_property
    def bias(self) -> np.ndarray:
        return _with_average(self.item_bias)

    def pairs(self, users: np.ndarray, items: np.ndarray) -> np.ndarray:
        """(n_pairs,) scores of parallel arrays of user and item numbers."""
        return pair_scores((self.users, self.items, self.bias), users, items)

    def scores(self, queries: Queries) -> np.ndarray:
        """Return the scores of ratings whose first two features are the numbers of user and item."""
        users, items = queries.features[:, :2].astype(np.int64).T
        return self.pairs(users, items)

    def to_arrays(self) -> Arrays:
        return {name: getattr(self, name) for name in ("user_factors", "item_factors", "item_bias")}

    @classmethod
    def from_arrays(cls, scorer: Scorer | None, arrays: Arrays) -> Self:
        user_factors = require_array(arrays, "user_factors", (None, None))
        item_factors = require_array(arrays, "item_factors", (None, user_factors.shape[1]))
        item_bias = require_array(arrays, "item_bias", (len(item_factors),))
        return cls(user_factors, item_factors, item_bias)


def _with_average(rows: np.ndarray) -> np.ndarray:
    average = rows.mean(axis=0, keepdims=True) if len(rows) else np.zeros((1, *rows.shape[1:]))
    return np.concatenate((rows, average))


Matrices = tuple[Array, Array, Array]
"""User factors W, item factors H and item biases b."""


def pair_scores(matrices: Matrices, users: Array, items: Array) -> Array:
    """(n_pairs,) scores b_i + W_u · H_i of parallel arrays of user and item numbers."""
    scores = np.empty(len(users))
    work = len(scores) * (matrices[0].shape[1] + 5)
    share(_pair_scores, len(scores), *matrices, users, items, scores, work=work)
    return scores


def gather_rows(factors: Array, d_scores: Array, offsets: Array, rows: Array, others: Array) -> Array:
    """(n_groups, n_factors) gradients: group g sums ``d_scores[rows[k]] · factors[others[k]]`` over its slice of k.

    Groups are users and ``others`` items, or the reverse.
    """
    gradients = np.zeros((len(offsets) - 1, factors.shape[1]))
    work = len(rows) * (factors.shape[1] + 5)
    share(_gather_rows, offsets, factors, d_scores, offsets, rows, others, gradients, work=work)
    return gradients


@njit(cache=True, nogil=True, error_model="numpy")
def dot(a: Array, b: Array) -> float:
    total = 0.0
    for d in range(len(a)):
        total += a[d] * b[d]
    return total


@njit(cache=True, nogil=True, error_model="numpy")
def _pair_scores(
    first: int, stop: int, w: Array, h: Array, b: Array, users: Array, items: Array, scores: Array
) -> None:
    for k in range(first, stop):
        scores[k] = b[items[k]] + dot(w[users[k]], h[items[k]])


@njit(cache=True, nogil=True, error_model="numpy")
def _gather_rows(
    first: int, stop: int, factors: Array, d_scores: Array, offsets: Array, rows: Array, others: Array, gradients: Array
) -> None:
    for group in range(first, stop):
        total = gradients[group]
        for k in range(offsets[group], offsets[group + 1]):
            slope, other = d_scores[rows[k]], factors[others[k]]
            for d in range(len(total)):
                total[d] += slope * other[d]

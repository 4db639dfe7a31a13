"""The learned model: users and items as factors, with scores s_ui = b_i + W_u · H_i."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np

from podium.core.arrays import Arrays, require_array
from podium.data.queries import Queries
from podium.ratings.factors.kernels import pair_scores
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
        return cls(user_factors, item_factors, require_array(arrays, "item_bias", (len(item_factors),)))


def _with_average(rows: np.ndarray) -> np.ndarray:
    average = rows.mean(axis=0, keepdims=True) if len(rows) else np.zeros((1, *rows.shape[1:]))
    return np.concatenate((rows, average))

"""Scores of users for items from factors: s_ui = b_i + W_u · H_i, the gradients back, and the best items of a user."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numba import njit, prange

from podium.core.arrays import Arrays, require_array
from podium.numerics.compiling import ONLY_PRANGE


@dataclass(frozen=True)
class FactorModel:
    """What is learned of users and items. Whoever or whatever is unknown has the number −1 and is taken for average."""

    user_factors: np.ndarray
    """(n_users, n_factors)"""
    item_factors: np.ndarray
    """(n_items, n_factors)"""
    item_bias: np.ndarray
    """(n_items,)"""

    @cached_property
    def users(self) -> np.ndarray:
        """(n_users + 1, n_factors): the users and, last, the average one, whom index −1 finds."""
        return _with_average(self.user_factors)

    @cached_property
    def items(self) -> np.ndarray:
        return _with_average(self.item_factors)

    @cached_property
    def bias(self) -> np.ndarray:
        return _with_average(self.item_bias)

    def scores(self, users: np.ndarray, items: np.ndarray) -> np.ndarray:
        """Scores of pairs of numbers, −1 for unknown ones."""
        return pair_scores(self.users, self.items, self.bias, users, items)

    def top(
        self, user_factors: np.ndarray, seen: np.ndarray, seen_offsets: np.ndarray, n: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """For each row of ``user_factors``, the ``n`` best items outside its slice of ``seen`` (ascending numbers).

        Numbers and scores, best first, of equals the lower number; −1 where there are fewer.
        """
        return top_items(np.ascontiguousarray(user_factors), self.item_factors, self.item_bias, seen, seen_offsets, n)

    def to_arrays(self) -> Arrays:
        return {name: getattr(self, name) for name in ("user_factors", "item_factors", "item_bias")}

    @classmethod
    def from_arrays(cls, arrays: Arrays, n_users: int, n_items: int) -> FactorModel:
        user_factors = require_array(arrays, "user_factors", (n_users, None))
        item_factors = require_array(arrays, "item_factors", (n_items, user_factors.shape[1]))
        return cls(user_factors, item_factors, require_array(arrays, "item_bias", (n_items,)))


def _with_average(rows: np.ndarray) -> np.ndarray:
    average = rows.mean(axis=0, keepdims=True) if len(rows) else np.zeros((1, *rows.shape[1:]))
    return np.concatenate((rows, average))


@njit(cache=True, parallel=ONLY_PRANGE, error_model="numpy")
def pair_scores(
    user_factors: np.ndarray, item_factors: np.ndarray, bias: np.ndarray, users: np.ndarray, items: np.ndarray
) -> np.ndarray:
    """(n_pairs,) scores of parallel arrays of numbers."""
    result = np.empty(len(users))
    for k in prange(len(users)):
        result[k] = bias[items[k]] + _dot(user_factors[users[k]], item_factors[items[k]])
    return result


@njit(cache=True, error_model="numpy")
def _dot(a: np.ndarray, b: np.ndarray) -> float:
    total = 0.0
    for d in range(len(a)):
        total += a[d] * b[d]
    return total


@njit(cache=True, parallel=ONLY_PRANGE, error_model="numpy")
def top_items(
    user_factors: np.ndarray,
    item_factors: np.ndarray,
    bias: np.ndarray,
    seen: np.ndarray,
    seen_offsets: np.ndarray,
    n: int,
) -> tuple[np.ndarray, np.ndarray]:
    """See :meth:`FactorModel.top`. One pass over the items, keeping the best n so far in order."""
    numbers = np.full((len(user_factors), n), -1, np.int64)
    scores = np.full((len(user_factors), n), -np.inf)
    for u in prange(len(user_factors)):
        best, best_score, w = numbers[u], scores[u], user_factors[u]
        skip = seen[seen_offsets[u] : seen_offsets[u + 1]]
        next_seen, n_kept = 0, 0
        for item in range(len(bias)):
            while next_seen < len(skip) and skip[next_seen] < item:
                next_seen += 1
            if next_seen < len(skip) and skip[next_seen] == item:
                continue
            score = bias[item] + _dot(w, item_factors[item])
            if n_kept == n and not score > best_score[n - 1]:
                continue
            place = n_kept if n_kept < n else n - 1
            n_kept = min(n_kept + 1, n)
            while place > 0 and score > best_score[place - 1]:
                best[place], best_score[place] = best[place - 1], best_score[place - 1]
                place -= 1
            best[place], best_score[place] = item, score
    return numbers, scores


@njit(cache=True, parallel=ONLY_PRANGE, error_model="numpy")
def gather_rows(
    factors: np.ndarray, d_scores: np.ndarray, offsets: np.ndarray, rows: np.ndarray, others: np.ndarray
) -> np.ndarray:
    """(n_groups, n_factors) gradients: group g sums ``d_scores[rows[k]] · factors[others[k]]`` over its slice of k.

    Groups are users and others items, or the reverse. Each is summed by one thread in one order, so the number of
    threads cannot change a bit.
    """
    n_factors = factors.shape[1]
    result = np.zeros((len(offsets) - 1, n_factors))
    for g in prange(len(result)):
        total = result[g]
        for k in range(offsets[g], offsets[g + 1]):
            slope, other = d_scores[rows[k]], factors[others[k]]
            for d in range(n_factors):
                total[d] += slope * other[d]
    return result

"""Ratings as lists: a user's items are the documents of a query, the ratings are their grades."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from podium.data.grouping import places_within
from podium.ratings.data import Ratings


@dataclass(frozen=True)
class RatingLists:
    """Ratings grouped by user; a user's ratings stay in their given order."""

    offsets: np.ndarray
    """(n_users + 1,) int64: user u owns the slice ``offsets[u]:offsets[u + 1]``."""
    items: np.ndarray
    """(n_ratings,) int64 number of the item; −1 is an item that nobody knows."""
    values: np.ndarray
    """(n_ratings,) float64."""
    n_items: int
    order: np.ndarray
    """(n_ratings,) the given row of each grouped row."""

    @classmethod
    def of(cls, ratings: Ratings) -> RatingLists:
        """User number u of the ratings is list u, item number i is item i."""
        return cls.group(ratings.user, ratings.item, ratings.values, ratings.n_users, ratings.n_items)

    @classmethod
    def group(cls, user: np.ndarray, item: np.ndarray, values: np.ndarray, n_users: int, n_items: int) -> RatingLists:
        order, offsets = group_numbers(user, n_users)
        return cls(offsets, np.asarray(item, np.int64)[order], np.asarray(values, float)[order], n_items, order)

    @classmethod
    def from_state(cls, state: Mapping[str, Any], n_users: int, n_items: int) -> RatingLists:
        """Lists from stored ``offsets``, ``items`` and ``values``. Raises ValueError if they cannot be lists."""
        offsets, items, values = state["offsets"], state["items"], state["values"]
        sound = (
            offsets.shape == (n_users + 1,)
            and offsets.dtype == items.dtype == np.int64
            and items.shape == values.shape == (offsets[-1],)
            and offsets[0] == 0
            and (np.diff(offsets) >= 0).all()
            and -1 <= items.min(initial=0) <= items.max(initial=-1) < n_items
        )
        if not sound:
            raise ValueError("the model's lists of seen items contradict each other")
        return cls(offsets, items, values, n_items, np.arange(len(items)))

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def sizes(self) -> np.ndarray:
        return np.diff(self.offsets)

    @cached_property
    def users(self) -> np.ndarray:
        """(n_ratings,) the user of each rating."""
        return np.repeat(np.arange(len(self)), self.sizes)

    def where(self, kept: np.ndarray) -> RatingLists:
        """The ratings where ``kept`` is true, of the same users (some now without any) and items."""
        offsets = np.concatenate(([0], np.cumsum(kept)))[self.offsets]
        return RatingLists(offsets, self.items[kept], self.values[kept], self.n_items, self.order[kept])

    def random_places(self, rng: np.random.Generator) -> np.ndarray:
        """(n_ratings,) the place, from 0, of each rating in a random order of its user's."""
        return places_within(self.offsets, rng.random(len(self.items)))

    def known(self) -> RatingLists:
        """The ratings of items that have a number."""
        return self.where(self.items >= 0)

    def matrix(self, entries: np.ndarray) -> Any:
        """A sparse matrix (n_users, n_items) with an entry for each rating."""
        from scipy.sparse import csr_matrix

        return csr_matrix((entries, self.items, self.offsets), shape=(len(self), self.n_items))

    @cached_property
    def seen(self) -> np.ndarray:
        """(n_ratings,) like ``items``, but ascending within each user."""
        return self.items[np.lexsort((self.items, self.users))]


def group_numbers(numbers: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
    """The rows of each number 0 … n−1 together, in their given order, and where each number's rows start."""
    order = sort_numbers(numbers, n)
    return order, np.concatenate(([0], np.cumsum(np.bincount(numbers, minlength=n)))).astype(np.int64)


def sort_numbers(numbers: np.ndarray, n: int) -> np.ndarray:
    """Rows in the order of their numbers from 0 to n − 1, equal ones in their given order."""
    narrow = numbers.astype(np.uint16) if n <= 1 << 16 else numbers  # NumPy sorts 16 bits by their digits, quickly
    return np.argsort(narrow, kind="stable")

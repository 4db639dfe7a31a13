"""Ratings as lists of numbers: a user's items are the documents of a query, the ratings their grades."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from podium.ratings.data import Ratings

if TYPE_CHECKING:
    from scipy.sparse import csr_array


@dataclass(frozen=True)
class RatingLists:
    """Ratings grouped by user, users and items being numbers."""

    offsets: np.ndarray
    """(n_users + 1,) int64: user u owns the slice ``offsets[u]:offsets[u + 1]``."""
    items: np.ndarray
    """(n_ratings,) int64 item numbers; −1 is an unknown item."""
    values: np.ndarray
    """(n_ratings,) float64."""
    n_items: int

    @classmethod
    def of(cls, ratings: Ratings) -> RatingLists:
        """Return lists in which users and items have the numbers they have in ``ratings``."""
        return cls(ratings.offsets, ratings.item, ratings.values, ratings.n_items)

    def to_arrays(self) -> dict[str, np.ndarray]:
        """Return the arrays that :meth:`from_arrays` takes."""
        return {"offsets": self.offsets, "items": self.items, "values": self.values}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Any], n_users: int, n_items: int) -> RatingLists:
        """Return the lists stored in ``arrays``; raise ValueError if they contradict each other."""
        offsets, items, values = arrays["offsets"], arrays["items"], arrays["values"]
        consistent = (
            offsets.shape == (n_users + 1,)
            and offsets.dtype == items.dtype == np.int64
            and items.shape == values.shape == (offsets[-1],)
            and offsets[0] == 0
            and (np.diff(offsets) >= 0).all()
            and -1 <= items.min(initial=0) <= items.max(initial=-1) < n_items
        )
        if not consistent:
            raise ValueError("the model's lists of seen items contradict each other")
        return cls(offsets, items, values, n_items)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def sizes(self) -> np.ndarray:
        return np.diff(self.offsets)

    @cached_property
    def users(self) -> np.ndarray:
        """(n_ratings,) number of each rating's user."""
        return np.repeat(np.arange(len(self)), self.sizes)

    @cached_property
    def seen(self) -> np.ndarray:
        """(n_ratings,) like ``items``, but ascending within each user."""
        return self.items[np.lexsort((self.items, self.users))]

    def where(self, mask: np.ndarray) -> RatingLists:
        """Return the ratings where ``mask`` is true, of the same users (some may have none left) and items."""
        offsets = np.concatenate(([0], np.cumsum(mask)))[self.offsets]
        return RatingLists(offsets, self.items[mask], self.values[mask], self.n_items)

    def known(self) -> RatingLists:
        """Return the ratings of known items."""
        return self.where(self.items >= 0)

    def matrix(self, entries: np.ndarray) -> csr_array:
        """Return a sparse matrix (n_users, n_items) with one entry per rating."""
        from scipy.sparse import csr_array

        return csr_array((entries, self.items, self.offsets), shape=(len(self), self.n_items))

    def item_counts(self) -> np.ndarray:
        """(n_items,) number of ratings of each item."""
        return np.bincount(self.items, minlength=self.n_items)

    def item_means(self, damping: float) -> np.ndarray:
        """(n_items,) mean ratings after adding ``damping`` ratings of the overall mean µ to each item.

        An item without any rating has mean µ.
        """
        total = np.bincount(self.items, self.values, minlength=self.n_items)
        mean = float(self.values.mean())
        weight = self.item_counts() + damping
        return np.divide(total + damping * mean, weight, out=np.full(self.n_items, mean), where=weight > 0)


def group_numbers(numbers: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return rows ordered by their numbers 0 … n−1 (stable), and the (n + 1,) offsets of each number's rows."""
    narrow = numbers.astype(np.uint16) if n <= 1 << 16 else numbers  # NumPy sorts 16 bits by their digits, quickly
    offsets = np.concatenate(([0], np.cumsum(np.bincount(numbers, minlength=n)))).astype(np.int64)
    return np.argsort(narrow, kind="stable"), offsets

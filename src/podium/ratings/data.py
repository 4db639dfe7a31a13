"""Users' ratings of items: the lists of collaborative filtering, in which equal ratings are ties.

A user is a query, an item a document, a rating its grade. Ratings are stored as :class:`podium.Queries` store
documents: those of user ``u`` are the slice ``offsets[u]:offsets[u + 1]``, so any loss or metric applies to them as is.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_matrix

from podium.core.parameters import require_choice
from podium.data.frames import named_columns
from podium.data.grouping import as_ids, number_by_first_appearance
from podium.ratings.ids import Ids

__all__ = ["Ratings"]

DUPLICATES = ("last", "first", "mean", "error")


class Ratings:
    """Users' ratings of items, grouped by user.

    Users and items are numbered in order of first appearance; a user's ratings keep their order.

    Parameters
    ----------
    users, items : (n_ratings,)
        Ids of any type, in any order.
    values : (n_ratings,)
        Ratings, higher is better, finite.
    times : (n_ratings,), optional
        When each rating was given, in any unit that sorts.
    duplicates : {"last", "first", "mean", "error"}
        What to do where a user rates an item more than once: use the last (by time if times are given, else by row),
        the first, or the mean (with the last one's time), or raise. ``n_duplicates`` is the number of ratings merged.

    Attributes
    ----------
    offsets : (n_users + 1,) int64
    users, items : (n_ratings,)
        Ids of each rating's user and item, grouped by user.
    user, item : (n_ratings,) int64
        Their numbers.
    values : (n_ratings,) float64
    times : (n_ratings,) or None
    sizes : (n_users,) int64
        Number of ratings of each user.
    user_ids, item_ids : (n_users,) and (n_items,)
        The ids behind the numbers, read-only.
    n_duplicates : int

    Examples
    --------
    >>> r = Ratings(["ann", "bob", "ann"], ["film", "film", "book"], [5, 3, 4])
    >>> r.n_users, r.n_items, len(r)
    (2, 2, 3)
    >>> r.offsets.tolist(), r.values.tolist(), r.item_ids[r.item].tolist()
    ([0, 2, 3], [5.0, 4.0, 3.0], ['film', 'book', 'film'])
    """

    offsets: np.ndarray
    item: np.ndarray
    values: np.ndarray
    times: np.ndarray | None
    user_numbers: Ids
    item_numbers: Ids
    n_duplicates: int

    def __init__(
        self, users: ArrayLike, items: ArrayLike, values: ArrayLike, times: Any = None, *, duplicates: str = "last"
    ) -> None:
        values = _as_values(values)
        user, self.user_numbers = _numbered(users, len(values), "user")
        item, self.item_numbers = _numbered(items, len(values), "item")
        self._group(user, item, values, times, duplicates)

    @classmethod
    def from_numbers(
        cls,
        user: ArrayLike,
        item: ArrayLike,
        values: ArrayLike,
        times: Any = None,
        *,
        user_ids: ArrayLike,
        item_ids: ArrayLike,
        duplicates: str = "last",
    ) -> Self:
        """Return ratings given by numbers into ``user_ids`` and ``item_ids``; some ids may have no ratings."""
        self = cls.__new__(cls)
        values = _as_values(values)
        self.user_numbers = _frozen(as_ids(user_ids, "user id"))
        self.item_numbers = _frozen(as_ids(item_ids, "item id"))
        user = _as_numbers(user, len(values), self.n_users, "user")
        item = _as_numbers(item, len(values), self.n_items, "item")
        self._group(user, item, values, times, duplicates)
        return self

    @classmethod
    def from_triples(cls, rows: Iterable[Sequence[Any]], *, duplicates: str = "last") -> Self:
        """Return ratings made of tuples.

        Parameters
        ----------
        rows : iterable of tuples
            Each ``(user, item, rating)``, or each ``(user, item, rating, time)``.
        duplicates : {"last", "first", "mean", "error"}
            As in :class:`podium.Ratings`.

        Returns
        -------
        Ratings
            The ratings.
        """
        table = list(rows)
        widths = {len(row) for row in table}
        if not widths <= {3} and not widths <= {4}:
            raise ValueError("every row must be (user, item, rating), or every row (user, item, rating, time)")
        columns = list(zip(*table, strict=True)) or [(), (), ()]
        return cls(*columns, duplicates=duplicates)

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        *,
        user: str = "user",
        item: str = "item",
        rating: str = "rating",
        time: str | None = None,
        duplicates: str = "last",
    ) -> Self:
        """Return the ratings in a pandas, polars or pyarrow frame.

        Parameters
        ----------
        frame : pandas, polars or pyarrow frame
            One row per rating.
        user, item, rating, time : str
            Names of the columns; None for time if there is none.
        duplicates : {"last", "first", "mean", "error"}
            As in :class:`podium.Ratings`.

        Returns
        -------
        Ratings
            The ratings.
        """
        others = [user, item] if time is None else [user, item, time]
        columns = named_columns(frame, others, [rating])
        return cls(*(columns[name] for name in (user, item, rating, *others[2:])), duplicates=duplicates)

    @classmethod
    def from_csr(cls, matrix: Any, *, user_ids: Any = None, item_ids: Any = None, duplicates: str = "last") -> Self:
        """Return the stored entries (zeros too) of a users × items SciPy sparse matrix as ratings.

        Ids default to row and column numbers. Users and items may have no ratings.
        """
        table = matrix.tocoo()
        n_users, n_items = table.shape
        user_ids = np.arange(n_users) if user_ids is None else user_ids
        item_ids = np.arange(n_items) if item_ids is None else item_ids
        if (len(user_ids), len(item_ids)) != (n_users, n_items):
            raise ValueError(f"{len(user_ids)} user and {len(item_ids)} item ids for a {n_users} × {n_items} matrix")
        return cls.from_numbers(
            table.row, table.col, table.data, user_ids=user_ids, item_ids=item_ids, duplicates=duplicates
        )

    def __len__(self) -> int:
        return len(self.values)

    @property
    def n_users(self) -> int:
        """How many users there are, with ratings or without."""
        return len(self.user_numbers)

    @property
    def n_items(self) -> int:
        """How many items there are, with ratings or without."""
        return len(self.item_numbers)

    @property
    def user_ids(self) -> np.ndarray:
        """(n_users,) ids of the users, by their numbers; read-only."""
        return self.user_numbers.ids

    @property
    def item_ids(self) -> np.ndarray:
        """(n_items,) ids of the items, by their numbers; read-only."""
        return self.item_numbers.ids

    @property
    def users(self) -> np.ndarray:
        """(n_ratings,) id of each rating's user."""
        return self.user_ids[self.user]

    @property
    def items(self) -> np.ndarray:
        """(n_ratings,) id of each rating's item."""
        return self.item_ids[self.item]

    @property
    def sizes(self) -> np.ndarray:
        """(n_users,) number of ratings of each user."""
        return np.diff(self.offsets)

    @cached_property
    def user(self) -> np.ndarray:
        """(n_ratings,) number of each rating's user."""
        return np.repeat(np.arange(self.n_users), self.sizes)

    @cached_property
    def ascending(self) -> np.ndarray:
        """(n_ratings,) like ``item``, but ascending within each user."""
        key = self.user * (self.n_items + 1)  # sorting numbers takes a fraction of the time of sorting by two keys
        return np.sort(key + self.item) - key

    def item_counts(self) -> np.ndarray:
        """(n_items,) number of ratings of each item."""
        return np.bincount(self.item, minlength=self.n_items)

    def item_means(self, damping: float) -> np.ndarray:
        """(n_items,) mean ratings after adding ``damping`` ratings of the overall mean µ to each item.

        An item without any rating has mean µ.
        """
        total = np.bincount(self.item, self.values, minlength=self.n_items)
        mean = float(self.values.mean())
        weight = self.item_counts() + damping
        return np.divide(total + damping * mean, weight, out=np.full(self.n_items, mean), where=weight > 0)

    def take(self, ratings: ArrayLike) -> Self:
        """Return some of the ratings (a mask, or numbers in any order); all users and items keep their numbers."""
        rows = np.sort(_rows(ratings))
        return self._select(rows, np.bincount(self.user[rows], minlength=self.n_users))

    def take_users(self, users: ArrayLike) -> Self:
        """Return all ratings of some users (a mask, or numbers), in the order given; items keep their numbers."""
        chosen = _rows(users)
        sizes = self.sizes[chosen]
        rows = np.repeat(self.offsets[chosen] - _offsets(sizes)[:-1], sizes) + np.arange(sizes.sum())
        return self._select(rows, sizes, user_numbers=_frozen(self.user_ids[chosen]))

    def at_least(self, value: float) -> Self:
        """Return the ratings of at least this, such as 4 stars: what users liked. All users and items stay."""
        return self.take(self.values >= value)

    def known(self) -> Self:
        """Return the ratings of known items, leaving out those with the number −1 (see :meth:`replace`)."""
        return self.take(self.item >= 0)

    def replace(self, **changes: Any) -> Self:
        """Return ratings with some of the arrays exchanged; an item that ``item_numbers`` lack has the number −1."""
        other = object.__new__(type(self))
        other.__dict__ = {name: self.__dict__[name] for name in Ratings.__annotations__} | changes
        return other

    def to_csr(self, entries: np.ndarray | None = None) -> csr_matrix:
        """Return the users × items matrix of the ratings, or of other ``entries``. A rating of 0 is a stored zero."""
        data = self.values if entries is None else entries
        return csr_matrix((data, self.item, self.offsets), shape=(self.n_users, self.n_items))

    def to_arrays(self) -> dict[str, np.ndarray]:
        """Return the arrays that :meth:`from_arrays` takes."""
        return {"offsets": self.offsets, "items": self.item, "values": self.values}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Any], users: Ids, items: Ids) -> Self:
        """Return the ratings stored in ``arrays``, of these users and items; raise ValueError if they cannot be."""
        offsets, item, values = arrays["offsets"], arrays["items"], arrays["values"]
        consistent = (
            offsets.shape == (len(users) + 1,)
            and offsets.dtype == item.dtype == np.int64
            and item.shape == values.shape == (offsets[-1],)
            and offsets[0] == 0
            and (np.diff(offsets) >= 0).all()
            and -1 <= item.min(initial=0) <= item.max(initial=-1) < len(items)
        )
        if not consistent:
            raise ValueError("the model's lists of seen items contradict each other")
        ratings = object.__new__(cls)
        ratings.__dict__ = dict(zip(cls.__annotations__, (offsets, item, values, None, users, items, 0), strict=True))
        return ratings

    def _repr_html_(self) -> str:
        from podium.ratings.notebook import html

        return html(self)

    def __repr__(self) -> str:
        merged = f", {self.n_duplicates} duplicates merged" if self.n_duplicates else ""
        return f"Ratings({len(self)} ratings, {self.n_users} users, {self.n_items} items{merged})"

    def _select(self, rows: np.ndarray, sizes: np.ndarray, **changes: Any) -> Self:
        times = None if self.times is None else self.times[rows]
        offsets = _offsets(sizes)
        return self.replace(offsets=offsets, item=self.item[rows], values=self.values[rows], times=times, **changes)

    def _group(self, user: np.ndarray, item: np.ndarray, values: np.ndarray, times: Any, duplicates: str) -> None:
        """Merge duplicates and group the ratings by user."""
        require_choice("duplicates", duplicates, DUPLICATES)
        when = None if times is None else as_ids(times, "time")
        if when is not None:
            _require_one_per_rating("times", when, len(values))
        rows, values, self.n_duplicates = self._merge(user, item, values, when, duplicates)
        order, self.offsets = group_numbers(user[rows], self.n_users)
        rows = rows[order]
        self.item, self.values = item[rows], values[rows]
        self.times = None if when is None else when[rows]

    def _merge(
        self, user: np.ndarray, item: np.ndarray, values: np.ndarray, when: np.ndarray | None, duplicates: str
    ) -> tuple[np.ndarray, np.ndarray, int]:
        """Return the rows to use, one per user and item; the values, averaged if desired; how many are merged."""
        pair = user * max(self.n_items, 1) + item
        if (np.diff(np.sort(pair)) > 0).all():
            return np.arange(len(pair)), values, 0
        order = np.argsort(pair, kind="stable") if when is None else np.lexsort((when, pair))
        starts = np.flatnonzero(np.diff(pair[order], prepend=-1))  # the first rating of each pair
        counts = np.diff(starts, append=len(order))
        n_merged = len(order) - len(starts)
        if n_merged and duplicates == "error":
            twice = order[starts[counts > 1][0]]
            raise ValueError(
                f"user {self.user_ids[user[twice]]} rates item {self.item_ids[item[twice]]} more than once "
                f"({n_merged} such ratings); choose duplicates='last', 'first' or 'mean'"
            )
        used = order[starts] if duplicates == "first" else order[starts + counts - 1]
        if n_merged and duplicates == "mean":
            values = values.copy()
            values[used] = np.add.reduceat(values[order], starts) / counts
        return np.sort(used), values, n_merged


def _numbered(ids: ArrayLike, n: int, what: str) -> tuple[np.ndarray, Ids]:
    """Return a number for each of ``n`` ids, in order of first appearance, and the distinct ids."""
    array = as_ids(ids, what)
    _require_one_per_rating(f"{what}s", array, n)
    numbers, first = number_by_first_appearance(array)
    return numbers, _frozen(array[first])


def _as_numbers(numbers: ArrayLike, n: int, n_ids: int, what: str) -> np.ndarray:
    array = np.asarray(numbers)
    _require_one_per_rating(what, array, n)
    if n and not np.issubdtype(array.dtype, np.integer):
        raise ValueError(f"{what} must hold whole numbers; got {array.dtype}")
    if n and not 0 <= array.min() <= array.max() < n_ids:
        raise ValueError(f"{what} numbers must lie between 0 and {n_ids - 1}; got {array.min()} … {array.max()}")
    return array.astype(np.int64)


def _as_values(values: ArrayLike) -> np.ndarray:
    array = np.array(values, dtype=np.float64)
    if array.ndim != 1:
        raise ValueError(f"values must be one-dimensional; got shape {array.shape}")
    bad = np.flatnonzero(~np.isfinite(array))
    if len(bad):
        raise ValueError(f"the rating in row {bad[0]} is {array[bad[0]]}; ratings must be finite")
    return array


def _require_one_per_rating(name: str, array: np.ndarray, n: int) -> None:
    if array.shape != (n,):
        raise ValueError(f"{name} must have one entry for each of the {n} ratings; got shape {array.shape}")


def _rows(chosen: ArrayLike) -> np.ndarray:
    """Return a mask or numbers as numbers."""
    array = np.asarray(chosen)
    return np.flatnonzero(array) if array.dtype == bool else array.astype(np.int64)


def _frozen(ids: np.ndarray) -> Ids:
    """Return ids that nobody can change."""
    view = ids.view()
    view.flags.writeable = False
    return Ids(view)


def _offsets(sizes: np.ndarray) -> np.ndarray:
    return np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)


def group_numbers(numbers: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return rows ordered by their numbers 0 … n−1 (stable), and the (n + 1,) offsets of each number's rows."""
    offsets = _offsets(np.bincount(numbers, minlength=n))
    if n <= 1 << 16:  # NumPy sorts 16 bits by their digits, quickly
        return np.argsort(numbers.astype(np.uint16), kind="stable"), offsets
    if n * len(numbers) < 1 << 62:  # it sorts numbers many times as fast as it finds their order
        first = len(numbers) * np.repeat(np.arange(n), np.diff(offsets))
        return np.sort(numbers * len(numbers) + np.arange(len(numbers))) - first, offsets
    return np.argsort(numbers, kind="stable"), offsets

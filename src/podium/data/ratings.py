"""Ratings of items by users: the lists of collaborative filtering, where equal stars are ties."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from podium.grouping import number_by_first_appearance
from podium.parameters import choose

DUPLICATES = ("last", "first", "mean", "error")


class Ratings:
    """Users' ratings of items.

    Parameters
    ----------
    users, items : (n_ratings,)
        Ids of any type.
    values : (n_ratings,)
        Ratings, higher is better, finite.
    times : (n_ratings,), optional
        When each rating was given, in any unit.
    duplicates : {"last", "first", "mean", "error"}
        What to do where a user rates an item more than once: keep the last (by time if times are given, else by row),
        keep the first, average (with the last one's time), or refuse. How many were merged is in ``n_duplicates``.

    Examples
    --------
    >>> r = Ratings(["ann", "bob", "ann"], ["film", "film", "book"], [5, 3, 4])
    >>> r.n_users, r.n_items, len(r)
    (2, 2, 3)
    """

    def __init__(self, users: Any, items: Any, values: Any, times: Any = None, *, duplicates: str = "last") -> None:
        choose("duplicates", duplicates, DUPLICATES)
        self.values = np.array(values, dtype=np.float64)
        n = len(self.values)
        self.user, self.user_ids = _numbered(users, n, "users")
        """Number of the user of each rating, and the id behind each number."""
        self.item, self.item_ids = _numbered(items, n, "items")
        self.times = None if times is None else np.asarray(times)
        if self.times is not None and self.times.shape != (n,):
            raise ValueError(f"times must have one entry for each of the {n} ratings; got shape {self.times.shape}")
        bad = np.flatnonzero(~np.isfinite(self.values))
        if len(bad):
            raise ValueError(f"the rating in row {bad[0]} is {self.values[bad[0]]}; ratings must be finite")
        self.n_duplicates = self._merge_duplicates(duplicates)

    def __len__(self) -> int:
        return len(self.values)

    @property
    def n_users(self) -> int:
        return len(self.user_ids)

    @property
    def n_items(self) -> int:
        return len(self.item_ids)

    def __repr__(self) -> str:
        return f"Ratings({len(self)} ratings, {self.n_users} users, {self.n_items} items)"

    def _merge_duplicates(self, duplicates: str) -> int:
        """Keep one rating per user and item, in order of first appearance; return how many went."""
        when = np.arange(len(self)) if self.times is None else self.times
        pair = self.user * max(self.n_items, 1) + self.item
        order = np.lexsort((np.arange(len(self)), when, pair))
        last_of_pair = np.append(np.diff(pair[order]) != 0, True) if len(self) else np.zeros(0, bool)
        n_merged = int((~last_of_pair).sum())
        if n_merged == 0:
            return 0
        starts = np.flatnonzero(np.concatenate(([True], last_of_pair[:-1])))
        if duplicates == "error":
            twice = order[np.flatnonzero(~last_of_pair)[0]]
            raise ValueError(
                f"user {self.user_ids[self.user[twice]]} rates item {self.item_ids[self.item[twice]]} more than once "
                f"({n_merged} such ratings); choose duplicates='last', 'first' or 'mean'"
            )
        kept = order[starts] if duplicates == "first" else order[last_of_pair]
        if duplicates == "mean":
            counts = np.diff(np.append(starts, len(self)))
            self.values[kept] = np.add.reduceat(self.values[order], starts) / counts
        kept = np.sort(kept)
        self.user, self.item, self.values = self.user[kept], self.item[kept], self.values[kept]
        self.times = None if self.times is None else self.times[kept]
        return n_merged


def read_ratings(path: str | os.PathLike[str], *, separator: str | None = None, duplicates: str = "last") -> Ratings:
    """Read lines of ``user item rating [time]``, separated by tabs, commas, semicolons, ``::`` or spaces; gzip or not.

    A first line that does not hold a number in the third place is taken as a header. Ids are kept as integers where all
    of them are, else as strings.
    """
    rows, first_line = _split_lines(Path(path), separator)
    columns = list(zip(*rows, strict=True)) or [(), (), ()]
    values = _numbers(columns[2], path, first_line, "rating")
    times = _numbers(columns[3], path, first_line, "time") if len(columns) > 3 else None
    return Ratings(_ids(columns[0]), _ids(columns[1]), values, times, duplicates=duplicates)


def _split_lines(path: Path, separator: str | None) -> tuple[list[list[str]], int]:
    """The fields of each line, and the number of the first line that holds data."""
    import gzip

    opener = gzip.open if path.suffix.lower() == ".gz" else open
    with opener(path, "rt", encoding="utf-8-sig") as file:
        lines = [line.rstrip("\r\n") for line in file]
    while lines and not lines[-1].strip():
        lines.pop()
    if not lines:
        return [], 1
    if separator is None:
        separator = next((s for s in ("\t", "::", ",", ";") if s in lines[0]), None)
    first_line = 1
    if not _is_number([*lines[0].split(separator), "", "", ""][2]):
        lines, first_line = lines[1:], 2
    rows = [line.split(separator) for line in lines]
    width = len(rows[0]) if rows else 3
    for number, row in enumerate(rows, first_line):
        if len(row) != width or width < 3:
            raise ValueError(
                f"{path}:{number}: expected 'user item rating [time]' separated by {separator or 'spaces'!r}, "
                f"found {len(row)} fields"
            )
    return [row[:4] for row in rows], first_line


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _numbers(texts: Any, path: Any, first_line: int, what: str) -> np.ndarray:
    try:
        return np.array(texts, dtype=np.float64)
    except ValueError:
        number = next(i for i, text in enumerate(texts) if not _is_number(text))
        raise ValueError(f"{path}:{number + first_line}: the {what} {texts[number]!r} is not a number") from None


def _ids(texts: Any) -> np.ndarray:
    array = np.array(texts, dtype=str)
    try:
        numbers = array.astype(np.int64)
    except (ValueError, OverflowError):
        return array
    return numbers if (numbers.astype(str) == array).all() else array  # "007" is not 7


def _numbered(ids: Any, n: int, name: str) -> tuple[np.ndarray, np.ndarray]:
    array = np.asarray(ids)
    if array.shape != (n,):
        raise ValueError(f"{name} must have one entry for each of the {n} ratings; got shape {array.shape}")
    numbers, first = number_by_first_appearance(array)
    return numbers, array[first]

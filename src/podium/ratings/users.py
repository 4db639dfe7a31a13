"""Files that name users: one id per line, or a table with a column of that name."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from io import StringIO
from typing import Any

import numpy as np

from podium.core.later import polars as pl
from podium.core.texts import text_array
from podium.data.io.files import FilePath, first_bytes, read_text
from podium.data.io.parquet import MAGIC, parquet_columns, read_parquet
from podium.data.io.tables import integers_if_plain

COLUMN = "user"
_SEPARATORS = ("\t", ",", ";")


@dataclass(frozen=True)
class NamedUsers:
    """Users that a file names, each once, in order of first appearance."""

    path: FilePath
    ids: np.ndarray
    lines: np.ndarray
    """The line of each, from 1; the row, for a Parquet file."""
    n_repeated: int
    """How many times an id is named again."""

    def where(self, number: int) -> str:
        """Return file and line of a user, for messages."""
        return f"{self.path}:{self.lines[number]}"


def read_users(path: FilePath, like: np.ndarray) -> NamedUsers:
    """Read ids of users, of the same type as those in ``like``.

    A text file has one id on each line; or it is a table separated by commas, semicolons or tabs whose header has a
    column ``user``, as does a Parquet file. Blank lines are skipped.
    """
    if first_bytes(path).startswith(MAGIC):
        if COLUMN not in (names := parquet_columns(path)):
            raise ValueError(f"{path}: there is no column {COLUMN!r}; there are {', '.join(names)}")
        column = read_parquet(path, [COLUMN])[COLUMN]
        found = list(enumerate(column.cast(pl.String).to_list(), 1))
    else:
        found = list(_lines(path))
    if not found:
        raise ValueError(f"no users in {path}")
    for line, text in found:
        if not text:
            raise ValueError(f"{path}:{line}: the user is missing")
    first: dict[str, int] = {}
    for line, text in found:
        first.setdefault(text, line)
    lines = np.array(list(first.values()))
    return NamedUsers(path, _ids(path, list(first), lines, like), lines, len(found) - len(first))


def _lines(path: FilePath) -> Iterator[tuple[int, str]]:
    """Yield the users of a text file, each with its line."""
    text = read_text(path)
    head = next((line for line in text.splitlines() if line.strip()), "")
    separator = next((s for s in _SEPARATORS if s in head), ",")
    names = [name.strip().strip('"') for name in head.split(separator)]
    if COLUMN not in names:
        yield from ((number, line.strip()) for number, line in enumerate(text.split("\n"), 1) if line.strip())
        return
    place, reader = names.index(COLUMN), csv.reader(StringIO(text), delimiter=separator)
    begun = False
    try:
        for fields in reader:
            if any(field.strip() for field in fields):
                if begun:
                    yield reader.line_num, fields[place].strip() if place < len(fields) else ""
                begun = True
    except csv.Error as error:
        raise ValueError(f"{path}:{reader.line_num}: {error}") from None


def _ids(path: FilePath, texts: list[str], lines: np.ndarray, like: np.ndarray) -> np.ndarray:
    """Return ids of the type that ``like`` has; raise ValueError with the line of one that cannot be such an id."""
    if like.dtype == object:  # texts and numbers
        known: dict[str, Any] = {str(x): x for x in like.tolist()}
        mixed = np.empty(len(texts), dtype=object)
        mixed[:] = [known.get(text, text) for text in texts]
        return mixed
    if like.dtype.kind not in "iuf":
        return text_array(texts)
    column = pl.Series(texts)
    if like.dtype.kind == "f":
        numbers = column.cast(pl.Float64, strict=False)
        bad = numbers.is_null()
    else:
        numbers = integers_if_plain(column)
        bad = column.cast(pl.Int64, strict=False).cast(pl.String).ne_missing(column)
    if bad.any():
        row = int(bad.arg_max() or 0)
        raise ValueError(
            f"{path}:{lines[row]}: {texts[row]!r} is not a number, as the ids of the model's users are; "
            f"expected one id per line, or a table with a column named {COLUMN}"
        )
    return numbers.to_numpy()

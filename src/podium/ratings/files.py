"""Files of ratings: a user, an item, a rating and perhaps a time on each line."""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from podium.data.io.files import FilePath, open_text
from podium.ratings.data import Ratings

if TYPE_CHECKING:
    import polars

SEPARATORS = ("\t", "::", ",", ";")
"""Looked for in the first line, in this order; without any of them, white space separates."""
_PARTS = ("user", "item", "rating", "time")


def read_ratings(
    path: FilePath,
    *,
    columns: Sequence[str] | None = None,
    separator: str | None = None,
    duplicates: str = "last",
) -> Ratings:
    """Read ``user item rating [time]``, a rating on each line, or Parquet.

    Fields are separated by tabs, commas, semicolons, ``::`` or spaces; the file may be a gzip file. A first line that
    does not hold a number in the third place is taken as a header. Ids are kept as integers where all of them are, else
    as strings. Blank lines are skipped.

    Parameters
    ----------
    columns : names, optional
        Of the user, item, rating and (if there are four) time, in a file with a header; by default the first three or
        four columns in order.
    separator : str, optional
        By default found in the first line.
    duplicates : {"last", "first", "mean", "error"}
        Where a user rates an item more than once, see :class:`Ratings`.
    """
    if columns is not None and not 3 <= len(columns) <= 4:
        raise ValueError(f"columns are the user's, the item's, the rating's and perhaps the time's name; got {columns}")
    if Path(path).suffix.lower() in (".parquet", ".pq"):
        return _read_parquet(path, columns, duplicates)
    file = _TextFile(path, separator, columns)
    users, items = (file.ids(i) for i in (0, 1))
    values = file.numbers(2)
    times = file.numbers(3) if len(file.table.columns) > 3 else None
    return Ratings(users, items, values, times, duplicates=duplicates)


def _read_parquet(path: FilePath, columns: Sequence[str] | None, duplicates: str) -> Ratings:
    import polars as pl

    names = list(columns or pl.scan_parquet(Path(path)).collect_schema().names()[:4])
    if len(names) < 3:
        raise ValueError(f"{path}: expected columns for user, item and rating; there are {', '.join(names) or 'none'}")
    frame = pl.read_parquet(Path(path), columns=names)
    parts: dict[str, Any] = dict(zip(_PARTS, names, strict=False))
    try:
        return Ratings.from_frame(frame, **parts, duplicates=duplicates)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None


class _TextFile:
    """A text file as a table of strings, and where its rows come from, for messages."""

    def __init__(self, path: FilePath, separator: str | None, columns: Sequence[str] | None) -> None:
        self.path = path
        self._text = open_text(path).tobytes()
        head = re.search(rb"[^\r\n]*\S[^\r\n]*", self._text)
        first = head.group().decode("utf-8", "backslashreplace") if head else ""
        self._separator = separator or next((s for s in SEPARATORS if s in first), " ")
        fields = _fields(first.strip(), self._separator)
        self._has_header = columns is not None or (head is not None and not _is_number([*fields, "", "", ""][2]))
        self._width = max(len(fields), 3)
        if head is not None and len(fields) < 3:
            raise self._error(0, f"{self._expected} found {len(fields)} fields", after_header=False)
        self.table = self._split()
        if columns is None:
            self.table = self.table[:, :4]
        else:
            names = [name.strip() for name in fields]
            missing = [name for name in columns if name not in names]
            if missing:
                raise ValueError(f"{path}: there is no column {missing[0]!r}; the header reads {', '.join(names)}")
            self.table = self.table[:, [names.index(name) for name in columns]]

    @property
    def _expected(self) -> str:
        shown = "spaces" if self._separator == " " else repr(self._separator)
        return f"expected 'user item rating [time]' separated by {shown},"

    def ids(self, column: int) -> np.ndarray:
        import polars as pl

        texts = self.table.to_series(column)
        missing = texts.is_null() | (texts == "")
        if missing.any():
            raise self._error(int(missing.arg_max() or 0), f"the {_PARTS[column]} is missing")
        numbers = texts.cast(pl.Int64, strict=False)
        if not numbers.is_null().any() and (numbers.cast(pl.String) == texts).all():  # "007" is not 7
            return numbers.to_numpy()
        return np.array(texts.to_list(), dtype=str)

    def numbers(self, column: int) -> np.ndarray:
        import polars as pl

        texts = self.table.to_series(column)
        values = texts.str.strip_chars().cast(pl.Float64, strict=False).fill_null(np.nan).to_numpy()
        bad = np.flatnonzero(~np.isfinite(values))
        if len(bad):
            row = int(bad[0])
            raise self._error(row, f"the {_PARTS[column]} {texts[row] or ''!r} is not a finite number")
        return values

    def _split(self) -> polars.DataFrame:
        import polars as pl

        text = self._text
        if self._separator == " ":
            text = re.sub(rb"[^\S\r\n]*(^|$)[^\S\r\n]*|[^\S\r\n]+", _one_space, text, flags=re.MULTILINE)
        separator = "\t" if len(self._separator) > 1 else self._separator
        text = text if separator == self._separator else text.replace(self._separator.encode(), separator.encode())
        names = [str(i) for i in range(self._width)]
        if not text.strip():
            return pl.DataFrame({name: [] for name in names}, schema=dict.fromkeys(names, pl.String))
        try:
            table = pl.read_csv(
                text,
                separator=separator,
                has_header=False,
                schema=dict.fromkeys(names, pl.String),
            )
        except pl.exceptions.PolarsError as error:
            raise self._ragged(text, separator) or ValueError(f"{self.path}: {error}") from None
        blank = pl.all_horizontal(pl.all().is_null())
        table = table.filter(~blank)[int(self._has_header) :]
        short = table.to_series(min(self._width, len(names)) - 1).is_null()
        if short.any() and (ragged := self._ragged(text, separator)) is not None:
            raise ragged
        return table

    def _ragged(self, text: bytes, separator: str) -> ValueError | None:
        """What is wrong with the first line that has another number of fields than the first."""
        for number, line in enumerate(text.splitlines(), 1):
            n = line.count(separator.encode()) + 1
            if line.strip() and n != self._width and b'"' not in line:
                return ValueError(f"{self.path}:{number}: {self._expected} found {n} fields, not {self._width}")
        return None

    def _error(self, row: int, message: str, after_header: bool = True) -> ValueError:
        """An error that names the line of a row."""
        filled = [number for number, line in enumerate(self._text.splitlines(), 1) if line.strip()]
        return ValueError(f"{self.path}:{filled[row + (self._has_header and after_header)]}: {message}")


def _fields(line: str, separator: str) -> list[str]:
    if len(separator) == 1 and '"' in line:  # a quoted field may hold the separator
        return next(csv.reader([line], delimiter=separator))
    return line.split(None if separator == " " else separator)


def _one_space(match: re.Match[bytes]) -> bytes:
    return b" " if match.group(1) is None else b""


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True

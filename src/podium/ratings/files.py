"""Files of ratings: a user, an item, a rating and perhaps a time on each line."""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from podium.core.later import polars as pl
from podium.core.texts import text_array
from podium.data.frames import is_number
from podium.data.io.files import FilePath, decoded, read_bytes, require_line_ends
from podium.data.io.parquet import parquet_columns, read_parquet
from podium.data.io.tables import integers_if_plain, naming
from podium.ratings.data import Ratings

__all__ = ["read_ratings"]

SEPARATORS = ("\t", "::", ",", ";")
"""Looked for in the first line, in this order; without any of them, whitespace separates."""
_PARTS = ("user", "item", "rating", "time")


def read_ratings(
    path: FilePath, *, columns: Sequence[str] | None = None, separator: str | None = None, duplicates: str = "last"
) -> Ratings:
    """Read a text file with one rating ``user item rating [time]`` per line, or a Parquet file.

    Fields are separated by tabs, commas, semicolons, ``::`` or spaces; the file may be gzipped. A first line without a
    number in the third place is taken as a header. Ids are integers if all of them are, otherwise strings. Blank lines
    are skipped.

    Parameters
    ----------
    path : path
        The file.
    columns : sequence of str, optional
        The columns of user, item, rating and (if there are four) time, in a file with a header; by default the first
        three or four columns.
    separator : str, optional
        By default found in the first line.
    duplicates : {"last", "first", "mean", "error"}
        What to do where a user rates an item more than once, see :class:`podium.Ratings`.

    Returns
    -------
    Ratings
        With times, if there are some.

    Raises
    ------
    ValueError
        If a file cannot be read, with its name and line, or if there is no rating in it.

    Examples
    --------
    >>> import podium, tempfile
    >>> from pathlib import Path
    >>> path = Path(tempfile.mkdtemp(), "ratings.csv")
    >>> _ = path.write_text("user,film,stars\\nann,up,5\\nann,alien,2\\nbob,up,4\\n")
    >>> podium.read_ratings(path)
    Ratings(3 ratings, 2 users, 2 items)
    """
    ratings = read_part(path, columns=columns, separator=separator, duplicates=duplicates)
    if not len(ratings):
        raise ValueError(f"no ratings in {path}")
    return ratings


def read_part(path: FilePath, *, columns: Sequence[str] | None, separator: str | None, duplicates: str) -> Ratings:
    """Read one of several files, as :func:`read_ratings` does; there may be no rating in it."""
    if columns is not None and not 3 <= len(columns) <= 4:
        raise ValueError(f"columns must name those of user, item, rating and perhaps time; got {columns}")
    if Path(path).suffix.lower() in (".parquet", ".pq"):
        return _read_parquet(path, columns, duplicates)
    file = _TextFile(path, separator, columns)
    times = file.numbers(3) if file.table.width > 3 else None
    parts = file.ids(0), file.ids(1), file.numbers(2), times
    with naming(path):
        return Ratings(*parts, duplicates=duplicates)


def _read_parquet(path: FilePath, columns: Sequence[str] | None, duplicates: str) -> Ratings:
    names = list(columns or parquet_columns(path)[:4])
    if len(names) < 3:
        raise ValueError(f"{path}: expected columns for user, item and rating; there are {', '.join(names) or 'none'}")
    frame = read_parquet(path, names)
    parts: dict[str, Any] = dict(zip(_PARTS, names, strict=False))
    with naming(path):
        return Ratings.from_frame(frame, **parts, duplicates=duplicates)


class _TextFile:
    """A text file as a table of strings, with errors that name the line."""

    def __init__(self, path: FilePath, separator: str | None, columns: Sequence[str] | None) -> None:
        self.path = path
        self._text = read_bytes(path)
        decoded(path, self._text)  # says which line is not UTF-8
        require_line_ends(path, self._text)
        head = re.search(rb"[^\n]*\S[^\n]*", self._text)
        first = head.group().decode("utf-8", "backslashreplace").strip() if head else ""
        self._separator = separator or next((s for s in SEPARATORS if s in first), " ")
        try:
            fields = _fields(first, self._separator)
        except csv.Error as error:
            raise ValueError(f"{path}:{self._lines()[0]}: {error}") from None
        if head is not None and len(fields) < 3:
            raise ValueError(f"{path}:{self._lines()[0]}: {self._expected} found {len(fields)} fields")
        self._has_header = columns is not None or (head is not None and not is_number(fields[2]))
        self.table = self._split(max(len(fields), 3))
        wanted = list(range(min(4, self.table.width)))
        if columns is not None:
            names = [name.strip() for name in fields]
            missing = [name for name in columns if name not in names]
            if missing:
                raise ValueError(f"{path}: there is no column {missing[0]!r}; the header reads {', '.join(names)}")
            wanted = [names.index(name) for name in columns]
        self.table = self.table[:, wanted]

    @property
    def _expected(self) -> str:
        shown = "spaces" if self._separator == " " else repr(self._separator)
        return f"expected 'user item rating [time]' separated by {shown},"

    def ids(self, column: int) -> np.ndarray:
        texts = self.table.to_series(column)
        missing = texts.is_null() | (texts == "")
        if missing.any():
            raise self._error(int(missing.arg_max() or 0), f"the {_PARTS[column]} is missing")
        ids = integers_if_plain(texts)
        return text_array(ids.to_list()) if ids is texts else ids.to_numpy()

    def numbers(self, column: int) -> np.ndarray:
        texts = self.table.to_series(column)
        values = texts.str.strip_chars().cast(pl.Float64, strict=False).fill_null(np.nan).to_numpy()
        bad = np.flatnonzero(~np.isfinite(values))
        if len(bad):
            row = int(bad[0])
            raise self._error(row, f"the {_PARTS[column]} {texts[row] or ''!r} is not a finite number")
        return values

    def _split(self, width: int) -> pl.DataFrame:
        text, separator = self._text, self._separator
        if separator == " ":
            text = b"\n".join(b" ".join(line.split()) for line in text.split(b"\n"))
        elif len(separator) > 1:  # polars takes one character, one that is not in the text
            other = next((c for c in "\t\x1f\x1e\x01" if c.encode() not in text), None)
            if other is None:
                raise ValueError(f"{self.path}: control characters between fields; separate them by tabs")
            text, separator = text.replace(separator.encode(), other.encode()), other
        schema = dict.fromkeys(map(str, range(width)), pl.String)
        if not text.strip():
            return pl.DataFrame(schema=schema)
        try:
            table = pl.read_csv(text, separator=separator, has_header=False, schema=schema)
        except pl.exceptions.PolarsError as error:
            raise self._ragged(text, separator, width) or ValueError(f"{self.path}: {error}") from None
        blank = pl.all_horizontal(pl.all().is_null() | (pl.all().str.strip_chars(" \t\v\f\r\n") == ""))
        table = table.filter(~blank)[int(self._has_header) :]
        self._require_all_lines(table.height, separator.encode())
        if table.to_series(-1).is_null().any() and (ragged := self._ragged(text, separator, width)) is not None:
            raise ragged
        return table

    def _require_all_lines(self, n_rows: int, separator: bytes) -> None:
        """Raise if a line that is not blank was taken for one because all its fields are."""
        text = self._text
        if n_rows + self._has_header == text.count(b"\n") + (not text.endswith(b"\n")):
            return  # each line is a row: there is no need for millions of lines as objects
        if b'"' in text or n_rows + self._has_header == len(self._lines()):
            return
        for number, line in enumerate(text.split(b"\n"), 1):
            if line.strip() and not line.replace(self._separator.encode(), b"").replace(separator, b"").strip():
                raise ValueError(f"{self.path}:{number}: {self._expected} found empty fields")

    def _ragged(self, text: bytes, separator: str, width: int) -> ValueError | None:
        """Return an error for the first line that has another number of fields than the first, if there is one."""
        for number, line in enumerate(text.split(b"\n"), 1):
            n = line.count(separator.encode()) + 1
            if line.strip() and n != width and b'"' not in line:
                return ValueError(f"{self.path}:{number}: {self._expected} found {n} fields, not {width}")
        return None

    def _error(self, row: int, message: str) -> ValueError:
        """Return an error that names the line of a row."""
        return ValueError(f"{self.path}:{self._lines()[row + self._has_header]}: {message}")

    def _lines(self) -> list[int]:
        """Return the numbers, from 1, of the lines that are not blank."""
        return [number for number, line in enumerate(self._text.split(b"\n"), 1) if line.strip()]


def _fields(line: str, separator: str) -> list[str]:
    if len(separator) == 1 and '"' in line:  # a quoted field may hold the separator
        return next(csv.reader([line], delimiter=separator))
    return line.split(None if separator == " " else separator)

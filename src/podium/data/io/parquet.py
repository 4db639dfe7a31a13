"""Reading Parquet files, which may be broken."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from podium.core.later import polars as pl
from podium.data.io.files import FilePath, changed, open_file
from podium.data.io.parquet_footer import MAGIC as MAGIC
from podium.data.io.parquet_footer import checked_chunks
from podium.data.io.parquet_pages import check_pages
from podium.data.io.parquet_process import is_trusted, read_elsewhere

_BYTES_AT_A_TIME = 64 << 20


class ParquetFile:
    """A Parquet file whose columns are read when they are needed; ValueError if it is broken, or no longer the same."""

    def __init__(self, path: FilePath) -> None:
        self.path = path
        with open_file(path) as file, _broken_is_an_error(path):
            self._state = _state(os.fstat(file.fileno()))
            self._unchecked = checked_chunks(file, self._state[2])
        empty, self.height = self._read(None)
        self.schema: Mapping[str, Any] = empty.schema

    def read(self, columns: Sequence[str] | None = None, start: int = 0, length: int | None = None) -> pl.DataFrame:
        """Return some columns, or all, of some rows, or of all."""
        columns = list(self.schema) if columns is None else columns
        self._check_pages(columns)
        n_rows = self.height if length is None else length
        step = max(1, _BYTES_AT_A_TIME // (8 * max(1, n_rows)))  # columns, so that messages are of moderate size
        parts = [self._read(columns[j : j + step], start, length)[0] for j in range(0, max(1, len(columns)), step)]
        return pl.concat(parts, how="horizontal") if len(parts) > 1 else parts[0]

    def _check_pages(self, columns: Sequence[str]) -> None:
        chunks = [chunk for chunk in self._unchecked if chunk.column in columns]
        with self._while_it_stays_the_same(), open_file(self.path) as file:
            for chunk in [] if is_trusted() else chunks:
                check_pages(file, chunk)
        self._unchecked = [chunk for chunk in self._unchecked if chunk.column not in columns]

    def _read(self, *request: Any) -> tuple[pl.DataFrame, int]:
        with self._while_it_stays_the_same():
            return read_elsewhere(str(Path(self.path).absolute()), *request)

    @contextmanager
    def _while_it_stays_the_same(self) -> Iterator[None]:
        self._require_same()
        try:
            with _broken_is_an_error(self.path):
                yield
        finally:
            self._require_same()  # whatever came of it

    def _require_same(self) -> None:
        path = Path(self.path)
        if not path.exists() or _state(path.stat()) != self._state:
            raise changed(self.path)


def read_parquet(path: FilePath, columns: Sequence[str] | None = None) -> pl.DataFrame:
    """Read a Parquet file, or some of its columns."""
    return ParquetFile(path).read(columns)


def parquet_columns(path: FilePath) -> list[str]:
    """Return the names of a Parquet file's columns."""
    return list(ParquetFile(path).schema)


def _state(status: os.stat_result) -> tuple[int, ...]:
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


@contextmanager
def _broken_is_an_error(path: FilePath) -> Iterator[None]:
    """Turn whatever is wrong with a file, and whatever polars does about it, into a ValueError that names it."""
    try:
        yield
    except (ValueError, pl.exceptions.PolarsError, OSError, MemoryError) as error:
        raise ValueError(f"{path}: broken Parquet file: {error}"[:1000]) from None
    except BaseException as error:
        if type(error).__name__ != "PanicException":  # of Rust, which no module exports
            raise
        raise ValueError(f"{path}: broken Parquet file: {error}"[:1000]) from None

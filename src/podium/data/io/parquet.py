"""Reading Parquet files, which may be broken."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path

from podium.core.later import polars as pl
from podium.data.io.files import FilePath, open_file, read_bytes
from podium.data.io.parquet_footer import MAGIC as MAGIC
from podium.data.io.parquet_footer import check_footer
from podium.data.io.parquet_trial import try_reading

MOST_BYTES_AT_ONCE = 2**26
"""Files up to this size are read whole; for larger ones that would take too much memory beside the matrix."""
_checked: deque[tuple[int, ...]] = deque(maxlen=16)
"""The state of the files that were found sound."""


def read_parquet(path: FilePath, columns: list[str] | None = None) -> pl.DataFrame:
    """Read a Parquet file, or some of its columns.

    Polars maps files into memory, and one that shrinks then ends the process. So all but large ones are read first.
    """
    check_parquet(path)
    with broken_is_an_error(path):
        small = Path(path).stat().st_size <= MOST_BYTES_AT_ONCE
        return pl.read_parquet(BytesIO(read_bytes(path)) if small else Path(path), columns=columns)


def parquet_columns(path: FilePath) -> list[str]:
    """Return the names of a Parquet file's columns."""
    check_parquet(path)
    with broken_is_an_error(path):
        return list(pl.read_parquet_schema(Path(path)))


def check_parquet(path: FilePath) -> None:
    """Raise ValueError if reading the file would fail or end the process."""
    with open_file(path) as file:
        status = os.fstat(file.fileno())
        state = status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns
        if state not in _checked:  # large files are read some columns at a time
            try:
                check_footer(file, status.st_size)
                try_reading(path)
            except ValueError as error:
                raise _broken(path, error) from None
            _checked.append(state)


@contextmanager
def broken_is_an_error(path: FilePath) -> Iterator[None]:
    """Turn whatever polars does about a broken file into a ValueError that names it."""
    try:
        yield
    except (pl.exceptions.PolarsError, OSError, MemoryError) as error:
        raise _broken(path, error) from None
    except BaseException as error:
        if type(error).__name__ != "PanicException":  # of Rust, which no module exports
            raise
        raise _broken(path, error) from None


def _broken(path: FilePath, error: BaseException) -> ValueError:
    return ValueError(f"{path}: broken Parquet file: {error}"[:1000])

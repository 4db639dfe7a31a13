"""The lock on a run's folder."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold a folder: a second run in it is refused meanwhile. The lock ends with the process, however that ends."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / ".lock"
    try:
        lock = sqlite3.connect(path, timeout=0.0, isolation_level=None)
    except sqlite3.OperationalError as error:
        raise OSError(f"{path}: {error}; the folder of a run must be writable") from error
    try:
        lock.execute("BEGIN EXCLUSIVE")  # an empty database: SQLite knows how to lock a file on every system
    except sqlite3.OperationalError as error:
        lock.close()
        if error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY:
            raise ValueError(
                f"another comparison is running in {folder}; wait for it or choose another folder"
            ) from None
        raise OSError(f"{path}: {error}; the folder of a run must be writable") from error
    try:
        yield
    finally:
        lock.close()

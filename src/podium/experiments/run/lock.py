"""The lock on a run's folder."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold a folder: a second run in it is refused meanwhile. The lock ends with the process, however that ends."""
    folder.mkdir(parents=True, exist_ok=True)
    lock = sqlite3.connect(folder / ".lock", timeout=0.0, isolation_level=None)
    try:
        lock.execute("BEGIN EXCLUSIVE")  # an empty database: SQLite knows how to lock a file on every system
    except sqlite3.OperationalError:
        lock.close()
        raise ValueError(f"another comparison is running in {folder}; wait for it or choose another folder") from None
    try:
        yield
    finally:
        lock.close()

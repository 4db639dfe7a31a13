"""Fixtures that tests of readers share."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path

import pytest


@pytest.fixture
def file(tmp_path: Path) -> Callable[..., Path]:
    """Return a function that writes text (or bytes) to a file and returns its path."""

    def write(text: str | bytes, name: str = "data.txt") -> Path:
        path = tmp_path / name
        content = text.encode() if isinstance(text, str) else text
        path.write_bytes(gzip.compress(content) if name.lower().endswith(".gz") else content)
        return path

    return write

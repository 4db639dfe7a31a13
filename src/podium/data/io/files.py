"""Data files as arrays of bytes: opening, writing, and errors that name file and line."""

import gzip
import mmap
import os
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np

from podium.core.atomic import atomic_write

FilePath = str | os.PathLike[str]

_GZIP_MAGIC = b"\x1f\x8b"
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def flat_paths(paths: Sequence[Any]) -> Iterator[FilePath]:
    """Yield the paths in paths and lists of paths."""
    for path in paths:
        if isinstance(path, (str, os.PathLike)):
            yield path
        else:
            yield from flat_paths(path)


def open_text(path: FilePath) -> np.ndarray:
    """Return a file's bytes, read-only, without byte order mark: memory-mapped, or unpacked if it is a gzip file."""
    with Path(path).open("rb") as file:
        magic = file.read(len(_GZIP_MAGIC))
        file.seek(0)
        if magic == _GZIP_MAGIC:
            data: Any = bytearray()
            for block in _unpacked(file, path):
                data += block
        else:
            data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) if magic else b""
    buffer = np.frombuffer(data, np.uint8)
    buffer.flags.writeable = False  # gives compiled parsers one type, wherever the bytes come from
    return buffer[len(_BYTE_ORDER_MARK) :] if buffer[:3].tobytes() == _BYTE_ORDER_MARK else buffer


def first_bytes(path: FilePath, n: int = 1 << 16) -> bytes:
    """Return up to ``n`` bytes from the start of a file, unpacked if it is a gzip file, without a byte order mark."""
    with Path(path).open("rb") as file:
        head = file.read(n)
        if head[:2] == _GZIP_MAGIC:
            file.seek(0)
            head = next(_unpacked(file, path, n), b"")
    return head.removeprefix(_BYTE_ORDER_MARK)


def _unpacked(file: IO[bytes], path: FilePath, block_size: int = 1 << 20) -> Iterator[bytes]:
    try:
        with gzip.open(file) as unpacked:
            while block := unpacked.read(block_size):
                yield block
    except (EOFError, OSError, zlib.error) as error:
        raise ValueError(f"{path}: broken gzip file: {error}") from None


@contextmanager
def writing(path: FilePath) -> Iterator[IO[bytes]]:
    """Open a file that is written completely or not at all, as a gzip file if its name ends in ``.gz``."""
    with atomic_write(path, "wb") as file:
        if Path(path).suffix.lower() != ".gz":
            yield file
            return
        # Without name and time in the header, the same content gives the same bytes.
        with gzip.GzipFile("", "wb", compresslevel=6, fileobj=file, mtime=0) as packed:
            yield packed  # type: ignore[misc]


def error_at(path: FilePath, buffer: np.ndarray, position: int, message: str) -> ValueError:
    """Return an error that names file and line."""
    line = int(np.count_nonzero(buffer[:position] == ord("\n"))) + 1
    return ValueError(f"{path}:{line}: {message}")


def token_at(buffer: np.ndarray, position: int, longest: int = 40) -> str:
    """Return the text from a byte up to whitespace, shortened if it is long, for messages."""
    text = buffer[position : position + 8 * longest].tobytes().decode("utf-8", "backslashreplace")
    token = "".join(text.split(maxsplit=1)[:1])
    return token if len(token) <= longest else token[:longest] + "…"

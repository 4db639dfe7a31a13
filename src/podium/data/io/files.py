"""Data files as arrays of bytes: opening, writing, and errors that name file and line."""

import gzip
import os
import re
import stat
import tempfile
import threading
import weakref
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import IO, Any

import numpy as np

from podium.core.atomic import atomic_write
from podium.core.limits import allowed_bytes, limit, raise_limit

FilePath = str | os.PathLike[str]

NEWLINE = b"\n"
_PIECE = 1 << 20
_IN_MEMORY = 64 << 20
"""Bytes of text up to which a gzip file is unpacked in memory."""
_scratch = threading.local()
_seeking = threading.Lock()
_GZIP_MAGIC = b"\x1f\x8b"
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_LONE_RETURN = re.compile(rb"\r(?!\n|\Z)")


def flat_paths(paths: Sequence[Any]) -> Iterator[FilePath]:
    """Yield the paths in paths and lists of paths."""
    for path in paths:
        if isinstance(path, (str, os.PathLike)):
            yield path
        else:
            yield from flat_paths(path)


class TextSource:
    """The bytes of a text file, plain or gzipped, without byte order mark, read piece by piece.

    Files are not mapped into memory: one that shrinks while it is read would end the process.

    ``content`` is a part of the file that was read already, after so many lines.
    """

    def __init__(self, path: FilePath, content: bytes | None = None, lines_before: int = 0) -> None:
        self.path, self.lines_before = path, lines_before
        self._unpacked: np.ndarray | None = None
        if content is not None:
            self._unpacked, self.start, self.stop = _frozen(content), 0, len(content)
            return
        with open_file(path) as file:
            packed = file.read(len(_GZIP_MAGIC)) == _GZIP_MAGIC
            file.seek(0)
            self._handle = self._unpack(file) if packed else os.dup(file.fileno())
        weakref.finalize(self, os.close, self._handle)
        mark = self.span(0, len(_BYTE_ORDER_MARK), exact=False).tobytes() == _BYTE_ORDER_MARK
        self.start = len(_BYTE_ORDER_MARK) if mark else 0
        """Where the text begins."""
        whole = os.fstat(self._handle).st_size if self._unpacked is None else len(self._unpacked)
        self.stop = max(whole, self.start)

    def _unpack(self, file: IO[bytes]) -> int:
        """Unpack a gzip file in memory, or to a temporary file if that is large; return the handle of a file."""
        blocks, size = _unpacked(file, self.path), 0
        pieces = []
        for block in blocks:
            pieces.append(block)
            size += len(block)
            if size > _IN_MEMORY:
                break
        else:
            self._unpacked = _frozen(b"".join(pieces))
            return os.dup(file.fileno())
        with tempfile.TemporaryFile() as text:
            for block in chain(pieces, blocks):
                try:
                    text.write(block)
                except OSError as error:
                    raise OSError(
                        f"{self.path}: its text cannot be unpacked to a temporary file in {tempfile.gettempdir()} "
                        f"({error}); set TMPDIR to a folder with enough room"
                    ) from error
            text.flush()
            return os.dup(text.fileno())

    def span(self, start: int, stop: int, exact: bool = True) -> np.ndarray:
        """Return bytes, read-only; raise ValueError if the file does not have them any more."""
        if self._unpacked is not None:
            return self._unpacked[start:stop]
        content = _read_at(self._handle, stop - start, start)
        while exact and len(content) < stop - start:  # the system reads at most 2 GB at a time
            more = _read_at(self._handle, stop - start - len(content), start + len(content))
            if not more:
                raise changed(self.path)
            content += more
        return _frozen(content)

    def passing(self, start: int, stop: int) -> np.ndarray:
        """Return bytes like :meth:`span`, valid until the next call in the same thread: memory is used again."""
        if self._unpacked is not None or not hasattr(os, "preadv"):
            return self.span(start, stop)
        size = stop - start
        if len(getattr(_scratch, "memory", b"")) < size:
            _scratch.memory = bytearray(size)
        memory, done = memoryview(_scratch.memory)[:size], 0
        while done < size:
            read = os.preadv(self._handle, [memory[done:]], start + done)
            if not read:
                raise changed(self.path)
            done += read
        return _frozen(memory.toreadonly())

    def end_of_line(self, position: int) -> int:
        """Return the position after the next newline, or the end of the text."""
        while position < self.stop:
            piece = self.span(position, min(position + _PIECE, self.stop)).tobytes()
            found = piece.find(b"\n")
            if found >= 0:
                return position + found + 1
            position += len(piece)
        return self.stop

    def error_at(self, position: int, message: str) -> ValueError:
        """Return an error that names file and line."""
        starts = range(self.start, position, _PIECE)
        pieces = (self.span(start, min(start + _PIECE, position)) for start in starts)
        line = self.lines_before + 1 + sum(int(np.count_nonzero(piece == ord("\n"))) for piece in pieces)
        return ValueError(f"{self.path}:{line}: {message}")

    def token_at(self, position: int, longest: int = 40) -> str:
        """Return the text from a byte up to whitespace, shortened if it is long, for messages."""
        text = self.span(position, min(position + 8 * longest, self.stop)).tobytes().decode("utf-8", "backslashreplace")
        token = "".join(text.split(maxsplit=1)[:1])
        return token if len(token) <= longest else token[:longest] + "…"


def _read_at(handle: int, n: int, position: int) -> bytes:
    if hasattr(os, "pread"):
        return os.pread(handle, n, position)
    with _seeking:  # Windows
        os.lseek(handle, position, os.SEEK_SET)
        return os.read(handle, n)


def open_file(path: FilePath) -> IO[bytes]:
    """Open a file for reading; raise ValueError if it is a folder, a pipe or a device, which cannot be read twice."""
    if not stat.S_ISREG(Path(path).stat().st_mode):
        raise ValueError(f"{path}: a folder, a pipe or a device, not a file; write the data to a file first")
    return Path(path).open("rb")


def text_pieces(path: FilePath, size: int) -> Iterator[tuple[bytes, int]]:
    """Yield the text of a file, plain or gzipped, some megabytes at a time; and how much of the file was read so far.

    Pieces end anywhere, also within a line.
    """
    with open_file(path) as file:
        packed = file.read(len(_GZIP_MAGIC)) == _GZIP_MAGIC
        file.seek(0)
        blocks = _unpacked(file, path, size) if packed else iter(lambda: file.read(size), b"")
        for number, block in enumerate(blocks):
            yield block if number else block.removeprefix(_BYTE_ORDER_MARK), file.tell()


def changed(path: FilePath) -> ValueError:
    """Return the error for a file that another program writes to."""
    return ValueError(f"{path}: the file changed while it was read; read it again when it is complete")


def read_bytes(path: FilePath) -> bytes:
    """Return the content of a file, unpacked if it is a gzip file, without byte order mark."""
    if Path(path).is_fifo():  # of a shell, <(…): can be read once, which is enough here
        with Path(path).open("rb") as pipe:
            longest = limit("PODIUM_MAX_MB") << 20
            content = pipe.read(longest + 1)
        if len(content) > longest:
            raise ValueError(f"{path}: a pipe of more than {longest >> 20} MB; write the data to a file first")
        return content.removeprefix(_BYTE_ORDER_MARK)
    source = TextSource(path)
    return source.span(source.start, source.stop).tobytes()


def read_text(path: FilePath) -> str:
    """Return the content of a text file, unpacked if it is a gzip file; raise ValueError unless it is UTF-8."""
    return decoded(path, read_bytes(path))


def decoded(path: FilePath, content: bytes, lines_before: int = 0) -> str:
    """Return the content of a file as text; raise ValueError, naming the line, unless it is UTF-8."""
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = lines_before + content.count(NEWLINE, 0, error.start) + 1
        raise not_utf8(f"{path}:{line}", content[error.start]) from None


def require_line_ends(path: FilePath, content: bytes, lines_before: int = 0) -> None:
    """Raise ValueError, naming the line, for a carriage return within a line of a table, but for those in quotes.

    Polars drops it at the end of a field: "a" with it and "a" without would be one id.
    """
    place, quotes = 0, 0
    for found in _LONE_RETURN.finditer(content):
        quotes += content.count(b'"', place, found.start())
        place = found.start()
        if quotes % 2 == 0:
            line = lines_before + content.count(NEWLINE, 0, place) + 1
            raise ValueError(f"{path}:{line}: a carriage return within the line; end lines with newlines, or quote it")


def require_whole_quotes(path: FilePath, content: bytes, separator: str, lines_before: int = 0) -> None:
    """Raise ValueError, naming the line, for a field in quotes that goes on after them, or is not closed.

    Where such a field ends, and so how many rows there are, would depend on the reader.
    """
    if b'"' not in content:
        return
    between = re.escape(separator.encode())
    field = rb'(?<![^%b\n])"(?:[^"]++|"")*+"(?![^%b\r\n])' % (between, between)
    within = rb'(?<=[^%b\n])"' % between  # a quotation mark that is part of a text without quotes
    whole = re.match(rb'(?:[^"]++|%b|%b)*+' % (field, within), content)
    end = whole.end() if whole else 0
    if end < len(content):
        line = lines_before + content.count(NEWLINE, 0, end) + 1
        raise ValueError(
            f"{path}:{line}: a field in quotation marks that goes on after them or is not closed; "
            'write a mark within quoted text twice ("")'
        )


def not_utf8(where: str, byte: int) -> ValueError:
    """Return the error for text in another encoding, whose ids could not be told apart for certain."""
    return ValueError(f"{where}: not UTF-8 text (byte 0x{byte:02x}); convert the file, for example with iconv")


def first_bytes(path: FilePath, n: int = 1 << 16) -> bytes:
    """Return up to ``n`` bytes from the start of a file, unpacked if it is a gzip file, without a byte order mark."""
    with open_file(path) as file:
        head = file.read(n)
        if head[:2] == _GZIP_MAGIC:
            file.seek(0)
            head = next(_unpacked(file, path, n), b"")
    return head.removeprefix(_BYTE_ORDER_MARK)


def first_line(path: FilePath) -> bytes:
    """Return the first line of a file, unpacked if it is a gzip file, without its end."""
    n, longest = 1 << 16, limit("PODIUM_MAX_LINE_MB") << 20
    while NEWLINE not in (head := first_bytes(path, n)) and len(head) + len(_BYTE_ORDER_MARK) >= n:
        if n >= longest:
            raise ValueError(f"{path}:1: {too_long_a_line(n)}")
        n *= 4
    return head.partition(NEWLINE)[0].removesuffix(b"\r")


def too_long_a_line(length: int) -> str:
    """Return what is wrong with a line of this many bytes."""
    return f"a line of {length >> 20} MB or more; {raise_limit('PODIUM_MAX_LINE_MB', 2 * (length >> 20) + 1)}"


def _unpacked(file: IO[bytes], path: FilePath, block_size: int = 1 << 20) -> Iterator[bytes]:
    allowed, total = allowed_bytes(os.fstat(file.fileno()).st_size), 0
    try:
        with gzip.open(file) as unpacked:
            while block := unpacked.read(block_size):
                total += len(block)
                if total > allowed:
                    raise ValueError(
                        f"{path}: this gzip file unpacks to more than {allowed >> 20} MB, many times its size; "
                        + raise_limit("PODIUM_MAX_MB", 4 * (allowed >> 20))
                    )
                yield block
    except (EOFError, OSError, zlib.error) as error:
        raise ValueError(f"{path}: broken gzip file: {error}") from None


def _frozen(content: bytes | memoryview) -> np.ndarray:
    return np.frombuffer(content, np.uint8)  # read-only, which gives compiled parsers one type


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

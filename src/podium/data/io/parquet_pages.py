"""Checksums within Parquet files, which polars does not look at.

Some writers give each page of values a checksum, and gzip pages have one in any case. A file that contradicts its own
checksums is damaged, and its values are not what was written.
"""

import zlib
from typing import IO, Any

from podium.data.io.parquet_footer import Chunk
from podium.data.io.thrift import Thrift

_GZIP = 2
_HEAD = 4096
"""Bytes in which the head of a page usually fits."""
_PIECE = 1 << 20

# Numbers of fields in the head of a page.
_SIZE, _PACKED_SIZE, _CHECKSUM, _SECOND_VERSION = 2, 3, 4, 8
_DEFINITION_LEVELS, _REPETITION_LEVELS, _IS_PACKED = 5, 6, 7


def check_pages(file: IO[bytes], chunk: Chunk) -> None:
    """Raise ValueError if a page does not agree with its checksum; most files have none, and little is read of them."""
    try:
        file.seek(chunk.start)
        if chunk.codec != _GZIP and not _has_checksum(file.read(min(_HEAD, chunk.size))):
            return
        file.seek(chunk.start)
        content, place = file.read(chunk.size), 0
        while place < chunk.size:
            reader = Thrift(content, place)
            head = reader.struct()
            place = reader.place + head[_PACKED_SIZE]
            page = content[reader.place : place]
            if head[_PACKED_SIZE] < 0 or len(page) != head[_PACKED_SIZE]:
                raise ValueError("it is cut off")
            if _CHECKSUM in head and zlib.crc32(page) != head[_CHECKSUM] & 0xFFFFFFFF:
                raise ValueError("its values do not agree with their checksum")
            if chunk.codec == _GZIP:
                _check_gzip(page, head)
    except (ValueError, IndexError, KeyError, TypeError, AttributeError, zlib.error) as error:
        raise ValueError(f"a page of column {chunk.column!r} is damaged: {error}") from None


def _has_checksum(start: bytes) -> bool:
    """Return whether the first page of a chunk has a checksum, or whether that cannot be seen from its start alone."""
    try:
        return _CHECKSUM in Thrift(start).struct()
    except (ValueError, IndexError):
        return True


def _check_gzip(page: bytes, head: dict[int, Any]) -> None:
    second = head.get(_SECOND_VERSION, {})
    if second.get(_IS_PACKED, True) is False:
        return
    levels = second.get(_DEFINITION_LEVELS, 0) + second.get(_REPETITION_LEVELS, 0)
    rest, left = page[levels:], head[_SIZE] - levels
    while rest:
        unpacking = zlib.decompressobj(wbits=31)  # compares the checksum at the end
        while not unpacking.eof and left >= 0:
            piece = unpacking.decompress(rest, _PIECE)
            left -= len(piece)
            if not piece and not unpacking.eof and not unpacking.unconsumed_tail:
                raise ValueError("its compressed values are cut off")
            rest = unpacking.unconsumed_tail
        rest = unpacking.unused_data
    if left:
        raise ValueError("it holds more or fewer values than it says")

"""What pages of Parquet files say of themselves, which polars does not compare.

Some writers give each page of values a checksum, gzip pages have one in any case, and pages of the second version say
how many values are missing. A file that contradicts itself is damaged, and its values are not what was written.
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
_SIZE, _PACKED_SIZE, _CHECKSUM, _DICTIONARY, _SECOND_VERSION = 2, 3, 4, 7, 8
_VALUES, _NULLS, _DEFINITION_LEVELS, _REPETITION_LEVELS, _IS_PACKED = 1, 2, 5, 6, 7


def check_pages(file: IO[bytes], chunk: Chunk) -> None:
    """Raise ValueError if a page contradicts itself; of most files, whose pages say little, only the start is read."""
    try:
        if chunk.codec != _GZIP and not _says_more(file, chunk):
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
            if _SECOND_VERSION in head and not chunk.nested:
                _check_nulls(page, head[_SECOND_VERSION])
    except (ValueError, IndexError, KeyError, TypeError, AttributeError, zlib.error) as error:
        raise ValueError(f"a page of column {chunk.column!r} is damaged: {error}") from None


def _says_more(file: IO[bytes], chunk: Chunk) -> bool:
    """Return whether the first page of values can contradict itself, or whether that cannot be seen from its start."""
    place = chunk.start
    try:
        for _ in range(2):  # a dictionary may come first
            file.seek(place)
            reader = Thrift(file.read(_HEAD))
            head = reader.struct()
            place += reader.place + head[_PACKED_SIZE]
            if _CHECKSUM in head or _SECOND_VERSION in head:
                return True
            if _DICTIONARY not in head:
                return False
    except (ValueError, IndexError, KeyError, TypeError, OSError):
        return True
    return False


def _check_nulls(page: bytes, facts: dict[int, Any]) -> None:
    """Compare the number of missing values with the levels, a bit per value: polars may go by the one or the other."""
    levels, n, place, present = page[: facts[_DEFINITION_LEVELS]], facts[_VALUES], 0, 0
    left = n if levels else 0  # a column without levels lacks nothing
    while left > 0:
        reader = Thrift(levels, place)
        run, place = reader.unsigned(), reader.place
        length = 1 if run % 2 == 0 else run // 2
        bits = int.from_bytes(levels[place : place + length], "little")
        if place + length > len(levels) or length == 0 or (run % 2 == 0 and bits > 1):
            raise ValueError("what it says of missing values is damaged")
        taken = min(left, run // 2 if run % 2 == 0 else 8 * length)
        present += taken * bits if run % 2 == 0 else (bits & ((1 << taken) - 1)).bit_count()
        place, left = place + length, left - taken
    if levels and present != n - facts[_NULLS]:
        raise ValueError("it says that more or fewer values are missing than are")


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

"""What pages of Parquet files say of themselves, which polars does not compare.

Some writers give each page of values a checksum, gzip pages have one in any case, and pages of the second version say
how many values are missing. A file that contradicts itself is damaged, and its values are not what was written. So is
one whose pages have heads of another form than the format's: readers would look for the values at different places.
"""

import zlib
from contextlib import suppress
from typing import IO, Any

from podium.data.io.parquet_footer import Chunk
from podium.data.io.parquet_format import PAGE_HEAD
from podium.data.io.thrift import Thrift

_GZIP = 2
_HEADS = 256, 8192
"""Bytes in which the head of a page usually fits, and one with long texts."""
_PIECE = 1 << 20

# Numbers of fields in the head of a page.
_KIND, _SIZE, _PACKED_SIZE, _CHECKSUM, _SECOND_VERSION = 1, 2, 3, 4, 8
_FACTS = {0: 5, 1: 6, 2: 7, 3: 8}
"""Which field has the facts of pages of a kind: values, an index, a dictionary, values in the second version."""
_OF_VALUES = (0, 3)
_VALUES, _NULLS, _DEFINITION_LEVELS, _REPETITION_LEVELS, _IS_PACKED = 1, 2, 5, 6, 7


def check_pages(file: IO[bytes], chunk: Chunk) -> None:
    """Raise ValueError if a page contradicts itself or the footer; of most files only the heads of pages are read."""
    try:
        place, end, n_values = chunk.start, chunk.start + chunk.size, 0
        while place < end:
            head, place = _head(file, place, end)
            place += head[_PACKED_SIZE]
            if head[_PACKED_SIZE] < 0 or place > end:
                raise ValueError("it is cut off")
            facts = head[_FACTS[head[_KIND]]]
            n_values += facts[_VALUES] if head[_KIND] in _OF_VALUES else 0
            if _CHECKSUM in head or chunk.codec == _GZIP or _SECOND_VERSION in head:
                file.seek(place - head[_PACKED_SIZE])
                _check_content(file.read(head[_PACKED_SIZE]), head, chunk)
        if n_values != chunk.n_values:
            raise ValueError(f"with it, the pages have {n_values} values; the footer says {chunk.n_values}")
    except (ValueError, IndexError, KeyError, TypeError, AttributeError, zlib.error) as error:
        raise ValueError(f"a page of column {chunk.column!r} is damaged: {error}") from None


def _head(file: IO[bytes], place: int, end: int) -> tuple[dict[int, Any], int]:
    """Return the head of the page at a place, and where its content starts."""
    for size in _HEADS:
        file.seek(place)
        reader = Thrift(file.read(min(size, end - place)))
        with suppress(ValueError, IndexError):  # it may be longer
            return reader.struct(PAGE_HEAD), place + reader.place
    file.seek(place)
    reader = Thrift(file.read(end - place))
    return reader.struct(PAGE_HEAD), place + reader.place


def _check_content(page: bytes, head: dict[int, Any], chunk: Chunk) -> None:
    if len(page) != head[_PACKED_SIZE]:
        raise ValueError("it is cut off")
    if _CHECKSUM in head and zlib.crc32(page) != head[_CHECKSUM] & 0xFFFFFFFF:
        raise ValueError("its values do not agree with their checksum")
    if chunk.codec == _GZIP:
        _check_gzip(page, head)
    if _SECOND_VERSION in head and not chunk.nested:
        _check_nulls(page, head[_SECOND_VERSION])


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

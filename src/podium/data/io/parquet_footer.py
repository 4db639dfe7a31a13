"""The footer of a Parquet file, checked before it is believed.

Readers allocate what the footer says: a list of two billion columns, a trillion rows. Memory that is not there ends the
process. So the footer, a structure in Thrift's compact protocol, is first read here: https://thrift.apache.org and
https://parquet.apache.org/docs/file-format/metadata/.
"""

from typing import IO, Any, NamedTuple

from podium.core.limits import allowed_bytes, raise_limit
from podium.data.io.parquet_format import FOOTER
from podium.data.io.thrift import Thrift

MAGIC = b"PAR1"
_TAIL = 8
_BYTES_PER_VALUE = 8

# Numbers of fields in the structures of the format.
_ROWS, _ROW_GROUPS = 3, 4
_COLUMNS, _GROUP_ROWS = 1, 3
_COLUMN = 3
_PATH, _CODEC, _VALUES, _PACKED_SIZE, _DATA_OFFSET, _DICTIONARY_OFFSET = 3, 4, 5, 7, 9, 11


class Chunk(NamedTuple):
    """Where the values of a column in one group of rows are."""

    column: str
    nested: bool
    codec: int
    n_values: int
    start: int
    size: int


def checked_chunks(file: IO[bytes], size: int) -> list[Chunk]:
    """Return what the footer says; raise ValueError unless it asks for nothing that the file does not justify."""
    file.seek(max(0, size - _TAIL))
    tail = file.read(_TAIL)
    length = int.from_bytes(tail[:4], "little")
    if tail[4:] != MAGIC or length + _TAIL + len(MAGIC) > size:
        raise ValueError("it does not end as Parquet files do; it may be cut off")
    file.seek(size - _TAIL - length)
    try:
        return _check(Thrift(file.read(length)).struct(FOOTER), size)
    except (IndexError, TypeError, KeyError, AttributeError):
        raise ValueError("its footer is damaged") from None


def _check(facts: dict[int, Any], size: int) -> list[Chunk]:
    chunks, total = [], 0
    for group in facts[_ROW_GROUPS]:
        n_rows, columns = group[_GROUP_ROWS], [chunk[_COLUMN] for chunk in group[_COLUMNS]]
        total += n_rows
        for column in columns:
            first = column.get(_DICTIONARY_OFFSET) or column[_DATA_OFFSET]
            if not 0 < first <= first + column[_PACKED_SIZE] <= size:
                raise ValueError("its footer says that data are where the file has none")
            name = column[_PATH][0].decode("utf-8", "replace")
            facts_of_pages = column[_CODEC], column[_VALUES], first, column[_PACKED_SIZE]
            chunks.append(Chunk(name, len(column[_PATH]) > 1, *facts_of_pages))
        needed = _BYTES_PER_VALUE * sum(max(column[_VALUES], n_rows) for column in columns)
        if n_rows < 0 or needed > allowed_bytes(size):
            raise ValueError(
                f"it claims {n_rows} rows of {len(columns)} columns in {size} bytes; "
                + raise_limit("PODIUM_MAX_MB", (needed >> 20) + 1)
            )
    if facts[_ROWS] != total:
        raise ValueError(f"it claims {facts[_ROWS]} rows, but its parts have {total}")
    return chunks

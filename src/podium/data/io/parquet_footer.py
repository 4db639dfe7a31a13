"""The footer of a Parquet file, checked before it is believed.

Readers allocate what the footer says: a list of two billion columns, a trillion rows. Memory that is not there ends the
process. So the footer, a structure in Thrift's compact protocol, is first read here: https://thrift.apache.org and
https://parquet.apache.org/docs/file-format/metadata/.
"""

from typing import IO, Any

from podium.core.limits import allowed_bytes, raise_limit

MAGIC = b"PAR1"
_TAIL = 8
_DEEPEST = 16
_TRUE, _FALSE, _BYTE, _I16, _I32, _I64, _DOUBLE, _BINARY, _LIST, _SET, _MAP, _STRUCT = range(1, 13)
_BYTES_PER_VALUE = 8

# Numbers of fields in the structures of the format.
_ROWS, _ROW_GROUPS = 3, 4
_COLUMNS, _GROUP_ROWS = 1, 3
_COLUMN = 3
_VALUES, _PACKED_SIZE, _DATA_OFFSET, _DICTIONARY_OFFSET = 5, 7, 9, 11


def check_footer(file: IO[bytes], size: int) -> None:
    """Raise ValueError unless the footer is complete and asks for nothing that the file does not justify."""
    file.seek(max(0, size - _TAIL))
    tail = file.read(_TAIL)
    length = int.from_bytes(tail[:4], "little")
    if tail[4:] != MAGIC or length + _TAIL + len(MAGIC) > size:
        raise ValueError("it does not end as Parquet files do; it may be cut off")
    file.seek(size - _TAIL - length)
    try:
        facts = _Thrift(file.read(length)).struct()
        _check(facts, size)
    except (IndexError, TypeError, KeyError, AttributeError):
        raise ValueError("its footer is damaged") from None


def _check(facts: dict[int, Any], size: int) -> None:
    groups, total = facts[_ROW_GROUPS], 0
    for group in groups:
        n_rows, columns = group[_GROUP_ROWS], [chunk[_COLUMN] for chunk in group[_COLUMNS]]
        total += n_rows
        for column in columns:
            first = column.get(_DICTIONARY_OFFSET) or column[_DATA_OFFSET]
            if not 0 < first <= first + column[_PACKED_SIZE] <= size:
                raise ValueError("its footer says that data are where the file has none")
        needed = _BYTES_PER_VALUE * sum(max(column[_VALUES], n_rows) for column in columns)
        if n_rows < 0 or needed > allowed_bytes(size):
            raise ValueError(
                f"it claims {n_rows} rows of {len(columns)} columns in {size} bytes; "
                + raise_limit("PODIUM_MAX_MB", (needed >> 20) + 1)
            )
    if facts[_ROWS] != total:
        raise ValueError(f"it claims {facts[_ROWS]} rows, but its parts have {total}")


class _Thrift:
    """Values in Thrift's compact protocol; nothing is larger than the bytes it is read from."""

    def __init__(self, content: bytes) -> None:
        self._content, self._place, self._depth = content, 0, 0

    def struct(self) -> dict[int, Any]:
        """Return the values of a structure by the numbers of its fields."""
        self._depth += 1
        if self._depth > _DEEPEST:
            raise ValueError("its footer is nested too deeply")
        fields: dict[int, Any] = {}
        number = 0
        while head := self._byte():
            number = number + (head >> 4) if head >> 4 else self._signed()
            kind = head & 15
            fields[number] = kind == _TRUE if kind <= _FALSE else self._value(kind)
        self._depth -= 1
        return fields

    def _value(self, kind: int) -> Any:
        if kind in (_I16, _I32, _I64):
            return self._signed()
        if kind in (_TRUE, _FALSE, _BYTE):
            return self._byte()
        if kind == _BINARY:
            return self._take(self._unsigned())
        if kind == _DOUBLE:
            return self._take(8)
        if kind in (_LIST, _SET):
            head = self._byte()
            n = head >> 4 if head >> 4 < 15 else self._unsigned()
            return [self._value(head & 15) for _ in range(self._fitting(n))]
        if kind == _STRUCT:
            return self.struct()
        raise ValueError("its footer has a value of an unknown type")  # maps, too: the format has none

    def _fitting(self, n: int) -> int:
        """Return a length, if so many bytes are left."""
        if n > len(self._content) - self._place:
            raise ValueError("its footer is shorter than it says")
        return n

    def _take(self, n: int) -> bytes:
        self._place += self._fitting(n)
        return self._content[self._place - n : self._place]

    def _byte(self) -> int:
        self._place += 1
        return self._content[self._place - 1]

    def _unsigned(self) -> int:
        value = shift = 0
        while (byte := self._byte()) & 0x80:
            value |= (byte & 0x7F) << shift
            shift += 7
            if shift > 63:
                raise ValueError("its footer has a number that is too long")
        return value | byte << shift

    def _signed(self) -> int:
        value = self._unsigned()
        return (value >> 1) ^ -(value & 1)

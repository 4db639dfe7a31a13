"""Structures in Thrift's compact protocol, of which the facts in Parquet files are: https://thrift.apache.org."""

from collections.abc import Mapping
from typing import Any

_DEEPEST = 16
_TRUE, _FALSE, I8, I16, I32, I64, _DOUBLE, BINARY, _LIST, _SET, _MAP, _STRUCT = range(1, 13)
BOOLEAN = _TRUE

Shape = Mapping[int, Any]
"""The types of a structure's fields by their numbers: I32 and so on, [type] for a list, a shape for a structure."""
_ANYTHING: Shape = {}


class Thrift:
    """Values in Thrift's compact protocol; nothing is larger than the bytes it is read from."""

    def __init__(self, content: bytes, place: int = 0) -> None:
        self._content, self.place, self._depth = content, place, 0

    def struct(self, shape: Shape = _ANYTHING) -> dict[int, Any]:
        """Return the values of a structure by the numbers of its fields.

        Raise ValueError if one is there twice, or is of another type than its shape says.
        """
        self._depth += 1
        if self._depth > _DEEPEST:
            raise ValueError("it is nested too deeply")
        fields: dict[int, Any] = {}
        number = 0
        while head := self._byte():
            number = number + (head >> 4) if head >> 4 else self._signed()
            kind, wanted = head & 15, shape.get(number)
            if number < 1 or number in fields or not _is_of(kind, wanted):
                raise ValueError("it has a field that the format does not have, or of another type")
            fields[number] = kind == _TRUE if kind <= _FALSE else self._value(kind, wanted)
        self._depth -= 1
        return fields

    def _value(self, kind: int, wanted: Any) -> Any:
        if kind in (I16, I32, I64):
            return self._signed()
        if kind in (_TRUE, _FALSE, I8):
            return self._byte()
        if kind == BINARY:
            return self._take(self.unsigned())
        if kind == _DOUBLE:
            return self._take(8)
        if kind in (_LIST, _SET):
            head = self._byte()
            n = head >> 4 if head >> 4 < 15 else self.unsigned()
            of_item = wanted[0] if isinstance(wanted, list) else None
            if n and not _is_of(head & 15, of_item):
                raise ValueError("it has a list of another type than the format")
            return [self._value(head & 15, of_item) for _ in range(self._fitting(n))]
        if kind == _STRUCT:
            return self.struct(wanted or _ANYTHING)
        raise ValueError("it has a value of an unknown type")  # maps, too: the format has none

    def _fitting(self, n: int) -> int:
        """Return a length, if so many bytes are left."""
        if n > len(self._content) - self.place:
            raise ValueError("it is shorter than it says")
        return n

    def _take(self, n: int) -> bytes:
        self.place += self._fitting(n)
        return self._content[self.place - n : self.place]

    def _byte(self) -> int:
        self.place += 1
        return self._content[self.place - 1]

    def unsigned(self) -> int:
        """Return a number of one byte per seven bits."""
        value = shift = 0
        while (byte := self._byte()) & 0x80:
            value |= (byte & 0x7F) << shift
            shift += 7
            if shift > 63:
                raise ValueError("it has a number that is too long")
        return value | byte << shift

    def _signed(self) -> int:
        value = self.unsigned()
        return (value >> 1) ^ -(value & 1)


def _is_of(kind: int, wanted: Any) -> bool:
    """Return whether a value has the type that is wanted; None is any."""
    if isinstance(wanted, Mapping):
        return kind == _STRUCT
    if isinstance(wanted, list):
        return kind == _LIST
    return wanted is None or kind == wanted or (kind == _FALSE and wanted == BOOLEAN)

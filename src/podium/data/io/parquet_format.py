"""Structures of Parquet files: the type of each field by its number, as the format has it.

https://github.com/apache/parquet-format/blob/master/src/main/thrift/parquet.thrift. Readers differ in what they make of
a field of another type: one skips it, another takes it for what it should be, and both go on at different places. So
such a file is refused. Fields with other numbers are those of newer versions, and are skipped.
"""

from podium.data.io.thrift import BINARY, BOOLEAN, I8, I16, I32, I64, Shape

_NOTHING: Shape = {}
_KEY_VALUE: Shape = {1: BINARY, 2: BINARY}
_STATISTICS: Shape = {1: BINARY, 2: BINARY, 3: I64, 4: I64, 5: BINARY, 6: BINARY, 7: BOOLEAN, 8: BOOLEAN}
_TIME: Shape = {1: BOOLEAN, 2: {1: _NOTHING, 2: _NOTHING, 3: _NOTHING}}
_LOGICAL_TYPE: Shape = dict.fromkeys(range(1, 16), _NOTHING) | {
    5: {1: I32, 2: I32},
    7: _TIME,
    8: _TIME,
    10: {1: I8, 2: BOOLEAN},
}
_COLUMN: Shape = {1: I32, 2: I32, 3: I32, 4: BINARY, 5: I32, 6: I32, 7: I32, 8: I32, 9: I32, 10: _LOGICAL_TYPE}
_CHUNK_FACTS: Shape = {
    1: I32,
    2: [I32],
    3: [BINARY],
    4: I32,
    5: I64,
    6: I64,
    7: I64,
    8: [_KEY_VALUE],
    9: I64,
    10: I64,
    11: I64,
    12: _STATISTICS,
    13: [{1: I32, 2: I32, 3: I32}],
    14: I64,
    15: I32,
    16: {1: I64, 2: [I64], 3: [I64]},
}
_CHUNK: Shape = {1: BINARY, 2: I64, 3: _CHUNK_FACTS, 4: I64, 5: I32, 6: I64, 7: I32, 8: _NOTHING, 9: BINARY}
_ROW_GROUP: Shape = {1: [_CHUNK], 2: I64, 3: I64, 4: [{1: I32, 2: BOOLEAN, 3: BOOLEAN}], 5: I64, 6: I64, 7: I16}

FOOTER: Shape = {
    1: I32,
    2: [_COLUMN],
    3: I64,
    4: [_ROW_GROUP],
    5: [_KEY_VALUE],
    6: BINARY,
    7: [{1: _NOTHING}],
    8: _NOTHING,
    9: BINARY,
}
PAGE_HEAD: Shape = {
    1: I32,
    2: I32,
    3: I32,
    4: I32,
    5: {1: I32, 2: I32, 3: I32, 4: I32, 5: _STATISTICS},
    6: _NOTHING,
    7: {1: I32, 2: I32, 3: BOOLEAN},
    8: {1: I32, 2: I32, 3: I32, 4: I32, 5: I32, 6: I32, 7: BOOLEAN, 8: _STATISTICS},
}

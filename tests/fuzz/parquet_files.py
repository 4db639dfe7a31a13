"""Parquet files of many kinds, damaged, and an independent reader (Arrow's) that says what values are in them."""

from __future__ import annotations

import decimal
import io
import math
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

if __package__:
    from .mutations import damaged
else:
    from mutations import damaged

POOL = 40
"""Sound files at a time; now and then a new one takes the place of another."""
NUMBERS = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float16", "float32", "float64")
COMPRESSIONS = ("none", "snappy", "zstd", "gzip", "lz4", "brotli")
ENCODINGS = ("PLAIN", "BYTE_STREAM_SPLIT", "DELTA_BINARY_PACKED", "RLE_DICTIONARY")


def parquet_maker() -> Callable[[random.Random], bytes]:
    """Return what makes damaged files."""
    pool: list[bytes] = []

    def make(rng: random.Random) -> bytes:
        if len(pool) < POOL:
            pool.append(sound_file(rng))
        elif rng.random() < 0.02:
            pool[rng.randrange(POOL)] = sound_file(rng)
        content = rng.choice(pool)
        footer = len(content) - 8 - int.from_bytes(content[-8:-4], "little")
        chance = rng.random()
        if chance < 0.02:
            return content
        if chance < 0.3:
            return content[:footer] + damaged(content[footer:-8], rng) + content[-8:]
        if chance < 0.7:  # values and the heads of pages, of the same length: the footer still fits
            pages = bytearray(content[:footer])
            for _ in range(rng.choice((1, 1, 2, 5))):
                pages[rng.randrange(4, footer)] = rng.choice((rng.randrange(256), 0, 255, 1, 2, 127, 128))
            return bytes(pages) + content[footer:]
        return damaged(content, rng)

    return make


def sound_file(rng: random.Random) -> bytes:
    """Return a file of random values, types, encodings and patterns of missing values, by one of two writers."""
    table = _table(rng)
    buffer = io.BytesIO()
    compression, group = rng.choice(COMPRESSIONS), rng.choice((1, 7, 25, 1000))
    if rng.random() < 0.4:
        import polars as pl

        frame = pl.from_arrow(table)
        assert isinstance(frame, pl.DataFrame)
        compression = "uncompressed" if compression == "none" else compression
        frame.write_parquet(buffer, compression=compression, row_group_size=group, statistics=rng.random() < 0.5)  # type: ignore[arg-type]
        return buffer.getvalue()
    pq.write_table(
        table,
        buffer,
        row_group_size=group,
        compression=compression,
        use_dictionary=(dictionary := rng.random() < 0.5),
        column_encoding=None if dictionary else {name: _encoding(field, rng) for name, field in _fields(table)},
        write_statistics=rng.random() < 0.5,
        data_page_version=rng.choice(("1.0", "2.0")),
        data_page_size=rng.choice((20, 100, 1 << 20)),
        write_page_index=rng.random() < 0.3,
        write_page_checksum=rng.random() < 0.3,
        store_schema=rng.random() < 0.5,
    )
    return buffer.getvalue()


def _fields(table: pa.Table) -> list[tuple[str, pa.DataType]]:
    return [(field.name, field.type) for field in table.schema]


def _encoding(kind: pa.DataType, rng: random.Random) -> str:
    if pa.types.is_string(kind):
        return rng.choice(("PLAIN", "DELTA_LENGTH_BYTE_ARRAY", "DELTA_BYTE_ARRAY"))
    if pa.types.is_boolean(kind):
        return rng.choice(("PLAIN", "RLE"))
    if pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return rng.choice(("PLAIN", "BYTE_STREAM_SPLIT")) if not pa.types.is_decimal(kind) else "PLAIN"
    return rng.choice(("PLAIN", "DELTA_BINARY_PACKED", "BYTE_STREAM_SPLIT")) if pa.types.is_integer(kind) else "PLAIN"


def _table(rng: random.Random) -> pa.Table:
    n = rng.choice((1, 2, 9, 40, 130))
    queries = sorted(rng.randrange(1 + n // 4) for _ in range(n))
    texts = rng.random() < 0.5
    columns: dict[str, pa.Array] = {
        "qid": pa.array([f"q {k:03}" for k in queries] if texts else queries),
        "label": pa.array([rng.randrange(3) for _ in range(n)], rng.choice(("int64", "int8", "float32", "float64"))),
    }
    if rng.random() < 0.3:
        columns["document_id"] = pa.array([f"d{k}" for k in range(n)])
    for j in range(rng.choice((1, 2, 3, 6))):
        columns[f"feature {j}"] = _values(rng, n)
    if rng.random() < 0.2:
        columns["title"] = pa.array([rng.choice(("some", "text", "")) for _ in range(n)])
    return pa.table(columns)


def _values(rng: random.Random, n: int) -> pa.Array:
    kind = rng.choice((*NUMBERS, "float32", "float64", "float64", "bool", "decimal", "dictionary", "date"))
    missing = rng.choice((0.0, 0.0, 0.1, 0.9, 1.0))
    runs = rng.choice((1, 1, 5, 50))
    values: list[Any] = []
    while len(values) < n:
        values += [None if rng.random() < missing else _value(rng, kind)] * rng.randrange(1, runs + 1)
    values = values[:n]
    if kind == "decimal":
        return pa.array(values, pa.decimal128(12, 3))
    if kind == "dictionary":
        return pa.array(values, pa.float64()).dictionary_encode()
    if kind == "date":  # neither a number nor text: refused
        return pa.array(values, pa.date32() if rng.random() < 0.1 else pa.int32())
    if kind == "float16":
        return pa.array([None if value is None else np.float16(value) for value in values], pa.float16())
    return pa.array(values, "bool" if kind == "bool" else kind)


def _value(rng: random.Random, kind: str) -> Any:
    if kind == "bool":
        return rng.random() < 0.5
    if kind == "decimal":
        return decimal.Decimal(rng.randrange(-(10**9), 10**9)).scaleb(-3)
    if kind == "date":
        return rng.randrange(20_000)
    if "int" in kind:
        bounds = np.iinfo(kind)
        wide = rng.randrange(int(bounds.min), int(bounds.max) + 1)
        return rng.choice((rng.randrange(5), rng.randrange(100), wide))
    return rng.choice((rng.gauss(0, 1), float(rng.randrange(4)), -0.0, 1e4, math.inf, 5e-8))


CHECKSUM_ERRORS = ("CRC checksum", "incorrect data check")


def arrow_columns(content: bytes) -> dict[str, list[Any]] | str:
    """Return what Arrow reads, by column, or why it refuses the file."""
    try:
        table = pq.ParquetFile(io.BytesIO(content), page_checksum_verification=True).read()
        table.validate(full=True)
        names = table.column_names
        return {name: table[name].to_pylist() for name in names} if len(set(names)) == len(names) else "names"
    except (pa.ArrowException, OSError, ValueError, OverflowError, KeyError, NotImplementedError, TypeError) as error:
        return str(error)

"""An oracle for LETOR files: a reader of a few lines in plain Python that splits lines and calls ``float``."""

from __future__ import annotations

import gzip
import math
import re
from pathlib import Path

import numpy as np

SIMPLE = "2 qid:1 1:0.5 2:1 #docid = a\n0 qid:1 1:-3.25 2:0 #docid = b\n1 qid:2 2:7 #docid = c\n"
"""A file of two queries."""


def read_in_plain_python(path: Path) -> tuple[list[float], list[str], list[dict[int, float]]]:
    """Return labels, query ids and features of a well-formed file with a query id in each line."""
    text = gzip.decompress(path.read_bytes()).decode() if path.suffix == ".gz" else path.read_text()
    rows = [line.partition("#")[0].split() for line in text.splitlines()]
    rows = [row for row in rows if row]
    pairs = [[token.split(":") for token in row[2:]] for row in rows]
    features = [{int(index): float(value) for index, value in row} for row in pairs]
    return [float(row[0]) for row in rows], [row[1].removeprefix("qid:") for row in rows], features


def as_matrix(features: list[dict[int, float]], width: int, dtype: type) -> np.ndarray:
    matrix = np.zeros((len(features), width))
    for row, entries in zip(matrix, features, strict=True):
        row[np.array(list(entries), int) - 1] = list(entries.values())
    with np.errstate(over="ignore"):
        return matrix.astype(dtype)


def same_bits(a: np.ndarray, b: np.ndarray) -> bool:
    """Return whether all values are equal, zeros by their sign too; one NaN equals another."""
    assert a.dtype == b.dtype
    return np.array_equal(a, b, equal_nan=True) and np.array_equal(np.signbit(a[a == 0]), np.signbit(b[b == 0]))


_NUMBER = re.compile(rb"[+-]?((\d+\.?\d*|\.\d+)(e[+-]?\d+)?|inf(inity)?|nan)\Z", re.IGNORECASE)
_BLANKS = b" \t\v\f\r"


def read_strictly(text: bytes) -> list[tuple[float, dict[int, float]]] | None:
    """Return label and features of each document of any bytes, or None if anything is wrong with them."""
    rows = []
    for line in text.split(b"\n"):
        content, _, comment = line.partition(b"#")
        tokens = [token for token in re.split(rb"[ \t\v\f\r]+", content) if token]
        if not tokens:
            continue
        label, *tokens = tokens
        if not _NUMBER.match(label) or not math.isfinite(float(label)):
            return None
        if not tokens or not re.match(rb"qid:.", tokens[0], re.DOTALL):
            return None
        if not _is_utf8(tokens[0]) or not _is_utf8(_document_id(comment)):
            return None
        features: dict[int, float] = {}
        for token in tokens[1:]:
            index, _, value = token.partition(b":")
            if not index.isdigit() or len(index.lstrip(b"0")) > 10:  # int() refuses thousands of digits
                return None
            if not _NUMBER.match(value) or not 0 < int(index) < 2**31 or int(index) in features:
                return None
            features[int(index)] = float(value)
        rows.append((float(label), features))
    return rows or None


def _document_id(comment: bytes) -> bytes:
    comment = comment.strip(_BLANKS)
    found = re.match(rb"docid[ \t\v\f\r]*=[ \t\v\f\r]*([^ \t\v\f\r]+)", comment)
    return found.group(1) if found else comment


def _is_utf8(text: bytes) -> bool:
    try:
        text.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True

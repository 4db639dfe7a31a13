"""Slow, plain readers: if one of Podium's takes a file, it must find what these find."""

from __future__ import annotations

import csv
import importlib.util
import io
import math
import re
from pathlib import Path
from typing import Any

_spec = importlib.util.spec_from_file_location("letor_oracle", Path(__file__).parents[1] / "data" / "letor_oracle.py")
assert _spec is not None
assert _spec.loader is not None
_module = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_module)
letor = _module.read_strictly


def columns(text: bytes, n: int) -> list[list[str]] | None:
    """Return the whitespace-separated fields of lines that are not blank; None if a line has another number of them."""
    rows = [re.split(r"[ \t\v\f\r]+", line.strip(" \t\v\f\r")) for line in _text(text).split("\n")]
    rows = [row for row in rows if row != [""]]
    return rows if rows and all(len(row) == n for row in rows) else None


def scores(text: bytes) -> list[float] | None:
    try:
        return [float(line) for line in map(str.strip, _text(text).split("\n")) if line]
    except ValueError:
        return None


def ratings(text: str) -> list[tuple[str, str, float]]:
    """Return user, item and rating of every line that is not blank, sorted."""
    lines = [line for line in text.split("\n") if line.strip()]
    if not lines:
        return []
    separator = next((s for s in ("\t", "::", ",", ";") if s in lines[0].strip()), None)
    rows = [line.strip("\r").split(separator) for line in lines]
    try:
        float(rows[0][2])
    except ValueError:
        rows = rows[1:]
    return sorted((row[0], row[1], float(row[2])) for row in rows)


def table(text: bytes) -> tuple[list[str], list[list[str]]] | None:
    """Return header and rows of a CSV file with commas."""
    rows = [row for row in csv.reader(io.StringIO(_text(text), newline="")) if row]
    return (rows[0], rows[1:]) if rows else None


def number(text: str) -> float:
    """Return the number that a field of a table stands for; an empty one is missing."""
    text = text.strip()
    return (
        {"": math.nan, "true": 1.0, "false": 0.0}.get(text.lower())
        if text.lower() in ("", "true", "false")
        else float(text)
    )  # type: ignore[return-value]


def plain(value: Any) -> float:
    """Return the number that a value of a Parquet file stands for; a missing one is NaN."""
    return math.nan if value is None else float(value)


def same(a: Any, b: Any) -> bool:
    """Return whether two numbers are the same, NaN being the same as NaN."""
    return a == b or (math.isnan(a) and math.isnan(b))


def _text(content: bytes) -> str:
    return content.removeprefix(b"\xef\xbb\xbf").decode("utf-8")

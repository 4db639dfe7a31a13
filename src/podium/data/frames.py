"""Columns of pandas, polars and pyarrow frames, whichever the caller has."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

import numpy as np


@dataclass(frozen=True, slots=True)
class Columns:
    """A frame split into what queries are made of."""

    features: np.ndarray
    labels: np.ndarray | None
    qid: np.ndarray
    document_ids: np.ndarray | None
    feature_names: tuple[str, ...]


def is_frame(data: Any) -> bool:
    """Is it a pandas or polars data frame or a pyarrow table? Asked without importing any of them."""
    package = type(data).__module__.partition(".")[0]
    return package in {"pandas", "polars", "pyarrow"} and package in sys.modules and hasattr(data, "shape")


def column_names(frame: Any) -> list[str]:
    """The frame's column names."""
    return list(map(str, _narwhals(frame).columns))


def to_matrix(frame: Any) -> np.ndarray:
    """All columns as one (n_rows, n_columns) matrix: float32 if every column is float32, else float64."""
    return _matrix(_narwhals(frame), column_names(frame))


def split_columns(
    frame: Any,
    *,
    qid: str = "qid",
    label: str | None = "label",
    document_id: str | None = None,
    features: Sequence[str] | None = None,
) -> Columns:
    """Split a frame by column names; ``features`` defaults to the numeric columns that are left."""
    table = _narwhals(frame)
    named = [name for name in (qid, label, document_id) if name is not None]
    for name in [*named, *(features or ())]:
        require_column(table, name)
    if features is None:
        features = [name for name in table.columns if name not in named and table.schema[name].is_numeric()]
        if not features:
            raise ValueError(f"no numeric column is left for features besides {', '.join(map(repr, named))}")
    return Columns(
        features=_matrix(table, features),
        labels=None if label is None else _numbers(table, label),
        qid=table[qid].to_numpy(),
        document_ids=None if document_id is None else table[document_id].to_numpy(),
        feature_names=tuple(features),
    )


def named_columns(frame: Any, names: Sequence[str], numeric: Sequence[str] = ()) -> dict[str, np.ndarray]:
    """Columns by name, those of ``numeric`` as floating-point numbers."""
    table = _narwhals(frame)
    for name in [*names, *numeric]:
        require_column(table, name)
    return {name: table[name].to_numpy() for name in names} | {name: _numbers(table, name) for name in numeric}


def _narwhals(frame: Any) -> Any:
    import narwhals

    return narwhals.from_native(frame, eager_only=True)


def require_column(table: Any, name: str) -> None:
    """Raise, naming the columns there are, unless this is one of them."""
    if name in table.columns:
        return
    near = get_close_matches(name, table.columns, n=1)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    raise ValueError(f"there is no column {name!r}; the columns are {', '.join(map(repr, table.columns))}.{hint}")


def _matrix(table: Any, names: Sequence[str]) -> np.ndarray:
    import narwhals

    dtype = np.float32 if names and all(table.schema[n] == narwhals.Float32 for n in names) else np.float64
    matrix = np.empty((len(table), len(names)), dtype)
    for j, name in enumerate(names):
        matrix[:, j] = _numbers(table, name)
    return matrix


def _numbers(table: Any, name: str) -> np.ndarray:
    """A column as floating-point numbers, missing values as NaN."""
    column = table[name]
    if column.dtype.is_numeric():
        values = column.to_numpy()
        return values if values.dtype != object else values.astype(np.float64)
    values = column.to_numpy()
    if values.dtype == bool:
        return values.astype(np.float64)
    for row, value in enumerate(values):  # only runs to find what to complain about
        try:
            float(value)
        except (TypeError, ValueError):
            raise ValueError(f"column {name!r}, row {row}: {str(value)!r} is not a number") from None
    raise ValueError(f"column {name!r} holds {column.dtype}, not numbers; convert it first")

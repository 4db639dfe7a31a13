"""Columns of pandas, polars and pyarrow frames, whichever the caller has."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from typing import Any

import numpy as np


def is_frame(data: Any) -> bool:
    """Return whether it is a pandas or polars data frame or a pyarrow table, without importing any of them."""
    package = type(data).__module__.partition(".")[0]
    return package in {"pandas", "polars", "pyarrow"} and package in sys.modules and hasattr(data, "shape")


def named_matrix(frame: Any) -> tuple[np.ndarray, list[str]]:
    """Return all columns as one matrix, float32 if every column is float32, else float64; and the columns' names."""
    table = _narwhals(frame)
    return _matrix(table, table.columns), list(map(str, table.columns))


def split_columns(
    frame: Any,
    *,
    qid: str = "qid",
    label: str | None = "label",
    document_id: str | None = None,
    features: Sequence[str] | None = None,
) -> dict[str, Any]:
    """Return the arguments of ``Queries`` from columns; ``features`` defaults to the numeric columns that are left."""
    table = _narwhals(frame)
    named = [name for name in (qid, label, document_id) if name is not None]
    require_columns(table, [*named, *(features or ())])
    if features is None:
        features = [name for name in table.columns if name not in named and table.schema[name].is_numeric()]
        if not features:
            raise ValueError(f"no numeric column is left for features besides {', '.join(map(repr, named))}")
    return {
        "features": _matrix(table, features),
        "labels": None if label is None else _numbers(table, label),
        "qid": table[qid].to_numpy(),
        "document_ids": None if document_id is None else table[document_id].to_numpy(),
        "feature_names": features,
    }


def named_columns(frame: Any, names: Sequence[str], numeric: Sequence[str] = ()) -> dict[str, np.ndarray]:
    """Return columns by name, those in ``numeric`` as floating-point numbers."""
    table = _narwhals(frame)
    require_columns(table, [*names, *numeric])
    return {name: table[name].to_numpy() for name in names} | {name: _numbers(table, name) for name in numeric}


def require_columns(table: Any, names: Iterable[str]) -> None:
    """Raise, listing the table's columns, if one of these names is not among them."""
    for name in names:
        if name not in table.columns:
            near = get_close_matches(name, table.columns, n=1)
            hint = f" Did you mean {near[0]!r}?" if near else ""
            raise ValueError(
                f"there is no column {name!r}; the columns are {', '.join(map(repr, table.columns))}.{hint}"
            )


def _narwhals(frame: Any) -> Any:
    import narwhals

    return narwhals.from_native(frame, eager_only=True)


def _matrix(table: Any, names: Sequence[str]) -> np.ndarray:
    import narwhals

    dtype = np.float32 if names and all(table.schema[n] == narwhals.Float32 for n in names) else np.float64
    matrix = np.empty((len(table), len(names)), dtype)
    for j, name in enumerate(names):
        matrix[:, j] = _numbers(table, name)
    return matrix


def _numbers(table: Any, name: str) -> np.ndarray:
    """Return a column as numbers, missing values as NaN."""
    column = table[name]
    values: np.ndarray = column.to_numpy()
    if column.dtype.is_numeric() or values.dtype == bool:
        return values.astype(np.float64) if values.dtype in (object, bool) else values
    for row, value in enumerate(values):
        try:
            float(value)
        except (TypeError, ValueError):
            raise ValueError(f"column {name!r}, row {row}: {str(value)!r} is not a number") from None
    raise ValueError(f"column {name!r} holds {column.dtype}, not numbers; convert it first")

"""Columns of pandas, polars and pyarrow frames, whichever the caller has."""

import sys
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from podium.core.later import narwhals
from podium.core.texts import text_array
from podium.core.wording import did_you_mean


def is_frame(data: Any) -> bool:
    """Return whether it is a pandas or polars data frame or a pyarrow table, without importing any of them."""
    package = kind_of(data)
    return package in {"pandas", "polars", "pyarrow"} and package in sys.modules and hasattr(data, "shape")


def kind_of(frame: Any) -> str:
    """Return the package that a frame is of: "pandas", "polars" or "pyarrow"."""
    return type(frame).__module__.partition(".")[0]


def named_columns(frame: Any, names: Sequence[str], numeric: Sequence[str] = ()) -> dict[str, np.ndarray]:
    """Return columns by name, those in ``numeric`` as floating-point numbers."""
    table = as_table(frame)
    require_columns(table, [*names, *numeric])
    return {name: as_values(table[name]) for name in names} | {name: as_numbers(table[name]) for name in numeric}


def as_values(column: Any) -> np.ndarray:
    """Return the values of a column; texts neither merged nor widened (see :mod:`podium.core.texts`)."""
    if column.dtype not in (narwhals.String, narwhals.Categorical, narwhals.Enum):
        return column.to_numpy()
    texts = column.to_list()
    if all(isinstance(text, str) for text in texts):
        return text_array(texts)
    array = np.empty(len(texts), object)
    array[:] = texts
    return array


def require_columns(table: Any, names: Iterable[str]) -> None:
    """Raise, listing the table's columns, if one of these names is not among them."""
    for name in names:
        if name not in table.columns:
            hint = did_you_mean(repr(name), map(repr, table.columns))
            raise ValueError(
                f"there is no column {name!r}; the columns are {', '.join(map(repr, table.columns))}.{hint}"
            )


def as_table(frame: Any) -> Any:
    """Return a frame of any kind as a Narwhals data frame."""
    return narwhals.from_native(frame, eager_only=True)


def as_matrix(table: Any, names: Sequence[str]) -> np.ndarray:
    """Return columns as one matrix, float32 if every column is float32, else float64."""
    dtype = np.float32 if names and all(table.schema[n] == narwhals.Float32 for n in names) else np.float64
    matrix = np.empty((len(table), len(names)), dtype)
    for j, name in enumerate(names):
        matrix[:, j] = as_numbers(table[name])
    return matrix


def as_numbers(column: Any) -> np.ndarray:
    """Return a column as numbers, missing values as NaN."""
    require_numbers(column, "; convert it first")
    if column.dtype in (narwhals.Int128, narwhals.UInt128, narwhals.Decimal):  # NumPy has no such types
        column = column.cast(narwhals.Float64)
    values: np.ndarray = column.to_numpy()
    return values.astype(np.float64) if values.dtype in (object, bool) else values


def require_numbers(column: Any, hint: str = "") -> None:
    """Raise, with the first value that is not a number, unless the column holds numbers, truth values or nothing."""
    if column.dtype.is_numeric() or column.dtype in (narwhals.Boolean, narwhals.Unknown) or not len(column):
        return
    # Others, such as dates, are no numbers whatever their values; and polars ends in a panic at some of these.
    texts = column.dtype in (narwhals.String, narwhals.Categorical, narwhals.Enum, narwhals.Object)
    bad = [row for row, value in enumerate(column) if value is not None and not is_number(value)] if texts else []
    if not bad:
        raise ValueError(f"column {column.name!r} holds {column.dtype}, not numbers{hint}")
    raise ValueError(
        f"column {column.name!r}, row {bad[0]} (from 0): {str(column[bad[0]])!r} is not a number "
        f"({len(bad)} such values in {len(column)} rows){hint}"
    )


def is_number(value: Any) -> bool:
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return True

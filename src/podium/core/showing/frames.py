"""Results as frames of the kind that the caller works with."""

from typing import Any

from podium.core.later import required
from podium.core.parameters import require_choice

KINDS = ("polars", "pandas", "pyarrow")


def as_kind(frame: Any, kind: str) -> Any:
    """Return a polars frame as a frame of another kind.

    Parameters
    ----------
    frame : polars.DataFrame
    kind : {"polars", "pandas", "pyarrow"}
        What is not polars must be installed; pandas does not need pyarrow for this.

    Returns
    -------
    polars.DataFrame, pandas.DataFrame or pyarrow.Table
    """
    require_choice("kind", kind, KINDS)
    if kind == "pandas":
        pandas = required("pandas", "pandas", "a pandas frame")
        return pandas.DataFrame({column.name: _values(column) for column in frame.iter_columns()})
    if kind == "pyarrow":
        required("pyarrow", "pyarrow", "an Arrow table")
        return frame.to_arrow()
    return frame


def _values(column: Any) -> Any:
    """Return what pandas makes a column of: numbers as an array, missing ones as NaN, other values as a list."""
    numeric = column.dtype.is_float() or (column.dtype.is_numeric() and not column.null_count())
    return column.to_numpy() if numeric else column.to_list()

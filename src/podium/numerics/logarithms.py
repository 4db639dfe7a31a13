"""Logarithms of features with heavy tails, ``sign(x) log(1 + |x| / u)``, inside compiled loops.

They are computed in float64 and rounded to the features' type, in every loop by the same function: a matrix of
logarithms and logarithms taken as rows are read have the same bits. :func:`podium.numerics.forward.logarithms` is the
same in plain NumPy.
"""

import numpy as np

from podium.numerics.compiling import njit
from podium.numerics.elementary import log1p
from podium.numerics.forward import LARGEST_RATIO


@njit(fastmath=False, error_model="numpy", forceinline=True)
def logarithm(x: float, unit: float) -> float:
    """Return ``sign(x) log(1 + |x| / unit)`` of a float64; NaN stays NaN."""
    ratio = abs(x) / unit
    y = log1p(LARGEST_RATIO if ratio > LARGEST_RATIO else ratio)
    return x if x != x else (-y if x < 0.0 else y)


@njit(fastmath=False, error_model="numpy")
def _take_all(values: np.ndarray, units: np.ndarray) -> None:
    """Replace float64 values by their logarithms; one loop and nothing else, so that it vectorizes."""
    for k in range(len(units)):
        values[k] = logarithm(values[k], units[k])


@njit(error_model="numpy")
def _write(rows: np.ndarray, columns: np.ndarray, units: np.ndarray, out: np.ndarray, places: np.ndarray) -> None:
    values = np.empty(len(columns))
    for i in range(len(rows)):
        row, result = rows[i], out[i]
        for k in range(len(columns)):
            values[k] = row[columns[k]]
        _take_all(values, units)
        for k in range(len(columns)):
            result[places[k]] = values[k]


@njit(error_model="numpy")
def write_logarithms(rows: np.ndarray, columns: np.ndarray, units: np.ndarray, out: np.ndarray) -> None:
    """Write the logarithms of these columns of rows to the same columns of ``out``, which may be ``rows`` itself."""
    _write(rows, columns, units, out, columns)


@njit(cache=True, nogil=True, error_model="numpy")
def logarithms_of_columns(rows: np.ndarray, columns: np.ndarray, units: np.ndarray) -> np.ndarray:
    """Return the logarithms of these columns alone, (n_rows, n_columns), in the type of the rows."""
    out = np.empty((len(rows), len(columns)), rows.dtype)
    _write(rows, columns, units, out, np.arange(len(columns)))
    return out


@njit(cache=True, nogil=True, error_model="numpy")
def replace_by_logarithms(first: int, stop: int, rows: np.ndarray, columns: np.ndarray, units: np.ndarray) -> None:
    """Replace the values of these columns in rows ``first:stop`` by their logarithms."""
    write_logarithms(rows[first:stop], columns, units, rows[first:stop])


@njit(cache=True, nogil=True, error_model="numpy")
def write_logarithms_of_stored(
    first: int, stop: int, data: np.ndarray, indices: np.ndarray, log_scale: np.ndarray, out: np.ndarray
) -> None:
    """Write stored values of a CSR matrix to ``out``, as logarithms where their column has a unit. 0 stays 0."""
    for k in range(first, stop):
        unit = log_scale[indices[k]]
        out[k] = logarithm(np.float64(data[k]), unit) if unit > 0.0 else data[k]

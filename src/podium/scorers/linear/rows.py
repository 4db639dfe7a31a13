"""Products with rows of features, dense or sparse, inside compiled loops.

Compiled code receives features as :func:`as_rows` gives them: a C-ordered array, or the three arrays of a CSR matrix.
:func:`score_rows` and :func:`add_rows` are written for both, so that a loop over queries is written once. Features keep
their type; sums are float64.
"""

from typing import Any

import numpy as np
from numba import types
from numba.extending import overload

from podium.data.features import Features
from podium.numerics.compiling import njit

REORDER = {"contract", "reassoc", "nsz"}  # lets sums vectorize; infinities and NaN keep their meaning


def as_rows(features: Features) -> np.ndarray | tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return features in the form that compiled code takes."""
    return features if isinstance(features, np.ndarray) else (features.data, features.indices, features.indptr)


def score_rows(rows: Any, start: int, stop: int, coef: np.ndarray, intercept: float, out: np.ndarray) -> None:
    """Set ``out = rows[start:stop] @ coef + intercept``; a row's score does not depend on the rows around it."""
    raise NotImplementedError("for compiled code only")


def add_rows(rows: Any, start: int, stop: int, weights: np.ndarray, out: np.ndarray) -> None:
    """Add ``rows[start:stop].T @ weights`` to ``out``."""
    raise NotImplementedError("for compiled code only")


@njit(fastmath=REORDER, error_model="numpy")
def _dot(row: np.ndarray, coef: np.ndarray) -> float:
    total = 0.0
    for j in range(len(coef)):
        total += row[j] * coef[j]
    return total


@njit(error_model="numpy")
def _score_dense(rows: np.ndarray, start: int, stop: int, coef: np.ndarray, intercept: float, out: np.ndarray) -> None:
    block = rows[start:stop]
    for i in range(len(block)):
        out[i] = _dot(block[i], coef) + intercept


@njit(fastmath=REORDER, error_model="numpy")
def _add_dense(rows: np.ndarray, start: int, stop: int, weights: np.ndarray, out: np.ndarray) -> None:
    block = rows[start:stop]
    n = len(block)
    whole = n - n % 4
    # Four rows at a time: `out` is then loaded and stored once for four rows, which halves the time.
    for i in range(0, whole, 4):
        a, b, c, d = block[i], block[i + 1], block[i + 2], block[i + 3]
        wa, wb, wc, wd = weights[i], weights[i + 1], weights[i + 2], weights[i + 3]
        for j in range(len(out)):
            out[j] += (wa * a[j] + wb * b[j]) + (wc * c[j] + wd * d[j])
    for i in range(whole, n):
        a, wa = block[i], weights[i]
        for j in range(len(out)):
            out[j] += wa * a[j]


@njit(fastmath=REORDER, error_model="numpy")
def _score_sparse(rows: Any, start: int, stop: int, coef: np.ndarray, intercept: float, out: np.ndarray) -> None:
    data, indices, bounds = rows[0], rows[1], rows[2][start : stop + 1]
    for i in range(len(bounds) - 1):
        values, columns = data[bounds[i] : bounds[i + 1]], indices[bounds[i] : bounds[i + 1]]
        total = 0.0
        for k in range(len(values)):
            total += values[k] * coef[columns[k]]
        out[i] = total + intercept


@njit(error_model="numpy")
def _add_sparse(rows: Any, start: int, stop: int, weights: np.ndarray, out: np.ndarray) -> None:
    data, indices, bounds = rows[0], rows[1], rows[2][start : stop + 1]
    for i in range(len(bounds) - 1):
        values, columns = data[bounds[i] : bounds[i + 1]], indices[bounds[i] : bounds[i + 1]]
        for k in range(len(values)):
            out[columns[k]] += weights[i] * values[k]


@overload(score_rows, strict=False)  # type: ignore[untyped-decorator]
def _score_by_type(rows: Any, start: Any, stop: Any, coef: Any, intercept: Any, out: Any) -> Any:
    if isinstance(rows, types.Array):
        return lambda rows, start, stop, coef, intercept, out: _score_dense(rows, start, stop, coef, intercept, out)
    return lambda rows, start, stop, coef, intercept, out: _score_sparse(rows, start, stop, coef, intercept, out)


@overload(add_rows, strict=False)  # type: ignore[untyped-decorator]
def _add_by_type(rows: Any, start: Any, stop: Any, weights: Any, out: Any) -> Any:
    if isinstance(rows, types.Array):
        return lambda rows, start, stop, weights, out: _add_dense(rows, start, stop, weights, out)
    return lambda rows, start, stop, weights, out: _add_sparse(rows, start, stop, weights, out)

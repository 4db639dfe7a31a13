"""Products with rows of features, dense, sparse, rescaled within their query or with logarithms, inside compiled loops.

Compiled code receives features as :func:`rows_of` gives them: a C-ordered array, the three arrays of a CSR matrix, or
an array with what changes it. :func:`score_rows` and :func:`add_rows` are written for all, so that a loop over queries
is written once. Features keep their type; sums are float64.
"""

from typing import Any, NamedTuple

import numpy as np
from numba import types
from numba.extending import overload

from podium.data.features import Features
from podium.data.indexed import IndexedQueries
from podium.data.logarithms import LoggedQueries
from podium.data.normalize import minmax_map, rescale, zscore_map
from podium.data.queries import Queries
from podium.data.rescaled import RescaledQueries
from podium.numerics.compiling import njit
from podium.numerics.logarithms import write_logarithms, write_logarithms_of_stored

REORDER = {"contract", "reassoc", "nsz"}  # lets sums vectorize; infinities and NaN keep their meaning

_AT_ONCE = 64  # rows rescaled at a time; a multiple of four, so that sums are those of the rescaled matrix


class MinmaxRows(NamedTuple):
    """Features that are rescaled within their query when they are read, see :class:`RescaledQueries`."""

    features: np.ndarray
    starts: np.ndarray
    """(n_queries,) the row of ``features`` that is the first of each query."""
    offsets: np.ndarray
    number: np.ndarray
    """(n_queries,) the row of each query in the next two; −1 for those whose map is made when it is needed."""
    shift: np.ndarray
    scale: np.ndarray


class ZscoreRows(MinmaxRows):
    """The same with other maps: compiled code goes by the class."""


class IndexedRows(NamedTuple):
    """Rows of a matrix that is shared with others, see :class:`IndexedQueries`."""

    features: np.ndarray
    numbers: np.ndarray
    """(n_documents,) the row of each document."""


class LoggedRows(NamedTuple):
    """Such rows, some of whose features are replaced by logarithms when they are read, see :class:`LoggedQueries`."""

    features: np.ndarray
    numbers: np.ndarray
    columns: np.ndarray
    units: np.ndarray


class LoggedSparseRows(NamedTuple):
    """The same of the three arrays of a CSR matrix."""

    data: np.ndarray
    indices: np.ndarray
    bounds: np.ndarray
    log_scale: np.ndarray


def rows_of(queries: Queries) -> Any:
    """Return the features of queries in the form that compiled code takes."""
    if isinstance(queries, IndexedQueries):
        return IndexedRows(queries.matrix.rows, queries.rows)
    if isinstance(queries, LoggedQueries):
        rows, columns = rows_of(queries.given), queries.columns
        if queries.is_sparse:
            data, indices, bounds = rows
            return LoggedSparseRows(data, indices, bounds, queries.log_scale)
        given = rows if isinstance(rows, IndexedRows) else IndexedRows(rows, np.arange(len(rows)))
        return LoggedRows(*given, columns, queries.log_scale[columns])
    if not isinstance(queries, RescaledQueries):
        return as_rows(queries.features)
    kind = MinmaxRows if queries.how == "minmax" else ZscoreRows
    return kind(*queries.given_rows, queries.offsets, *queries.maps)


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
def _indexed_row(rows: Any, i: int) -> np.ndarray:
    return rows.features[rows.numbers[i]]


def _row(rows: Any, i: int) -> np.ndarray:
    """Return a row of a matrix, or of one that others share."""
    raise NotImplementedError("for compiled code only")


# By type, not by a function as an argument: Numba cannot keep on disk what is compiled with one.
@overload(_row, strict=False)  # type: ignore[untyped-decorator]
def _row_by_type(rows: Any, i: Any) -> Any:
    return (lambda rows, i: rows[i]) if isinstance(rows, types.Array) else (lambda rows, i: _indexed_row(rows, i))


@njit(error_model="numpy")
def _score_dense(rows: Any, start: int, stop: int, coef: np.ndarray, intercept: float, out: np.ndarray) -> None:
    for i in range(stop - start):
        out[i] = _dot(_row(rows, start + i), coef) + intercept


@njit(fastmath=REORDER, error_model="numpy")
def _add_dense(rows: Any, start: int, stop: int, weights: np.ndarray, out: np.ndarray) -> None:
    n = stop - start
    whole = n - n % 4
    # Four rows at a time: `out` is then loaded and stored once for four rows, which halves the time.
    for i in range(0, whole, 4):
        at = start + i
        a, b, c, d = _row(rows, at), _row(rows, at + 1), _row(rows, at + 2), _row(rows, at + 3)
        wa, wb, wc, wd = weights[i], weights[i + 1], weights[i + 2], weights[i + 3]
        for j in range(len(out)):
            out[j] += (wa * a[j] + wb * b[j]) + (wc * c[j] + wd * d[j])
    for i in range(whole, n):
        a, wa = _row(rows, start + i), weights[i]
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


@njit(error_model="numpy")
def _rescale_block(rows: Any, map_of: Any, start: int, stop: int, block: np.ndarray) -> None:
    """Write the rescaled rows ``start:stop``, of one query or several, to ``block``."""
    q = np.searchsorted(rows.offsets, start, side="right") - 1
    at = start
    while at < stop:
        begin, end = rows.offsets[q], min(rows.offsets[q + 1], stop)
        if end > at:
            here = block[at - start : end - start]
            k, first = rows.number[q], rows.starts[q]
            given = rows.features[first + at - begin : first + end - begin]
            if k >= 0:
                rescale(given, rows.shift[k], rows.scale[k], here)
            else:
                shift, scale = map_of(rows.features[first : first + rows.offsets[q + 1] - begin])
                rescale(given, shift, scale, here)
            at = end
        q += 1


@njit(cache=True, nogil=True, error_model="numpy")
def _write_minmax(rows: MinmaxRows, start: int, stop: int, block: np.ndarray) -> None:
    _rescale_block(rows, minmax_map, start, stop, block)


@njit(cache=True, nogil=True, error_model="numpy")
def _write_zscore(rows: ZscoreRows, start: int, stop: int, block: np.ndarray) -> None:
    _rescale_block(rows, zscore_map, start, stop, block)


def dense_rows(queries: Queries, start: int, stop: int) -> np.ndarray:
    """Return the features of the documents ``start:stop``, of queries that are not sparse."""
    if isinstance(queries, IndexedQueries):
        return queries.read(start, stop)
    if not isinstance(queries, RescaledQueries):
        return queries.features[start:stop]
    block = np.empty((stop - start, queries.n_features), queries.dtype)
    write = _write_minmax if queries.how == "minmax" else _write_zscore
    write(rows_of(queries), start, stop, block)
    return block


@njit(error_model="numpy")
def _write_logged(rows: LoggedRows, start: int, stop: int, block: np.ndarray) -> None:
    for i in range(stop - start):
        _copy_row(_indexed_row(rows, start + i), block[i])
    write_logarithms(block[: stop - start], rows.columns, rows.units, block)


@njit(error_model="numpy")
def _copy_row(row: np.ndarray, out: np.ndarray) -> None:
    for j in range(len(out)):
        out[j] = row[j]


@njit(error_model="numpy")
def _score_changed(
    rows: Any, write: Any, start: int, stop: int, coef: np.ndarray, intercept: float, out: np.ndarray
) -> None:
    block = np.empty((min(stop - start, _AT_ONCE), len(coef)), rows.features.dtype)
    for first in range(start, stop, _AT_ONCE):
        n = min(_AT_ONCE, stop - first)
        write(rows, first, first + n, block)
        _score_dense(block, 0, n, coef, intercept, out[first - start : first - start + n])


@njit(error_model="numpy")
def _add_changed(rows: Any, write: Any, start: int, stop: int, weights: np.ndarray, out: np.ndarray) -> None:
    block = np.empty((min(stop - start, _AT_ONCE), len(out)), rows.features.dtype)
    for first in range(start, stop, _AT_ONCE):
        n = min(_AT_ONCE, stop - first)
        write(rows, first, first + n, block)
        _add_dense(block, 0, n, weights[first - start : first - start + n], out)


@njit(error_model="numpy")
def _logged_values(rows: LoggedSparseRows, start: int, stop: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the rows ``start:stop`` as arrays of a CSR matrix of their own."""
    first, last = rows.bounds[start], rows.bounds[stop]
    values = np.empty(last - first, rows.data.dtype)
    data, indices = rows.data[first:last], rows.indices[first:last]
    write_logarithms_of_stored(0, len(values), data, indices, rows.log_scale, values)
    return values, indices, rows.bounds[start : stop + 1] - first


@njit(error_model="numpy")
def _score_logged_sparse(
    rows: LoggedSparseRows, start: int, stop: int, coef: np.ndarray, intercept: float, out: np.ndarray
) -> None:
    for first in range(start, stop, _AT_ONCE):
        n = min(_AT_ONCE, stop - first)
        here = out[first - start : first - start + n]
        _score_sparse(_logged_values(rows, first, first + n), 0, n, coef, intercept, here)


@njit(error_model="numpy")
def _add_logged_sparse(rows: LoggedSparseRows, start: int, stop: int, weights: np.ndarray, out: np.ndarray) -> None:
    for first in range(start, stop, _AT_ONCE):
        n = min(_AT_ONCE, stop - first)
        _add_sparse(_logged_values(rows, first, first + n), 0, n, weights[first - start : first - start + n], out)


_WRITE: dict[type, Any] = {MinmaxRows: _write_minmax, ZscoreRows: _write_zscore, LoggedRows: _write_logged}
"""How rows are changed: a function that writes some of them into a block."""


@overload(score_rows, strict=False)  # type: ignore[untyped-decorator]
def _score_by_type(rows: Any, start: Any, stop: Any, coef: Any, intercept: Any, out: Any) -> Any:
    kernel, how = _by_type(rows, _score_dense, _score_changed, _score_sparse, _score_logged_sparse)
    if how is None:
        return lambda rows, start, stop, coef, intercept, out: kernel(rows, start, stop, coef, intercept, out)
    return lambda rows, start, stop, coef, intercept, out: kernel(rows, how, start, stop, coef, intercept, out)


@overload(add_rows, strict=False)  # type: ignore[untyped-decorator]
def _add_by_type(rows: Any, start: Any, stop: Any, weights: Any, out: Any) -> Any:
    kernel, how = _by_type(rows, _add_dense, _add_changed, _add_sparse, _add_logged_sparse)
    if how is None:
        return lambda rows, start, stop, weights, out: kernel(rows, start, stop, weights, out)
    return lambda rows, start, stop, weights, out: kernel(rows, how, start, stop, weights, out)


def _by_type(rows: Any, dense: Any, changed: Any, sparse: Any, logged_sparse: Any) -> tuple[Any, Any]:
    """Return which of the functions is for rows of this Numba type, and what it changes them by."""
    if isinstance(rows, types.Array):
        return dense, None
    if not isinstance(rows, types.BaseNamedTuple):
        return sparse, None
    if rows.instance_class is LoggedSparseRows:
        return logged_sparse, None
    return (dense, None) if rows.instance_class is IndexedRows else (changed, _WRITE[rows.instance_class])

"""LightGBM's bins, made of rows that are read some at a time: beside them there is never a second matrix.

LightGBM finds the borders of bins in a sample of the rows. Given a whole matrix, it holds that sample in float64, with
room to spare, until all rows are binned. Here the sample is let go before the bins are allocated.
"""

import ctypes
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from podium.data.indexed import LARGE, IndexedQueries
from podium.data.queries import Queries
from podium.data.rescaled import RescaledQueries
from podium.scorers.linear.rows import dense_rows
from podium.scorers.trees.model import import_lightgbm

_VALUES_AT_ONCE = 2**18
_ZERO = 1e-35
"""What LightGBM takes for 0, which is not part of a sample."""


def reads_in_blocks(parts: Sequence[Queries]) -> bool:
    """Return whether to bin some rows at a time: large features, and those that are no matrix; never sparse ones."""
    if any(part.is_sparse for part in parts):
        return False
    if any(isinstance(part, IndexedQueries | RescaledQueries) for part in parts):
        return True
    return sum(part.n_values * part.dtype.itemsize for part in parts) >= LARGE


def binned(parts: Sequence[Queries], settings: dict[str, Any], reference: Any = None) -> Any:
    """Return a ``lightgbm.Dataset`` of all rows, binned under these settings, or as ``reference`` is."""
    data = import_lightgbm().Dataset(None, params=settings)
    n_rows = sum(part.n_documents for part in parts)
    if reference is None:
        _make_room(data, parts, settings, n_rows)
    else:
        data._init_from_ref_dataset(n_rows, reference._handle)
    for rows in _blocks(parts):
        data._push_rows(np.ascontiguousarray(rows))
    return data


def _make_room(data: Any, parts: Sequence[Queries], settings: dict[str, Any], n_rows: int) -> None:
    """Make room for so many rows, with borders of bins found in a sample of them, as LightGBM draws it."""
    sampled = _sampled_rows(settings, n_rows)
    columns, kept = _sample(parts, sampled)
    rarest = np.sort([len(column) for column in columns])[:2]
    if len(rarest) == 2 and rarest.sum() <= 1.0001 * len(sampled):
        # LightGBM may bundle features of which one is 0 where the other is not; it does not do so by reference.
        places = [np.flatnonzero(mask).astype(np.int32) for mask in kept]
        _create(data, columns, places, settings, len(sampled), n_rows, n_rows)
        return
    borders = import_lightgbm().Dataset(None, params=settings)
    places = [np.arange(len(sampled), dtype=np.int32)] * len(columns)  # for bundles only
    _create(borders, columns, places, settings | {"enable_bundle": False}, len(sampled), 1, n_rows)
    del columns
    data._init_from_ref_dataset(n_rows, borders._handle)


def _sampled_rows(settings: dict[str, Any], n_rows: int) -> np.ndarray:
    """Return the numbers of the rows that LightGBM samples, in order."""
    basic: Any = import_lightgbm().basic

    text = basic._param_dict_to_str(settings)
    rows = np.empty(basic._get_sample_count(n_rows, text), np.int32)
    found = ctypes.c_int32(0)
    where = rows.ctypes.data_as(ctypes.c_void_p)
    basic._safe_call(
        basic._LIB.LGBM_SampleIndices(ctypes.c_int32(n_rows), basic._c_str(text), where, ctypes.byref(found))
    )
    return rows[: found.value]


def _create(
    data: Any,
    columns: Sequence[np.ndarray],
    places: Sequence[np.ndarray],
    settings: dict[str, Any],
    n_sampled: int,
    n_here: int,
    n_rows: int,
) -> None:
    """Make room for ``n_here`` rows, with borders of bins as for ``n_rows``."""
    basic: Any = import_lightgbm().basic

    pointers = [
        (ctypes.c_void_p * len(columns))(*(array.ctypes.data for array in arrays)) for arrays in (columns, places)
    ]
    counts = np.array([len(column) for column in columns], np.int32)
    data._handle = ctypes.c_void_p()
    basic._safe_call(
        basic._LIB.LGBM_DatasetCreateFromSampledColumn(
            *pointers,
            ctypes.c_int32(len(columns)),
            counts.ctypes.data_as(ctypes.c_void_p),
            ctypes.c_int32(n_sampled),
            ctypes.c_int32(n_here),
            ctypes.c_int64(n_rows),
            basic._c_str(basic._param_dict_to_str(settings)),
            ctypes.byref(data._handle),
        )
    )


def _sample(parts: Sequence[Queries], chosen: np.ndarray) -> tuple[list[np.ndarray], np.ndarray]:
    """Return of each feature the values of the chosen rows that are not 0, and which rows these are, as a mask."""
    table = np.empty((parts[0].n_features, len(chosen)))
    done = first = 0
    for rows in _blocks(parts):
        stop = int(np.searchsorted(chosen, first + len(rows)))
        table[:, done:stop] = rows[chosen[done:stop] - first].T
        done, first = stop, first + len(rows)
    kept = np.empty(table.shape, bool)
    columns = []
    for column, mask in zip(table, kept, strict=True):
        mask[:] = (np.abs(column) > _ZERO) | np.isnan(column)
        n = int(mask.sum())
        if n < len(column):
            column[:n] = column[mask]
        columns.append(column[:n])
    return columns, kept


def _blocks(parts: Sequence[Queries]) -> Iterator[np.ndarray]:
    """Yield all rows, some at a time."""
    for part in parts:
        step = max(1, _VALUES_AT_ONCE // max(1, part.n_features))
        for start in range(0, part.n_documents, step):
            yield dense_rows(part, start, min(start + step, part.n_documents))

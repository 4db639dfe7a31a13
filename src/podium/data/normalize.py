"""Rescaling features within each query."""

import numpy as np

from podium.core.parameters import require_choice
from podium.data.features import Features
from podium.numerics.compiling import Array, Kernel, compiled, njit, unbound
from podium.numerics.pool import share

WITHIN_QUERY = ("minmax", "zscore")


def normalize(features: Features, offsets: Array, how: str) -> Array:
    """Rescale each feature within each query.

    ``"minmax"`` maps the query's smallest value to 0 and its largest to 1; ``"zscore"`` subtracts the query's mean and
    divides by its standard deviation. A feature that is constant in a query becomes 0 there. Missing values (NaN) are
    ignored and stay missing. The dtype is kept.
    """
    require_choice("how", how, WITHIN_QUERY)
    if not isinstance(features, np.ndarray):
        raise ValueError(
            "sparse features cannot be shifted within a query without filling in every zero; "
            "densify them (features.toarray()) or leave them as they are"
        )
    result = np.empty_like(features)
    share(_NORMALIZE[how], offsets, features, offsets, result, work=4 * features.size)
    return result


@njit(nogil=True, error_model="numpy")
def minmax_map(rows: Array) -> tuple[Array, Array]:
    """Return what :func:`rescale` subtracts from each column and divides it by; a divisor of −1 marks a constant."""
    low, high = _range(rows)
    return low, np.where(low < high, high - low, rows.dtype.type(-1))


@njit(nogil=True, error_model="numpy")
def zscore_map(rows: Array) -> tuple[Array, Array]:
    """Return mean and deviation of each column, as :func:`minmax_map` does; they are float64."""
    n, width = rows.shape
    count, mean, square = np.zeros(width), np.zeros(width), np.zeros(width)
    for i in range(n):
        for j in range(width):
            if not np.isnan(rows[i, j]):
                count[j] += 1
                mean[j] += rows[i, j]
    mean /= np.maximum(count, 1)
    for i in range(n):
        for j in range(width):
            if not np.isnan(rows[i, j]):
                square[j] += (rows[i, j] - mean[j]) ** 2 / count[j]
    low, high = _range(rows)  # rounding of the mean can leave a constant feature with a tiny deviation
    return mean, np.where(low < high, np.sqrt(square), -1.0)


@njit(nogil=True, error_model="numpy")
def _range(rows: Array) -> tuple[Array, Array]:
    """Return the lowest and the highest value of each column."""
    n, width = rows.shape
    low, high = np.full(width, np.inf, rows.dtype), np.full(width, -np.inf, rows.dtype)
    for i in range(n):
        for j in range(width):
            value = rows[i, j]
            low[j] = value if value < low[j] else low[j]  # comparisons with NaN are false: missing values stay out
            high[j] = value if value > high[j] else high[j]
    return low, high


@njit(nogil=True, error_model="numpy")
def rescale(rows: Array, shift: Array, scale: Array, result: Array) -> None:
    """Write rows under the map of their query to ``result``, rounded to its type."""
    for i in range(len(rows)):
        for j in range(len(shift)):
            result[i, j] = rows[i, j] * 0 if scale[j] == -1 else (rows[i, j] - shift[j]) / scale[j]


map_of: Kernel = unbound


def _normalize(first: int, stop: int, features: Array, offsets: Array, result: Array) -> None:
    for q in range(first, stop):
        rows = features[offsets[q] : offsets[q + 1]]
        shift, scale = map_of(rows)
        rescale(rows, shift, scale, result[offsets[q] : offsets[q + 1]])


def _write_maps(
    first: int, stop: int, features: Array, starts: Array, offsets: Array, number: Array, shift: Array, scale: Array
) -> None:
    for q in range(first, stop):
        if number[q] >= 0:
            rows_shift, rows_scale = map_of(features[starts[q] : starts[q] + offsets[q + 1] - offsets[q]])
            shift[number[q]], scale[number[q]] = rows_shift, rows_scale


_MAPS = {"minmax": minmax_map, "zscore": zscore_map}
_NORMALIZE = {how: compiled(_normalize, map_of=function) for how, function in _MAPS.items()}
WRITE_MAPS = {how: compiled(_write_maps, map_of=function) for how, function in _MAPS.items()}
"""Write the maps of the queries ``first:stop`` that have a place in ``shift`` and ``scale``, a ``number``.

The documents of query ``q`` are as many rows of ``features`` from ``starts[q]`` on.
"""

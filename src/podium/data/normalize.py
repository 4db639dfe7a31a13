"""Rescaling features within each query."""

import numpy as np

from podium.core.parameters import require_choice
from podium.data.features import Features
from podium.numerics.compiling import njit
from podium.numerics.pool import share

WITHIN_QUERY = ("minmax", "zscore")


def normalize(features: Features, offsets: np.ndarray, how: str) -> np.ndarray:
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
    share(_minmax if how == "minmax" else _zscore, offsets, features, offsets, result, work=4 * features.size)
    return result


@njit(cache=True, nogil=True, error_model="numpy")
def _minmax(first: int, stop: int, features: np.ndarray, offsets: np.ndarray, result: np.ndarray) -> None:
    for q in range(first, stop):
        rows = features[offsets[q] : offsets[q + 1]]
        shift, scale = minmax_map(rows)
        rescale(rows, shift, scale, result[offsets[q] : offsets[q + 1]])


@njit(cache=True, nogil=True, error_model="numpy")
def _zscore(first: int, stop: int, features: np.ndarray, offsets: np.ndarray, result: np.ndarray) -> None:
    for q in range(first, stop):
        rows = features[offsets[q] : offsets[q + 1]]
        shift, scale = zscore_map(rows)
        rescale(rows, shift, scale, result[offsets[q] : offsets[q + 1]])


@njit(nogil=True, error_model="numpy")
def minmax_map(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return what :func:`rescale` subtracts from each column and divides it by; a divisor of −1 marks a constant."""
    low, high = _range(rows)
    return low, np.where(low < high, high - low, rows.dtype.type(-1))


@njit(nogil=True, error_model="numpy")
def zscore_map(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
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
def _range(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
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
def rescale(rows: np.ndarray, shift: np.ndarray, scale: np.ndarray, result: np.ndarray) -> None:
    """Write rows under the map of their query to ``result``, rounded to its type."""
    for i in range(len(rows)):
        for j in range(len(shift)):
            result[i, j] = rows[i, j] * 0 if scale[j] == -1 else (rows[i, j] - shift[j]) / scale[j]


@njit(cache=True, nogil=True, error_model="numpy")
def write_maps(
    first: int,
    stop: int,
    zscore: bool,
    features: np.ndarray,
    starts: np.ndarray,
    offsets: np.ndarray,
    number: np.ndarray,
    shift: np.ndarray,
    scale: np.ndarray,
) -> None:
    """Write the maps of the queries ``first:stop`` that have a place in ``shift`` and ``scale``, a ``number``.

    The documents of query ``q`` are as many rows of ``features`` from ``starts[q]`` on.
    """
    for q in range(first, stop):
        if number[q] >= 0:
            rows = features[starts[q] : starts[q] + offsets[q + 1] - offsets[q]]
            if zscore:
                mean, deviation = zscore_map(rows)
                shift[number[q]], scale[number[q]] = mean, deviation
            else:
                low, width = minmax_map(rows)
                shift[number[q]], scale[number[q]] = low, width

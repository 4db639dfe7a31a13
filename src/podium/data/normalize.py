"""Rescaling features within each query, and finding values that are not finite."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit, prange
from scipy import sparse

from podium.core.parameters import require_choice

WITHIN_QUERY = ("minmax", "zscore")


def normalize(features: Any, offsets: np.ndarray, how: str) -> np.ndarray:
    """Rescale each feature within each query.

    ``"minmax"`` maps the query's smallest value to 0 and its largest to 1; ``"zscore"`` subtracts the query's mean and
    divides by its standard deviation. A feature that is constant in a query becomes 0 there. Missing values (NaN) do
    not count and stay missing. The dtype is kept.
    """
    require_choice("how", how, WITHIN_QUERY)
    if sparse.issparse(features):
        raise ValueError(
            "sparse features cannot be shifted within a query without filling in every zero; "
            "densify them (features.toarray()) or leave them as they are"
        )
    result = np.empty_like(features)
    (_minmax if how == "minmax" else _zscore)(features, offsets, result)
    return result


@njit(parallel=True, cache=True, error_model="numpy")
def _minmax(features: np.ndarray, offsets: np.ndarray, result: np.ndarray) -> None:
    for q in prange(len(offsets) - 1):
        rows, out = features[offsets[q] : offsets[q + 1]], result[offsets[q] : offsets[q + 1]]
        n, width = rows.shape
        if n == 0:
            continue
        low, high = np.full(width, np.inf, rows.dtype), np.full(width, -np.inf, rows.dtype)
        for i in range(n):
            for j in range(width):
                value = rows[i, j]
                low[j] = value if value < low[j] else low[j]  # comparisons with NaN are false: missing values stay out
                high[j] = value if value > high[j] else high[j]
        for i in range(n):
            for j in range(width):
                span = high[j] - low[j]
                out[i, j] = (rows[i, j] - low[j]) / span if span > 0 else rows[i, j] * 0


@njit(parallel=True, cache=True, error_model="numpy")
def _zscore(features: np.ndarray, offsets: np.ndarray, result: np.ndarray) -> None:
    for q in prange(len(offsets) - 1):
        rows, out = features[offsets[q] : offsets[q + 1]], result[offsets[q] : offsets[q + 1]]
        n, width = rows.shape
        if n == 0:
            continue
        low, high = np.full(width, np.inf), np.full(width, -np.inf)
        count, mean, square = np.zeros(width), np.zeros(width), np.zeros(width)
        for i in range(n):
            for j in range(width):
                value = rows[i, j]
                if not np.isnan(value):
                    count[j] += 1
                    mean[j] += value
                    low[j], high[j] = min(low[j], value), max(high[j], value)
        mean /= np.maximum(count, 1)
        for i in range(n):
            for j in range(width):
                if not np.isnan(rows[i, j]):
                    square[j] += (rows[i, j] - mean[j]) ** 2 / count[j]
        for i in range(n):
            for j in range(width):
                # Constancy is judged by the values themselves: rounding of the mean can leave a tiny deviation.
                varies = high[j] > low[j]
                out[i, j] = (rows[i, j] - mean[j]) / np.sqrt(square[j]) if varies else rows[i, j] * 0


def first_not_finite(features: Any) -> tuple[int, int, float] | None:
    """Row, column and value of the first entry that is NaN or infinite, or None."""
    if sparse.issparse(features):
        bad = np.flatnonzero(~np.isfinite(features.data))
        if not len(bad):
            return None
        row = int(np.searchsorted(features.indptr, bad[0], side="right")) - 1
        return row, int(features.indices[bad[0]]), float(features.data[bad[0]])
    position = _first_bad_row(features)
    if position < 0:
        return None
    column = int(np.flatnonzero(~np.isfinite(features[position]))[0])
    return int(position), column, float(features[position, column])


@njit(parallel=True, cache=True)
def _first_bad_row(features: np.ndarray) -> int:
    n, width = features.shape
    chunk = 4096  # rows: small enough to balance, large enough to stream
    n_chunks = (n + chunk - 1) // chunk
    found = np.full(n_chunks, n, np.int64)
    for c in prange(n_chunks):
        for i in range(c * chunk, min((c + 1) * chunk, n)):
            total = 0.0
            row = features[i]
            for j in range(width):
                total += row[j] * 0  # NaN as soon as one value is NaN or infinite, 0 otherwise
            if total != 0.0:
                found[c] = i
                break
    first = found.min() if n_chunks > 0 else n
    return -1 if first == n else first

"""Rescaling the features of one query, as :func:`podium.data.normalize.normalize` does it for many."""

import numpy as np


def minmax(rows: np.ndarray) -> np.ndarray:
    """Map each feature's smallest value to 0 and its largest to 1; NaN stay missing."""
    low, high = _range(rows)
    return _rescaled(rows, low, high - low, low < high)


def zscore(rows: np.ndarray) -> np.ndarray:
    """Subtract each feature's mean and divide by its standard deviation; NaN stay missing."""
    known = ~np.isnan(rows)
    count = np.maximum(known.sum(axis=0), 1)
    values = np.where(known, rows, 0).astype(np.float64)
    mean = values.sum(axis=0) / count
    deviation = np.sqrt((np.where(known, values - mean, 0) ** 2).sum(axis=0) / count)
    low, high = _range(rows)
    return _rescaled(rows, mean, deviation, low < high)


NORMALIZATIONS = {"minmax": minmax, "zscore": zscore}


def _range(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    known = ~np.isnan(rows)
    return np.min(rows, axis=0, initial=np.inf, where=known), np.max(rows, axis=0, initial=-np.inf, where=known)


def _rescaled(rows: np.ndarray, shift: np.ndarray, scale: np.ndarray, varies: np.ndarray) -> np.ndarray:
    """Return ``(rows - shift) / scale`` in the type of the rows; 0 where a feature does not vary."""
    with np.errstate(invalid="ignore"):
        return np.where(varies, (rows - shift) / np.where(varies, scale, 1), rows * 0).astype(rows.dtype)

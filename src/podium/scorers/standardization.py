"""Mean 0 and standard deviation 1 over the training set, without a copy of the features."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from podium.core.wording import advice
from podium.data.features import Features
from podium.data.queries import Queries
from podium.numerics.compiling import njit
from podium.numerics.pool import share

_ROWS = 8192  # per chunk: fixed, so that the sums are the same whatever the number of threads


@dataclass(frozen=True, slots=True)
class Standardization:
    """The map ``(x - mean) * inverse_scale`` of each feature."""

    mean: np.ndarray
    """(n_features,)"""
    inverse_scale: np.ndarray
    """(n_features,) one over the standard deviation; 0 for a constant feature, which then has no effect."""

    @classmethod
    def fit(cls, features: Features) -> Standardization:
        """Return the map for (n_documents, n_features) training features, dense or CSR. NaN are left out."""
        dense = isinstance(features, np.ndarray)
        mean, variance = _dense_moments(features) if dense else _sparse_moments(features)
        deviation = np.sqrt(variance)
        # A feature that varies by rounding only, in its own type, is constant: dividing would amplify noise.
        varies = deviation > np.finfo(features.dtype).eps * np.abs(mean)
        inverse_scale = np.zeros_like(mean)
        inverse_scale[varies] = 1.0 / deviation[varies]
        return cls(mean, inverse_scale)

    def apply(self, queries: Queries) -> Queries:
        """Return a copy with standardized features of the same type, for scorers that do not fold the map in."""
        if queries.is_sparse:
            raise ValueError(
                "standardizing sparse features would fill in every zero, and this scorer cannot avoid it; "
                + advice(
                    'use normalize=None or dense features (a linear scorer takes normalize="standard" as it is)',
                    "use --normalize none (a linear scorer takes --normalize standard as it is)",
                )
            )
        features = queries.features.copy()
        features -= self.mean.astype(features.dtype)
        features *= self.inverse_scale.astype(features.dtype)
        return queries.with_features(features, queries.feature_names)


def _dense_moments(features: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    n, width = features.shape
    if n == 0:
        return np.zeros(width), np.zeros(width)
    # Summing differences from the first row makes the mean of equal values exact, and loses no digits to an offset.
    first = np.nan_to_num(features[0].astype(np.float64))
    total, count = _column_sums(features, first, 1)
    mean = first + total / np.maximum(count, 1)
    square, _ = _column_sums(features, mean, 2)
    return mean, square / np.maximum(count, 1)


def _column_sums(features: np.ndarray, center: np.ndarray, power: int) -> tuple[np.ndarray, np.ndarray]:
    n_chunks = -(-len(features) // _ROWS)
    sums = np.zeros((n_chunks, features.shape[1]))
    counts = np.zeros((n_chunks, features.shape[1]))
    share(_sum_chunks, n_chunks, features, center, power, sums, counts, work=features.size)
    return sums.sum(axis=0), counts.sum(axis=0)


@njit(nogil=True, cache=True, error_model="numpy")
def _sum_chunks(
    first: int, stop: int, features: np.ndarray, center: np.ndarray, power: int, sums: np.ndarray, counts: np.ndarray
) -> None:
    """Sum ``(x - center) ** power`` (power 1 or 2) over each chunk of rows, and count its values."""
    for c in range(first, stop):
        block, total, count = features[c * _ROWS : (c + 1) * _ROWS], sums[c], counts[c]
        for i in range(len(block)):
            row = block[i]
            for j in range(len(row)):
                known = row[j] == row[j]
                d = row[j] - center[j] if known else 0.0
                total[j] += d if power == 1 else d * d
                count[j] += 1.0 if known else 0.0


def _sparse_moments(features: sparse.csr_matrix) -> tuple[np.ndarray, np.ndarray]:
    if not features.has_canonical_format:
        features = features.copy()
        features.sum_duplicates()
    n, width = features.shape
    if n == 0:
        return np.zeros(width), np.zeros(width)
    data = features.data.astype(np.float64)
    unknown = np.isnan(data)
    columns, data = features.indices[~unknown], data[~unknown]
    count = n - np.bincount(features.indices[unknown], minlength=width)
    stored = np.bincount(columns, minlength=width)
    mean = np.bincount(columns, data, width) / np.maximum(count, 1)
    difference = data - mean[columns]
    total = np.bincount(columns, difference, width) - (count - stored) * mean  # rounding error of the mean
    square = np.bincount(columns, difference**2, width) + (count - stored) * mean**2
    count = np.maximum(count, 1)
    return mean + total / count, np.maximum(square / count - (total / count) ** 2, 0.0)

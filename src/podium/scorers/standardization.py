"""Mean 0 and standard deviation 1 over the training set, without a copy of the features."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from podium.core.wording import advice
from podium.data.features import Features
from podium.data.queries import Queries
from podium.data.remote import AnyQueries, RemoteQueries
from podium.numerics.compiling import njit
from podium.numerics.loop import blocks_for
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
    def fit(cls, features: Features, offsets: np.ndarray | None = None) -> Standardization:
        """Return the map for (n_documents, n_features) training features, dense or CSR. NaN are left out.

        With the offsets of queries, chunks of rows end where blocks of queries do: see :meth:`of`.
        """
        offsets = np.array([0, features.shape[0]]) if offsets is None else offsets
        chunks = _chunks(offsets, features.shape[1])
        return cls._from_moments(_moments(features, chunks), features.dtype)

    @classmethod
    def of(cls, queries: Queries | RemoteQueries) -> Standardization:
        """Return the map for the features of queries; wherever they are, the same bits."""
        if not isinstance(queries, RemoteQueries):
            return cls.fit(queries.features, queries.offsets)
        rows = queries.offsets[queries.starts]
        chunks = np.union1d(_chunks(queries.offsets, queries.n_features), rows)
        edges = np.searchsorted(chunks, rows)
        per_part = [
            (chunks[low : high + 1] - start,) for low, high, start in zip(edges[:-1], edges[1:], rows[:-1], strict=True)
        ]
        found = queries.each(_moments_beside, per_part=per_part)
        return cls._from_moments(Moments(*map(np.concatenate, zip(*found, strict=True))), queries.dtype)

    @classmethod
    def _from_moments(cls, chunks: Moments, dtype: Any) -> Standardization:
        mean, variance = _together(*chunks)
        deviation = np.sqrt(variance)
        # A feature that varies by rounding only, in its own type, is constant: dividing would amplify noise.
        varies = deviation > np.finfo(dtype).eps * np.abs(mean)
        inverse_scale = np.zeros_like(mean)
        inverse_scale[varies] = 1.0 / deviation[varies]
        return cls(mean, inverse_scale)

    def apply(self, queries: AnyQueries) -> AnyQueries:
        """Return a copy with standardized features of the same type, for scorers that do not fold the map in."""
        if isinstance(queries, RemoteQueries):
            return queries.mapped(_apply_beside, self)
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


def _apply_beside(part: Queries, standardization: Standardization) -> Queries:
    return standardization.apply(part)


class Moments(NamedTuple):
    """Moments of the features in chunks of rows, one row per chunk."""

    counts: np.ndarray
    """Values that are not missing."""
    means: np.ndarray
    squares: np.ndarray
    """Sums of squared differences from the chunk's mean."""


def _chunks(offsets: np.ndarray, width: int) -> np.ndarray:
    """Return bounds of chunks of rows: blocks of queries, and in them runs of ``_ROWS``. They depend on data alone."""
    borders = offsets[blocks_for(offsets, 3 * width).bounds]
    inside = [np.arange(a, b, _ROWS) for a, b in zip(borders[:-1].tolist(), borders[1:].tolist(), strict=True)]
    return np.unique(np.concatenate((borders, *inside)).astype(np.int64))


def _moments_beside(part: Queries, chunks: np.ndarray) -> Moments:
    return _moments(part.features, chunks)


def _moments(features: Features, chunks: np.ndarray) -> Moments:
    n_chunks, width = len(chunks) - 1, features.shape[1]
    result = Moments(*(np.zeros((n_chunks, width)) for _ in Moments._fields))
    if isinstance(features, np.ndarray):
        share(_fill_moments, n_chunks, features, chunks, *result, work=2 * features.size)
        return result
    for chunk, (first, stop) in enumerate(zip(chunks[:-1].tolist(), chunks[1:].tolist(), strict=True)):
        count, mean, variance = _sparse_moments(features[first:stop])
        result.counts[chunk], result.means[chunk], result.squares[chunk] = count, mean, variance * count
    return result


@njit(nogil=True, cache=True, error_model="numpy")
def _fill_moments(
    first: int,
    stop: int,
    features: np.ndarray,
    chunks: np.ndarray,
    counts: np.ndarray,
    means: np.ndarray,
    squares: np.ndarray,
) -> None:
    """Compute the moments of each chunk; it is read twice, the second time from the processor's cache."""
    for c in range(first, stop):
        block, count, mean, square = features[chunks[c] : chunks[c + 1]], counts[c], means[c], squares[c]
        # Summing differences from a row makes the mean of equal values exact, and loses no digits to an offset.
        center = np.empty(block.shape[1])
        for j in range(len(center)):
            center[j] = block[0, j] if block[0, j] == block[0, j] else 0.0
        for i in range(len(block)):
            row = block[i]
            for j in range(len(row)):
                known = row[j] == row[j]
                mean[j] += row[j] - center[j] if known else 0.0
                count[j] += 1.0 if known else 0.0
        for j in range(len(center)):
            mean[j] = center[j] + mean[j] / max(count[j], 1.0)
        for i in range(len(block)):
            row = block[i]
            for j in range(len(row)):
                d = row[j] - mean[j] if row[j] == row[j] else 0.0
                square[j] += d * d


@njit(nogil=True, cache=True, error_model="numpy")
def _together(counts: np.ndarray, means: np.ndarray, squares: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return mean and variance over all chunks, taken in order (Chan, Golub & LeVeque, 1979)."""
    n_chunks, width = counts.shape
    count, mean, square = np.zeros(width), np.zeros(width), np.zeros(width)
    for c in range(n_chunks):
        for j in range(width):
            n = counts[c, j]
            if n > 0.0:
                difference = means[c, j] - mean[j]
                share_of_chunk = n / (count[j] + n)
                square[j] += squares[c, j] + difference * difference * count[j] * share_of_chunk
                # The first chunk's mean as it is: 0 + (m - 0) would be, too, but not if rounding were to come in.
                mean[j] = means[c, j] if count[j] == 0.0 else mean[j] + difference * share_of_chunk
                count[j] += n
    for j in range(width):
        square[j] /= max(count[j], 1.0)
    return mean, square


def _sparse_moments(features: sparse.csr_matrix) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return how many values are known, their mean and their variance."""
    if not features.has_canonical_format:
        features = features.copy()
        features.sum_duplicates()
    n, width = features.shape
    if n == 0:
        return np.zeros(width), np.zeros(width), np.zeros(width)
    data = features.data.astype(np.float64)
    unknown = np.isnan(data)
    columns, data = features.indices[~unknown], data[~unknown]
    count = n - np.bincount(features.indices[unknown], minlength=width)
    stored = np.bincount(columns, minlength=width)
    mean = np.bincount(columns, data, width) / np.maximum(count, 1)
    difference = data - mean[columns]
    total = np.bincount(columns, difference, width) - (count - stored) * mean  # rounding error of the mean
    square = np.bincount(columns, difference**2, width) + (count - stored) * mean**2
    n = np.maximum(count, 1)
    return count, mean + total / n, np.maximum(square / n - (total / n) ** 2, 0.0)

"""Mean 0 and standard deviation 1 over the training set, without a copy of the features.

A few documents with enormous values would decide alone what a linear model learns about a feature. So features with
heavy tails may be replaced by a logarithm first.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from podium.core.arrays import Arrays, require_array
from podium.core.wording import advice
from podium.data.features import Features
from podium.data.queries import Queries
from podium.data.remote import AnyQueries, RemoteQueries
from podium.numerics.compiling import njit
from podium.numerics.forward import logarithms
from podium.numerics.loop import blocks_for
from podium.numerics.pool import share

HEAVY = 30.0
"""A feature has heavy tails if its kurtosis is above this: normal values have 3, exponential ones 9, log-normal ones
with σ = 1 about 110. (Rare values of a count have a high kurtosis too; their logarithm is as good as they are.)"""
UNIT = 0.1
"""The unit of a logarithm as a share of the geometric mean of a feature's sizes: most values are well above it."""
_ROWS = 8192  # per chunk: fixed, so that the sums are the same whatever the number of threads


@dataclass(frozen=True, slots=True)
class Standardization:
    """The map ``(x - mean) * inverse_scale`` of each feature."""

    mean: np.ndarray
    """(n_features,)"""
    inverse_scale: np.ndarray
    """(n_features,) one over the standard deviation; 0 for a constant feature, which then has no effect."""
    log_scale: np.ndarray | None = None
    """(n_features,) the unit u of features that are first replaced by ``sign(x) log(1 + |x| / u)``; 0 for all others.
    None if there is none."""

    def __post_init__(self) -> None:
        if self.log_scale is not None and (self.log_scale < 0).any():
            raise ValueError("the unit of a logarithm is below 0")

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

    @classmethod
    def robust(cls, queries: Queries | RemoteQueries) -> Standardization:
        """Return the same map, or with logarithms of features that have heavy tails.

        The unit of a logarithm is a tenth of the geometric mean of the sizes of the feature's values other than 0.
        Sparse features, and those on a cluster, are left as they are.
        """
        plain = cls.of(queries)
        if isinstance(queries, RemoteQueries) or not isinstance(queries.features, np.ndarray):
            return plain
        features, log_scale = queries.features, np.zeros(queries.n_features)
        for j in np.flatnonzero(plain.inverse_scale):
            column = features[:, j].astype(np.float64)
            sizes = np.abs(column[np.isfinite(column) & (column != 0.0)])
            z = (column - plain.mean[j]) * plain.inverse_scale[j]
            if len(sizes) and np.nanmean(z**4) > HEAVY:
                log_scale[j] = UNIT * np.exp(np.log(sizes).mean())
        if not log_scale.any():
            return plain
        chosen = np.flatnonzero(log_scale)
        logs = cls.fit(logarithms(features[:, chosen].astype(np.float64), log_scale[chosen]))
        mean, inverse_scale = plain.mean.copy(), plain.inverse_scale.copy()
        mean[chosen], inverse_scale[chosen] = logs.mean, logs.inverse_scale
        return cls(mean, inverse_scale, log_scale)

    def to_arrays(self) -> dict[str, np.ndarray]:
        logs = {} if self.log_scale is None else {"log_scale": self.log_scale}
        return {"mean": self.mean, "inverse_scale": self.inverse_scale, **logs}

    @classmethod
    def from_arrays(cls, arrays: Arrays, n_features: int) -> Standardization:
        names = ("mean", "inverse_scale", *["log_scale"] * ("log_scale" in arrays))
        return cls(*(require_array(arrays, name, (n_features,)) for name in names))

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
        features = queries.features
        features = features.copy() if self.log_scale is None else logarithms(features, self.log_scale)
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

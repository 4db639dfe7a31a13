"""Mean, variance, kurtosis and typical size of each feature over all documents, or of its logarithms.

Documents are summed in chunks of rows, and the chunks are added in their order. The chunks depend on the data alone, so
neither threads nor a cluster changes a bit.
"""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from podium.data.features import Features
from podium.data.indexed import IndexedQueries
from podium.data.logarithms import LoggedQueries, logged_features, without_duplicates
from podium.data.queries import Queries
from podium.data.remote import RemoteQueries
from podium.numerics.compiling import njit
from podium.numerics.elementary import log
from podium.numerics.logarithms import logarithms_of_columns
from podium.numerics.loop import blocks_for
from podium.numerics.pool import share

_ROWS = 8192  # per chunk
_CHUNKS = 8  # copied at a time where rows are elsewhere in a matrix
_SMALLEST = float(np.finfo(np.float64).tiny)


class Moments(NamedTuple):
    """Moments of the features in chunks of rows, one row per chunk."""

    counts: np.ndarray
    """Values that are not missing."""
    means: np.ndarray
    squares: np.ndarray
    """Sums of squared differences from the chunk's mean."""


class Tails(NamedTuple):
    """Sums over chunks of rows, one row per chunk."""

    counts: np.ndarray
    """Values that are not missing."""
    fourths: np.ndarray
    """Fourth powers of standardized values."""
    nonzero: np.ndarray
    negative: np.ndarray
    """How many values are below 0."""
    logs: np.ndarray
    """Logarithms of the sizes of values that are not 0."""


class FeatureTails(NamedTuple):
    """Facts about features, (n_features,) each."""

    kurtosis: np.ndarray
    size: np.ndarray
    """Geometric mean of the sizes of values other than 0; 0 where there are none."""
    negative: np.ndarray
    """Whether values are below 0."""


class FeatureStatistics:
    """Statistics of the features of queries, in this process or elsewhere.

    With a ``log_scale``, (n_features,), they are those of ``sign(x) log(1 + |x| / u)`` for features whose unit u is not
    0, and 0 for others.
    """

    def __init__(self, queries: Queries | RemoteQueries) -> None:
        self.queries = queries
        self.chunks = _chunks(queries.offsets, queries.n_features)

    def mean_and_variance(self, log_scale: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Return (n_features,) each, of the values that are not missing."""
        return _together(*self._each(_moments_beside, log_scale))

    def tails(self, mean: np.ndarray, inverse_scale: np.ndarray, log_scale: np.ndarray | None = None) -> FeatureTails:
        """Return what is known of features with this mean and scale."""
        tails = self._each(_tails_beside, mean, inverse_scale, log_scale)
        counts, fourths, nonzero, negative, logs = (part.sum(axis=0) for part in tails)
        size = np.where(nonzero > 0, np.exp(logs / np.maximum(nonzero, 1.0)), 0.0)
        return FeatureTails(fourths / np.maximum(counts, 1.0), size, negative > 0)

    def _each(self, function: Any, *shared: Any) -> Any:
        """Return what a function of queries and bounds of chunks returns for all chunks."""
        if isinstance(self.queries, IndexedQueries):
            found = [function(rows, bounds, *shared) for rows, bounds in _copied(self.queries, self.chunks)]
            return type(found[0])(*map(np.concatenate, zip(*found, strict=True)))
        if not isinstance(self.queries, RemoteQueries):
            return function(self.queries, self.chunks, *shared)
        rows = self.queries.offsets[self.queries.starts]
        chunks = np.union1d(self.chunks, rows)
        edges = np.searchsorted(chunks, rows)
        per_part = [
            (chunks[low : high + 1] - start,) for low, high, start in zip(edges[:-1], edges[1:], rows[:-1], strict=True)
        ]
        found = self.queries.each(function, *shared, per_part=per_part)
        return type(found[0])(*map(np.concatenate, zip(*found, strict=True)))


def _chunks(offsets: np.ndarray, width: int) -> np.ndarray:
    """Return bounds of chunks of rows: blocks of queries, and in them runs of ``_ROWS``. They depend on data alone."""
    borders = offsets[blocks_for(offsets, 3 * width).bounds]
    inside = [np.arange(a, b, _ROWS) for a, b in zip(borders[:-1].tolist(), borders[1:].tolist(), strict=True)]
    return np.unique(np.concatenate((borders, *inside)).astype(np.int64))


def _copied(queries: IndexedQueries, chunks: np.ndarray) -> Iterator[tuple[Queries, np.ndarray]]:
    """Yield the documents of some chunks at a time, in a copy, and the bounds of these chunks there."""
    for first in range(0, len(chunks) - 1, _CHUNKS):
        bounds = chunks[first : first + _CHUNKS + 1]
        rows = queries.read(int(bounds[0]), int(bounds[-1]))
        yield Queries(rows, sizes=[len(rows)]), bounds - bounds[0]


def _moments_beside(part: Queries, chunks: np.ndarray, log_scale: np.ndarray | None) -> Moments:
    if log_scale is not None or not isinstance(part, LoggedQueries):
        return _moments(part.features, chunks, log_scale)
    plain, logs = (_moments(part.given.features, chunks, units) for units in (None, part.log_scale))
    return Moments(*(np.where(part.log_scale > 0, b, a) for a, b in zip(plain, logs, strict=True)))


def _moments(features: Features, chunks: np.ndarray, log_scale: np.ndarray | None) -> Moments:
    if isinstance(features, np.ndarray):
        return Moments(*_filled(_fill_moments, 3, features, chunks, log_scale))
    rows = []
    for block in _sparse_blocks(features, chunks, log_scale):
        count, mean, variance = _sparse_moments(block)
        rows.append((count, mean, variance * count))
    return Moments(*_stacked(rows, 3, features.shape[1], log_scale))


def _tails_beside(
    part: Queries, chunks: np.ndarray, mean: np.ndarray, inverse_scale: np.ndarray, log_scale: np.ndarray | None
) -> Tails:
    features = part.features
    if isinstance(features, np.ndarray):
        return Tails(*_filled(_fill_tails, 5, features, chunks, log_scale, mean, inverse_scale))
    rows = [_sparse_tails(block, mean, inverse_scale) for block in _sparse_blocks(features, chunks, log_scale)]
    return Tails(*_stacked(rows, 5, features.shape[1], log_scale))


def _filled(
    kernel: Any,
    n_results: int,
    features: np.ndarray,
    chunks: np.ndarray,
    log_scale: np.ndarray | None,
    *scaling: np.ndarray,
) -> list[np.ndarray]:
    """Return the arrays that a kernel fills, (n_chunks, n_features) each."""
    results = [np.zeros((len(chunks) - 1, features.shape[1])) for _ in range(n_results)]
    if log_scale is None:
        share(kernel, len(chunks) - 1, features, chunks, *scaling, *results, work=2 * features.size)
        return results
    columns = np.flatnonzero(log_scale)
    units, some = log_scale[columns], [values[columns] for values in scaling]

    def of_logarithms(first: int, stop: int) -> None:
        for c in range(first, stop):
            block = logarithms_of_columns(features[chunks[c] : chunks[c + 1]], columns, units)
            found = [np.zeros((1, len(columns))) for _ in range(n_results)]
            kernel(0, 1, block, np.array([0, len(block)]), *some, *found)
            for result, part in zip(results, found, strict=True):
                result[c, columns] = part[0]

    share(of_logarithms, len(chunks) - 1, work=10.0 * len(features) * len(columns))
    return results


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
def _fill_tails(
    first: int,
    stop: int,
    features: np.ndarray,
    chunks: np.ndarray,
    mean: np.ndarray,
    inverse_scale: np.ndarray,
    counts: np.ndarray,
    fourths: np.ndarray,
    nonzero: np.ndarray,
    negative: np.ndarray,
    logs: np.ndarray,
) -> None:
    """Compute the sums of each chunk."""
    for c in range(first, stop):
        for i in range(chunks[c], chunks[c + 1]):
            row = features[i]
            for j in range(len(row)):
                x = np.float64(row[j])
                z = (x - mean[j]) * inverse_scale[j] if x == x else 0.0
                fourths[c, j] += (z * z) * (z * z)
                counts[c, j] += 1.0 if x == x else 0.0
                negative[c, j] += 1.0 if x < 0.0 else 0.0
            for j in range(len(row)):
                size = abs(np.float64(row[j]))
                some = size > 0.0
                value = log(max(size, _SMALLEST) if some else 1.0)
                nonzero[c, j] += 1.0 if some else 0.0
                logs[c, j] += value if some else 0.0


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


def _sparse_blocks(features: Any, chunks: np.ndarray, log_scale: np.ndarray | None) -> Iterator[Any]:
    """Yield the rows of each chunk, with logarithms where they are to be."""
    for first, stop in pairwise(chunks.tolist()):
        block = without_duplicates(features[first:stop])
        yield block if log_scale is None else logged_features(block, log_scale)


def _stacked(rows: list[Any], n_results: int, width: int, log_scale: np.ndarray | None) -> list[np.ndarray]:
    """Return what was found for each chunk as arrays, (n_chunks, width) each; 0 where no logarithms are taken."""
    found = np.array(rows, np.float64).reshape(len(rows), n_results, width)
    kept = True if log_scale is None else log_scale > 0
    return [np.where(kept, found[:, i], 0.0) for i in range(n_results)]


def _sparse_moments(features: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return how many values of each column of a CSR matrix are known, their mean and their variance."""
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


def _sparse_tails(features: Any, mean: np.ndarray, inverse_scale: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return what :class:`Tails` holds for one chunk."""
    n, width = features.shape
    data = features.data.astype(np.float64)
    unknown = np.isnan(data)
    columns, data = features.indices[~unknown], data[~unknown]
    count = n - np.bincount(features.indices[unknown], minlength=width)
    at_zero = count - np.bincount(columns, minlength=width)
    fourths = np.bincount(columns, ((data - mean[columns]) * inverse_scale[columns]) ** 4, width)
    fourths = fourths + at_zero * (mean * inverse_scale) ** 4
    some = data != 0.0
    sizes = np.maximum(np.abs(data[some]), _SMALLEST)
    nonzero = np.bincount(columns[some], minlength=width)
    negative = np.bincount(columns[data < 0.0], minlength=width)
    return count, fourths, nonzero, negative, np.bincount(columns[some], np.log(sizes), width)

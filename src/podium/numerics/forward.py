"""Scores of models in plain NumPy, for programs that only serve them: importing this loads nothing else."""

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np

from podium.core.arrays import Array

LINEAR, TANH, RELU = range(3)
ACTIVATIONS = ("linear", "tanh", "relu")

# The scaled tanh 1.7159 tanh(2z/3) (LeCun's): ±1 at ±1, with its largest curvature there.
HEIGHT, SLOPE = 1.7159, 2.0 / 3.0

_TILE = 1_000_000  # pairs × hidden units held at once


def activated(kind: int, z: Array) -> Array:
    """Return the outputs of units for their inputs."""
    if kind == TANH:
        return HEIGHT * np.tanh(SLOPE * z)
    return np.maximum(z, 0) if kind == RELU else z


def layers_of(theta: Array, sizes: Sequence[int]) -> list[tuple[Array, Array]]:
    """Return the matrix, (n_out, n_in), and the biases, (n_out,), of each layer in a flat array of weights."""
    layers, at = [], 0
    for n_in, n_out in pairwise(sizes):
        stop = at + n_in * n_out
        layers.append((theta[at:stop].reshape(n_out, n_in), theta[stop : stop + n_out]))
        at = stop + n_out
    return layers


def network_scores(x: Array, layers: Sequence[tuple[Array, Array]], hidden: int, output: int) -> Array:
    """Return (n,) outputs of a multilayer perceptron for (n, n_features) standardized features."""
    for number, (weights, biases) in enumerate(layers, 1):
        x = activated(output if number == len(layers) else hidden, x @ weights.T + biases)
    return x[:, 0]


def pair_scores(x: Array, theta: Array, hidden: int, *, mean: bool) -> Array:
    """Return (n,) the sum or the mean of pairwise potentials of each document of one list with the others.

    ``theta`` holds A, B, b, v and c of :mod:`podium.scorers.network.potentials`.
    """
    n, width = x.shape
    projection = theta[: 2 * hidden * width].reshape(2, hidden, width)
    b, v, c = theta[2 * hidden * width : -1][:hidden], theta[-1 - hidden : -1], theta[-1]
    own, others = x @ projection[0].T + b, x @ projection[1].T
    totals = np.empty(n)
    height = max(1, _TILE // max(n * hidden, 1))
    for start in range(0, n, height):
        units = activated(TANH, own[start : start + height, None] + others)
        values = activated(TANH, units @ v + c)
        rows = np.arange(len(values))
        values[rows, start + rows] = 0.0
        totals[start : start + height] = values.sum(axis=1)
    return totals / (n - 1) if mean and n > 1 else totals


def step_tables(feature: Array, threshold: Array, weight: Array) -> Iterator[tuple[int, Array, Array]]:
    """Yield each feature that has steps, its thresholds, and its part in the score below, between and above them.

    Steps are sorted by feature, then threshold.
    """
    used = np.unique(feature)
    starts, stops = np.searchsorted(feature, used), np.searchsorted(feature, used, side="right")
    for j, start, stop in zip(used.tolist(), starts, stops, strict=True):
        yield j, threshold[start:stop], np.concatenate(([0.0], np.cumsum(weight[start:stop])))


def step_part(table: tuple[int, Array, Array], values: Array) -> Array:
    """Return the part in each score of a feature's (n,) values, float64."""
    _, thresholds, heights = table
    return heights[np.searchsorted(thresholds, values)]


def kernel_weights(x: Array, widths: Array, landmarks: Array, hidden: Array | None = None) -> Array:
    """Return (n, n_landmarks) the weight of each landmark's grade in each score; those ``hidden`` have none.

    Float32 rows stay float32 through the products and the exponential.
    """
    a = widths.astype(x.dtype)
    z, scaled = x * a, landmarks.astype(x.dtype, copy=False) * a
    exponent = z @ scaled.T
    exponent -= 0.5 * (scaled**2).sum(axis=1)  # ½|z|² is the same for the whole row and cancels
    if hidden is not None:
        exponent[:, hidden] = -np.inf
    # From exponents: documents far from all landmarks still have a nearest one.
    exponent -= exponent.max(axis=1, keepdims=True)
    np.exp(exponent, out=exponent)
    exponent /= exponent.sum(axis=1, keepdims=True)
    return exponent


def row_hashes(x: Array, seed: int) -> Array:
    """Return (n,) a number in [0, 1) for each row, the same for equal values of any type; zeros add nothing."""
    totals = np.full(len(x), seed, np.uint64)
    salts = hash_salts(x.shape[1], seed)
    for j in range(x.shape[1]):
        totals += hash_values(x[:, j], salts[j : j + 1])
    return hash_fractions(totals)


def hash_salts(n_features: int, seed: int) -> Array:
    """Return (n_features,) what tells equal values of different features apart."""
    return _mix(np.arange(n_features, dtype=np.uint64) + np.uint64(seed))


def hash_values(values: Array, salts: Array) -> Array:
    """Return the hash of each value, 0 for zero."""
    bits = np.ascontiguousarray(values, dtype=np.float64).view(np.uint64)
    return np.where(values == 0, np.uint64(0), _mix(bits ^ salts))


def hash_fractions(totals: Array) -> Array:
    """Return sums of hashes as numbers in [0, 1)."""
    return (_mix(totals) >> np.uint64(11)) * 2.0**-53


def _mix(x: Array) -> Array:
    """Return SplitMix64's finalizer of each word: every bit of the input affects every bit of the output."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def mean_ranks(scores: Array, offsets: Array) -> Array:
    """Return each document's rank in its list, 1 is best; equal scores share the mean of their ranks.

    >>> mean_ranks(np.array([0.5, 0.7, 0.5]), np.array([0, 3]))
    array([2.5, 1. , 2.5])
    """
    query = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    order = np.lexsort((-scores, query))
    starts = np.ones(len(order), bool)  # of runs of equal scores in one list
    starts[1:] = (query[order][1:] != query[order][:-1]) | (scores[order][1:] != scores[order][:-1])
    run = np.cumsum(starts) - 1
    position = np.arange(1, len(order) + 1) - offsets[query[order]]
    shared = np.bincount(run, position) / np.bincount(run)
    found = np.empty(len(order))
    found[order] = shared[run]
    return found


LARGEST_RATIO = 1e300
"""Larger ratios of a value and its unit count as this one: they have a logarithm."""


def logarithms(rows: Array, log_scale: Array) -> Array:
    """Return (n, n_features) rows of the same type, with ``sign(x) log(1 + |x| / u)`` of features whose u is not 0."""
    result, chosen = rows.copy(), np.flatnonzero(log_scale)
    x = rows[:, chosen].astype(np.float64)
    with np.errstate(over="ignore"):
        ratio = np.minimum(np.abs(x) / log_scale[chosen], LARGEST_RATIO)
    result[:, chosen] = np.copysign(np.log1p(ratio), x)
    return result

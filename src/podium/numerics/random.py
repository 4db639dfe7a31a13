"""Random numbers inside kernels that do not depend on which thread draws them.

Each query has a stream, a single 64-bit word in an array: its start is a hash of the loss's seed, the epoch and the
query's number in the whole data set (:func:`streams`), and each draw moves it on (SplitMix64: Steele, Lea & Flood,
OOPSLA 2014).
"""

import math
from functools import cache

import numpy as np

from podium.numerics.compiling import njit
from podium.numerics.elementary import log

_STEP = np.uint64(0x9E3779B97F4A7C15)


def streams(random_state: int, epoch: int, queries: int | np.ndarray, number: int = 0) -> np.ndarray:
    """Return a starting word for each query, (n_queries,) uint64.

    ``queries`` are the numbers of the queries in the whole data set, or how many there are if they are 0, 1, 2, … The
    same seed, epoch and number of the query give the same word, and others an unrelated one. A loss that needs several
    streams per query and epoch numbers them.
    """
    seeds = np.random.SeedSequence([random_state, epoch, *([number] if number else [])])
    if isinstance(queries, int):
        return _words(seeds, queries)
    return _words(seeds, int(queries.max(initial=-1)) + 1)[queries]


def _words(seeds: np.random.SeedSequence, n_words: int) -> np.ndarray:
    """Return ``seeds.generate_state(n_words, np.uint64)``, which takes several times as long."""
    n = -(-2 * n_words // len(seeds.pool)) * len(seeds.pool)
    factors = _factors(1 << n.bit_length())[: n + 1]
    halves = (factors[:-1].reshape(-1, len(seeds.pool)) ^ seeds.pool).ravel()
    halves *= factors[1:]
    halves ^= halves >> np.uint32(16)
    return halves[: 2 * n_words].astype("<u4").view("<u8").astype(np.uint64)


@cache
def _factors(n: int) -> np.ndarray:
    """Return the first powers of a multiplier, times the first constant, that ``SeedSequence`` hashes its pool with."""
    factors = np.full(n + 1, 0x58F38DED, np.uint32)
    factors[0] = 0x8B51F9DD
    return np.multiply.accumulate(factors, dtype=np.uint32)


@njit(error_model="numpy")
def next_word(stream: np.ndarray) -> np.uint64:
    """Return 64 random bits; ``stream`` is an array of one word."""
    stream[0] += _STEP
    return _mixed(stream[0])


@njit(error_model="numpy")
def _mixed(z: np.uint64) -> np.uint64:
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@njit(error_model="numpy")
def uniform(stream: np.ndarray) -> float:
    """Return a float64 uniform in [0, 1)."""
    return float(next_word(stream) >> np.uint64(11)) * (1.0 / 9007199254740992.0)


@njit(error_model="numpy", forceinline=True)
def uniform_at(start: np.uint64, i: int) -> float:
    """Return what :func:`uniform` returns for the i-th time, from 0 on, of a stream with this word: loops vectorize."""
    return float(_mixed(start + np.uint64(i + 1) * _STEP) >> np.uint64(11)) * (1.0 / 9007199254740992.0)


@njit(error_model="numpy")
def integer(stream: np.ndarray, below: int) -> int:
    """Return an integer uniform in 0 … below − 1 (to within 2^-53: lists are short)."""
    return int(uniform(stream) * below)


@njit(error_model="numpy")
def shuffle(x: np.ndarray, stream: np.ndarray) -> None:
    """Shuffle an array in place."""
    for i in range(len(x) - 1, 0, -1):
        j = integer(stream, i + 1)
        x[i], x[j] = x[j], x[i]


@njit(error_model="numpy")
def fill_uniform(x: np.ndarray, stream: np.ndarray) -> None:
    """Fill a float64 array with numbers uniform in (0, 1), neither end included."""
    start = stream[0]
    for i in range(len(x)):
        word = _mixed(start + np.uint64(i + 1) * _STEP)
        x[i] = (float(word >> np.uint64(12)) + 0.5) * (1.0 / 4503599627370496.0)
    stream[0] = start + np.uint64(len(x)) * _STEP


@njit(error_model="numpy")
def fill_logistic(x: np.ndarray, stream: np.ndarray) -> None:
    """Fill a float64 array with numbers from the standard logistic distribution."""
    fill_uniform(x, stream)
    for i in range(len(x)):
        x[i] = log(x[i] / (1.0 - x[i]))


@njit(error_model="numpy")
def fill_normal(x: np.ndarray, stream: np.ndarray) -> None:
    """Fill a float64 array with numbers from the standard normal distribution, by the method of Box and Muller."""
    fill_uniform(x, stream)
    odd = np.empty(len(x) % 2)
    fill_uniform(odd, stream)
    for i in range(0, len(x), 2):
        radius = math.sqrt(-2.0 * math.log(x[i]))
        angle = 2.0 * math.pi * (x[i + 1] if i + 1 < len(x) else odd[0])
        x[i] = radius * math.cos(angle)
        if i + 1 < len(x):
            x[i + 1] = radius * math.sin(angle)

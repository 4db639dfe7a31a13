"""Random numbers inside kernels that do not depend on which thread draws them.

Each query has a stream, a single 64-bit word in an array: its start is a hash of the loss's seed, the epoch and the
query's number in the whole data set (:func:`streams`), and each draw moves it on (SplitMix64: Steele, Lea & Flood,
OOPSLA 2014).
"""

import numpy as np

from podium.numerics.compiling import njit

_STEP = np.uint64(0x9E3779B97F4A7C15)


def streams(random_state: int, epoch: int, queries: int | np.ndarray, number: int = 0) -> np.ndarray:
    """Return a starting word for each query, (n_queries,) uint64.

    ``queries`` are the numbers of the queries in the whole data set, or how many there are if they are 0, 1, 2, … The
    same seed, epoch and number of the query give the same word, and others an unrelated one. A loss that needs several
    streams per query and epoch numbers them.
    """
    seeds = np.random.SeedSequence([random_state, epoch, *([number] if number else [])])
    if isinstance(queries, int):
        return seeds.generate_state(queries, np.uint64)
    return seeds.generate_state(int(queries.max(initial=-1)) + 1, np.uint64)[queries]


@njit(error_model="numpy")
def next_word(stream: np.ndarray) -> np.uint64:
    """Return 64 random bits; ``stream`` is an array of one word."""
    stream[0] += _STEP
    z = stream[0]
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@njit(error_model="numpy")
def uniform(stream: np.ndarray) -> float:
    """Return a float64 uniform in [0, 1)."""
    return float(next_word(stream) >> np.uint64(11)) * (1.0 / 9007199254740992.0)


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

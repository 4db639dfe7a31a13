"""BoltzRank: a Boltzmann distribution over rankings, exact for short lists, from Markov chains for longer ones."""

from functools import cached_property

import numpy as np

from podium.core.parameters import require_count
from podium.numerics.compiling import njit
from podium.numerics.pool import share
from podium.numerics.random import integer, streams, uniform
from podium.numerics.ranks.energy import PairWeight, rank_weights
from podium.probabilities.base import N_SAMPLES, DrawnProbabilities, ListProbabilities

LONGEST_EXACT = 14
"""Documents of the longest list that is summed over all sets of documents that may come first: 2^n of them."""
N_CHAINS = 50


class BoltzmannRankings(ListProbabilities):
    """Rankings R with probability ∝ exp(−Σ_j h(r_j) s_j), summed over the sets of documents that may come first."""

    def __init__(self, scores: np.ndarray, seed: int, g: PairWeight) -> None:
        super().__init__(scores, seed)
        h = rank_weights(self.n, g)
        self.log_weights = np.ascontiguousarray(-np.outer(h, self.scores - self.scores.mean()))
        """(n, n): what a document adds at rank r, in row r − 1."""

    @cached_property
    def sums(self) -> tuple[np.ndarray, np.ndarray]:
        """Logarithms of the sums over all orders of the set that comes first, and of the rest, by set."""
        return _sums_by_set(self.log_weights)

    def above(self, i: int, j: int) -> float:
        self._check(i, j)
        return 0.0 if i == j else float(_above(self.log_weights, *self.sums, i, j))

    def tied(self, i: int, j: int) -> float:
        self._check(i, j)
        return float(i == j)

    @cached_property
    def rank_distribution(self) -> np.ndarray:
        return _ranks(self.log_weights, *self.sums)

    def in_top(self, k: int) -> np.ndarray:
        require_count("k", k)
        return np.asarray(self.rank_distribution[:, :k].sum(axis=1))

    @property
    def most_probable(self) -> np.ndarray:
        return by_score(self.scores)

    def draw(self, n_samples: int = N_SAMPLES) -> np.ndarray:
        drawn = np.empty((n_samples, self.n), np.int64)
        share(
            _draw_exactly,
            n_samples,
            self.log_weights,
            self.sums[1],
            streams(self.seed, 0, n_samples),
            drawn,
            work=100.0 * n_samples * self.n**2,
        )
        return drawn


class BoltzmannChains(DrawnProbabilities):
    """The same for long lists: independent Markov chains that swap two documents at a time.

    ``standard_error`` is estimated from the differences between the chains: the largest of all ranks of all documents.
    """

    def __init__(self, scores: np.ndarray, seed: int, g: PairWeight) -> None:
        self.log_weights = np.ascontiguousarray(-np.outer(rank_weights(len(scores), g), scores - np.mean(scores)))
        super().__init__(scores, seed)
        self.standard_error = max(self.standard_error, self._between_chains())

    def draw(self, n_samples: int = N_SAMPLES) -> np.ndarray:
        drawn = np.empty((n_samples, self.n), np.int64)
        per_chain = -(-n_samples // N_CHAINS)
        work = 20.0 * self.n * (n_samples + 20.0 * N_CHAINS)
        words = streams(self.seed, 0, N_CHAINS)
        share(_run_chains, N_CHAINS, self.log_weights, words, per_chain, drawn, work=work)
        return drawn

    def _between_chains(self) -> float:
        per_chain = len(self.drawn) // N_CHAINS
        shares = np.stack(
            [
                np.stack([np.bincount(part[:, d], minlength=self.n) for d in range(self.n)]) / per_chain
                for part in np.split(self.drawn[: per_chain * N_CHAINS], N_CHAINS)
            ]
        )
        return float(shares.std(axis=0, ddof=1).max() / np.sqrt(N_CHAINS))

    @property
    def most_probable(self) -> np.ndarray:
        return by_score(self.scores)


def boltzmann(scores: np.ndarray, seed: int, g: PairWeight) -> ListProbabilities:
    """Return the distribution of a list's rankings."""
    return (BoltzmannRankings if len(scores) <= LONGEST_EXACT else BoltzmannChains)(scores, seed, g)


def by_score(scores: np.ndarray) -> np.ndarray:
    """Return (n,) each document's place in the order of scores, from 0."""
    places = np.empty(len(scores), np.int64)
    places[np.argsort(-scores, kind="stable")] = np.arange(len(scores))
    return places


@njit(cache=True, error_model="numpy")
def _sums_by_set(log_weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    n = len(log_weights)
    first, rest = np.full(1 << n, -np.inf), np.full(1 << n, -np.inf)
    first[0], rest[(1 << n) - 1] = 0.0, 0.0
    size = np.zeros(1 << n, np.int64)
    for chosen in range(1 << n):
        if chosen > 0:
            size[chosen] = size[chosen >> 1] + (chosen & 1)
        for j in range(n):
            if not chosen & (1 << j):
                there = chosen | (1 << j)
                first[there] = np.logaddexp(first[there], first[chosen] + log_weights[size[chosen], j])
    for chosen in range((1 << n) - 2, -1, -1):
        for j in range(n):
            if not chosen & (1 << j):
                rest[chosen] = np.logaddexp(rest[chosen], rest[chosen | (1 << j)] + log_weights[size[chosen], j])
    return first, rest


@njit(error_model="numpy")
def _size(chosen: int, n: int) -> int:
    size = 0
    for j in range(n):
        size += (chosen >> j) & 1
    return size


@njit(cache=True, error_model="numpy")
def _ranks(log_weights: np.ndarray, first: np.ndarray, rest: np.ndarray) -> np.ndarray:
    n = len(log_weights)
    found = np.zeros((n, n))
    for chosen in range(1 << n):
        k = _size(chosen, n)
        for j in range(n):
            if not chosen & (1 << j):
                found[j, k] += np.exp(first[chosen] + log_weights[k, j] + rest[chosen | (1 << j)] - rest[0])
    return found


@njit(cache=True, error_model="numpy")
def _above(log_weights: np.ndarray, first: np.ndarray, rest: np.ndarray, i: int, j: int) -> float:
    n = len(log_weights)
    total = 0.0
    for chosen in range(1 << n):
        if not chosen & ((1 << i) | (1 << j)):
            k = _size(chosen, n)
            total += np.exp(first[chosen] + log_weights[k, i] + rest[chosen | (1 << i)] - rest[0])
    return total


@njit(nogil=True, cache=True, error_model="numpy")
def _draw_exactly(
    start: int, stop: int, log_weights: np.ndarray, rest: np.ndarray, words: np.ndarray, drawn: np.ndarray
) -> None:
    n = len(log_weights)
    for s in range(start, stop):
        stream = words[s : s + 1].copy()
        chosen = 0
        for k in range(n):
            target, last = uniform(stream), -1
            for j in range(n):
                if not chosen & (1 << j):
                    last = j
                    target -= np.exp(log_weights[k, j] + rest[chosen | (1 << j)] - rest[chosen])
                    if target < 0.0:
                        break
            drawn[s, last] = k
            chosen |= 1 << last


@njit(nogil=True, cache=True, error_model="numpy")
def _run_chains(
    start: int, stop: int, log_weights: np.ndarray, words: np.ndarray, per_chain: int, drawn: np.ndarray
) -> None:
    n = len(log_weights)
    for chain in range(start, stop):
        stream = words[chain : chain + 1].copy()
        place = np.arange(n)
        for i in range(n - 1, 0, -1):  # start at a random ranking
            j = integer(stream, i + 1)
            place[i], place[j] = place[j], place[i]
        for step in range(-20, per_chain):  # twenty rounds of swaps before the first ranking is kept
            for _ in range(2 * n):
                i, j = integer(stream, n), integer(stream, n)
                a, b = place[i], place[j]
                gain = log_weights[b, i] + log_weights[a, j] - log_weights[a, i] - log_weights[b, j]
                if gain >= 0.0 or uniform(stream) < np.exp(gain):
                    place[i], place[j] = b, a
            s = chain * per_chain + step
            if step >= 0 and s < len(drawn):
                drawn[s] = place

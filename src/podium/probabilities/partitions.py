"""PMOP: ordered partitions. The arithmetic potential is exact, the geometric one is drawn."""

from functools import cached_property

import numpy as np

from podium.core.parameters import require_count
from podium.numerics.random import streams
from podium.numerics.subsets.answers import sample_partitions
from podium.numerics.subsets.positions import pair_groups, place_groups
from podium.numerics.subsets.sampling import ARITHMETIC, GEOMETRIC
from podium.numerics.subsets.sums import log_subset_sum
from podium.probabilities.arriving import PlackettLuce
from podium.probabilities.base import N_SAMPLES, DrawnProbabilities, ListProbabilities

LONGEST_EXACT = 150
"""Documents of the longest list whose places are followed exactly, which takes seconds once for each length."""
LONGEST_SEARCHED = 300
"""… and of the longest whose most probable partition is searched under the geometric potential."""
_DRAWING = 2e9
"""Operations, about, spent on drawing partitions under the geometric potential."""


class ArithmeticPartitions(ListProbabilities):
    """Ordered partitions under the arithmetic potential: Plackett-Luce leaders, companions regardless of scores."""

    @cached_property
    def order(self) -> PlackettLuce:
        """The distribution of the order that leaders are taken from."""
        return PlackettLuce(self.scores, self.seed)

    @cached_property
    def drawn(self) -> DrawnProbabilities | None:
        """Drawn partitions, for lists that are too long for exact answers."""
        if self.n <= LONGEST_EXACT:
            return None
        drawn = _Drawn(self.scores, self.seed)
        self.standard_error = drawn.standard_error
        return drawn

    def above(self, i: int, j: int) -> float:
        self._check(i, j)
        if i == j:
            return 0.0
        if self.drawn is not None:
            return self.drawn.above(i, j)
        first, second = self.order.first_of_two(i, j), self.order.first_of_two(j, i)
        outcome = pair_groups(self.n)
        return float(first @ outcome[:, 0] + second @ outcome[:, 2])

    def tied(self, i: int, j: int) -> float:
        self._check(i, j)
        if i == j:
            return 1.0
        if self.drawn is not None:
            return self.drawn.tied(i, j)
        return float((self.order.first_of_two(i, j) + self.order.first_of_two(j, i)) @ pair_groups(self.n)[:, 1])

    @property
    def rank_distribution(self) -> np.ndarray:
        if self.drawn is not None:
            return self.drawn.rank_distribution
        return np.asarray(self.order.rank_distribution @ place_groups(self.n).rank)

    def in_top(self, k: int) -> np.ndarray:
        require_count("k", k)
        if self.drawn is not None:
            return self.drawn.in_top(k)
        groups, m = place_groups(self.n), np.arange(self.n + 1)
        shares = np.zeros(self.n)
        for left in range(1, self.n + 1):
            share = groups.sizes[left] * np.clip((k - self.n + left) / np.maximum(m, 1), 0.0, 1.0)
            shares += groups.reached[:, left] * share.sum()
            shares += groups.taken[:, left] * (share @ (m - 1.0)) / max(left - 1, 1)
        return np.asarray(self.order.rank_distribution @ shares)

    @property
    def most_probable(self) -> np.ndarray:
        return most_probable_partition(self.scores, ARITHMETIC)

    def draw(self, n_samples: int = N_SAMPLES) -> np.ndarray:
        return _draw(ARITHMETIC, self.scores, n_samples, self.seed)


class _Drawn(DrawnProbabilities):
    def draw(self, n_samples: int = N_SAMPLES) -> np.ndarray:
        return _draw(ARITHMETIC, self.scores, n_samples, self.seed)


class GeometricPartitions(DrawnProbabilities):
    """Ordered partitions under the geometric potential, from exact draws."""

    def __init__(self, scores: np.ndarray, seed: int) -> None:
        affordable = int(np.clip(_DRAWING / max(len(scores), 1) ** 3, 1000, N_SAMPLES))
        super().__init__(scores, seed, affordable)

    @property
    def most_probable(self) -> np.ndarray:
        if self.n > LONGEST_SEARCHED:
            raise ValueError(
                f"the most probable partition under the geometric potential is searched in lists of up to "
                f"{LONGEST_SEARCHED} documents; this one has {self.n}"
            )
        return most_probable_partition(self.scores, GEOMETRIC)

    def draw(self, n_samples: int = N_SAMPLES) -> np.ndarray:
        return _draw(GEOMETRIC, self.scores, n_samples, self.seed)


def _draw(kind: int, scores: np.ndarray, n_samples: int, seed: int) -> np.ndarray:
    return sample_partitions(kind, scores, n_samples, streams(seed, 0, n_samples)).astype(np.int64)


def most_probable_partition(scores: np.ndarray, kind: int) -> np.ndarray:
    """Return (n,) the group of each document in the most probable partition of those that follow the scores.

    No document of a group then has a lower score than one of a later group. In enumerations of short lists the most
    probable of all partitions was always one of these.
    """
    n = len(scores)
    best_first = np.argsort(-scores, kind="stable")
    s = scores[best_first]
    best, stop = np.zeros(n + 1), np.zeros(n, np.int64)
    means = np.concatenate(([0.0], np.cumsum(s)))
    for first in range(n - 1, -1, -1):
        left, rest, sizes = n - first, s[first:], np.arange(1, n - first + 1)
        if kind == GEOMETRIC:
            log_potential = (means[first + 1 :] - means[first]) / sizes
            log_total = log_subset_sum(np.ascontiguousarray(rest), np.empty(left), np.empty(left))
        else:
            log_sums = np.logaddexp.accumulate(rest)
            log_potential = log_sums - np.log(sizes)
            log_total = log_sums[-1] + left * np.log(2.0) + np.log1p(-(2.0 ** -float(left))) - np.log(left)
        values = log_potential - log_total + best[first + 1 :]
        stop[first] = first + 1 + int(np.argmax(values))
        best[first] = values.max()
    groups, first, group = np.empty(n, np.int64), 0, 0
    while first < n:
        groups[best_first[first : stop[first]]] = group
        first, group = int(stop[first]), group + 1
    return groups

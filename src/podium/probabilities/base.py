"""What a distribution over the rankings of one list, ties included, can be asked."""

from typing import Any, NamedTuple

import numpy as np

from podium.core.parameters import require_count
from podium.metrics import Metric, metric
from podium.probabilities.tally import places

N_SAMPLES = 10_000
"""Rankings drawn where an answer is estimated."""


class ExpectedMetric(NamedTuple):
    """A metric under a distribution over rankings."""

    mean: float
    deviation: float
    """Its spread from ranking to ranking: the standard deviation."""
    standard_error: float
    """The standard error of the mean, which is that of drawn rankings."""


class ListProbabilities:
    """The distribution of the rankings of one list. Documents are numbered from 0, in the order of the rows given.

    A document's rank is 1 + the number of documents strictly above it.

    Attributes
    ----------
    n : int
        Documents.
    standard_error : float
        Of the probabilities answered, at most; 0 where they are exact.
    """

    def __init__(self, scores: np.ndarray, seed: int) -> None:
        self.scores, self.seed, self.n = np.asarray(scores, np.float64), seed, len(scores)
        self.standard_error = 0.0

    def above(self, i: int, j: int) -> float:
        """Return the probability that document i is strictly above document j."""
        raise NotImplementedError

    def tied(self, i: int, j: int) -> float:
        """Return the probability that documents i and j are tied."""
        raise NotImplementedError

    @property
    def rank_distribution(self) -> np.ndarray:
        """The probability that document d has rank r, (n, n), in row d and column r − 1."""
        raise NotImplementedError

    def in_top(self, k: int) -> np.ndarray:
        """Return how likely each document is among the first k, (n,).

        A tied group that reaches across place k counts by its share: of three tied for the places 2 to 4, each is among
        the first two with a third. So the sum is k.
        """
        raise NotImplementedError

    @property
    def most_probable(self) -> np.ndarray:
        """The most probable ranking: (n,) the number of each document's group, 0 for the best."""
        raise NotImplementedError

    def draw(self, n_samples: int = N_SAMPLES) -> np.ndarray:
        """Return rankings drawn from the distribution, (n_samples, n): the number of each document's group."""
        raise NotImplementedError

    def expected(self, measure: str | Metric, labels: Any, n_samples: int = N_SAMPLES) -> ExpectedMetric:
        """Return a metric's mean and spread over rankings of this list with these labels, from drawn rankings.

        Tied documents are treated as the metric's convention treats equal scores.
        """
        require_count("n_samples", n_samples)
        labels = np.asarray(labels, np.float64)
        if labels.shape != (self.n,):
            raise ValueError(f"labels must be one per document: {self.n}; got shape {labels.shape}")
        drawn = -self.draw(n_samples).astype(np.float64).ravel()
        offsets = np.arange(n_samples + 1) * self.n
        values = metric(measure).per_query(drawn, np.tile(labels, n_samples), offsets)
        deviation = float(values.std())
        return ExpectedMetric(float(values.mean()), deviation, deviation / np.sqrt(n_samples))

    def _check(self, *documents: int) -> None:
        for i in documents:
            if not 0 <= i < self.n:
                raise IndexError(f"document {i} does not exist: the list has {self.n}, numbered from 0")


class DrawnProbabilities(ListProbabilities):
    """A distribution whose answers are counted in drawn rankings; same seed, same answers."""

    def __init__(self, scores: np.ndarray, seed: int, n_samples: int = N_SAMPLES) -> None:
        super().__init__(scores, seed)
        self.drawn = self.draw(n_samples)
        self.ahead, self.size = places(self.drawn)
        self.standard_error = 0.5 / np.sqrt(n_samples)

    def above(self, i: int, j: int) -> float:
        self._check(i, j)
        return float((self.drawn[:, i] < self.drawn[:, j]).mean())

    def tied(self, i: int, j: int) -> float:
        self._check(i, j)
        return float((self.drawn[:, i] == self.drawn[:, j]).mean())

    @property
    def rank_distribution(self) -> np.ndarray:
        found = [np.bincount(self.ahead[:, d], minlength=self.n) for d in range(self.n)]
        return np.array(found).reshape(self.n, self.n) / len(self.drawn)

    def in_top(self, k: int) -> np.ndarray:
        require_count("k", k)
        return np.clip((k - self.ahead) / self.size, 0.0, 1.0).mean(axis=0)

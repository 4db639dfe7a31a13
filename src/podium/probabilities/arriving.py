"""Models in which documents arrive at independent times and are ranked by them: Plackett-Luce, and Gaussian scores."""

from functools import cached_property

import numpy as np
from scipy.special import ndtr

from podium.core.parameters import require_count
from podium.numerics.ranks.arrivals import arrival_counts, rank_before, rank_distributions_of
from podium.probabilities.base import N_SAMPLES, DrawnProbabilities, ListProbabilities

LONGEST = 500
"""Documents of the longest list whose rank distributions are integrated; longer ones are drawn."""
_FARTHEST = 9.0  # standard deviations beyond which a Gaussian is nothing


class ArrivingProbabilities(ListProbabilities):
    """Rankings by independent times of arrival; there are no ties."""

    points: np.ndarray
    """(n_points,) equally spaced; the integrands are smooth and vanish at both ends, so that the sum over them is as
    exact as floating-point numbers are."""

    @cached_property
    def arrived(self) -> np.ndarray:
        """(n_points, n) the probability that each document has arrived."""
        raise NotImplementedError

    @cached_property
    def density(self) -> np.ndarray:
        """(n_points, n) the probability that each document arrives about there."""
        raise NotImplementedError

    @cached_property
    def counts(self) -> np.ndarray:
        return arrival_counts(self.arrived)

    def tied(self, i: int, j: int) -> float:
        self._check(i, j)
        return float(i == j)

    @cached_property
    def rank_distribution(self) -> np.ndarray:
        if self.n > LONGEST:
            drawn = _Drawn(self)
            self.standard_error = drawn.standard_error
            return drawn.rank_distribution
        found = rank_distributions_of(self.arrived, self.density, self.counts)
        return np.asarray(found / found.sum(axis=1, keepdims=True))

    def in_top(self, k: int) -> np.ndarray:
        require_count("k", k)
        return np.asarray(self.rank_distribution[:, :k].sum(axis=1))

    @property
    def most_probable(self) -> np.ndarray:
        groups = np.empty(self.n, np.int64)
        groups[np.argsort(-self.scores, kind="stable")] = np.arange(self.n)
        return groups

    def times(self, n_samples: int) -> np.ndarray:
        """Return times of arrival drawn at random, (n_samples, n)."""
        raise NotImplementedError

    def draw(self, n_samples: int = N_SAMPLES) -> np.ndarray:
        return np.argsort(np.argsort(self.times(n_samples), axis=1), axis=1)


class _Drawn(DrawnProbabilities):
    def __init__(self, model: ArrivingProbabilities) -> None:
        self.model = model
        super().__init__(model.scores, model.seed)

    def draw(self, n_samples: int = N_SAMPLES) -> np.ndarray:
        return self.model.draw(n_samples)


class PlackettLuce(ArrivingProbabilities):
    """Plackett-Luce: the next document is chosen among the rest in proportion to e^s.

    The same as times of arrival that are exponential with the rates e^s. Points are logarithms of times.
    """

    @cached_property
    def _log_rates(self) -> np.ndarray:
        return self.scores - self.scores.max() if self.n else self.scores

    @cached_property
    def points(self) -> np.ndarray:  # type: ignore[override]
        step = min(0.1, 0.5 / np.sqrt(max(self.n, 1)))  # the times of neighboring ranks lie about 1/√n apart
        low = np.log(1e-15) - np.logaddexp.reduce(self._log_rates, initial=0.0)
        return np.arange(low, np.log(40.0) - self._log_rates.min(initial=0.0), step)

    @cached_property
    def _exponents(self) -> np.ndarray:
        """(n_points, n) rate times time."""
        return np.asarray(np.exp(self.points[:, np.newaxis] + self._log_rates))

    @cached_property
    def arrived(self) -> np.ndarray:
        return -np.expm1(-self._exponents)

    @cached_property
    def density(self) -> np.ndarray:
        return np.asarray((self.points[1] - self.points[0]) * self._exponents * np.exp(-self._exponents))

    def above(self, i: int, j: int) -> float:
        self._check(i, j)
        return 0.0 if i == j else float(1.0 / (1.0 + np.exp(np.clip(self.scores[j] - self.scores[i], -700.0, 700.0))))

    def first_of_two(self, i: int, j: int) -> np.ndarray:
        """Return (n,): the probability that document i has rank r, and j a later one."""
        return rank_before(i, j, self.arrived, self.density, self.counts, np.exp(-self._exponents[:, j]))

    def times(self, n_samples: int) -> np.ndarray:
        return -self.scores - np.random.default_rng(self.seed).gumbel(size=(n_samples, self.n))


class GaussianScores(ArrivingProbabilities):
    """Scores that are uncertain, N(s, σ²), as in SoftRank; the highest arrives first."""

    def __init__(self, scores: np.ndarray, seed: int, sigma: float) -> None:
        super().__init__(scores, seed)
        self.sigma = sigma

    @cached_property
    def points(self) -> np.ndarray:  # type: ignore[override]
        step = self.sigma * min(0.25, 0.5 / np.sqrt(max(self.n, 1)))
        reach = int(np.ceil(_FARTHEST * self.sigma / step))
        near = np.round(self.scores / step).astype(np.int64)[:, np.newaxis] + np.arange(-reach, reach + 1)
        return step * np.unique(near)[::-1].astype(np.float64)

    @cached_property
    def arrived(self) -> np.ndarray:
        return np.asarray(ndtr((self.scores - self.points[:, np.newaxis]) / self.sigma))

    @cached_property
    def density(self) -> np.ndarray:
        step = self.sigma * min(0.25, 0.5 / np.sqrt(max(self.n, 1)))
        z = (self.scores - self.points[:, np.newaxis]) / self.sigma
        return np.asarray(step / self.sigma * np.exp(-0.5 * z * z) / np.sqrt(2.0 * np.pi))

    def above(self, i: int, j: int) -> float:
        self._check(i, j)
        return 0.0 if i == j else float(ndtr((self.scores[i] - self.scores[j]) / (np.sqrt(2.0) * self.sigma)))

    def times(self, n_samples: int) -> np.ndarray:
        rng = np.random.default_rng(self.seed)
        return np.asarray(-(self.scores + self.sigma * rng.standard_normal((n_samples, self.n))))

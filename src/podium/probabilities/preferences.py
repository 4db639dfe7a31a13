"""Models of pairs and of sets of preferences: PairTies and StructRank. They say nothing of whole rankings."""

from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np

from podium.core.parameters import require_choice
from podium.losses.structrank.gaussian import log_both
from podium.metrics import Metric
from podium.probabilities.base import N_SAMPLES, ExpectedMetric, ListProbabilities


class PairsOnly(ListProbabilities):
    """A model of pairs. What needs a distribution over whole rankings is refused."""

    model = "this model"

    def _refuse(self, what: str) -> NoReturn:
        raise ValueError(
            f"{self.model} models pairs of documents, each by itself, and has no {what}: PMOP, ListMLE, BoltzRank and "
            "SoftRank have distributions over whole rankings"
        )

    @property
    def rank_distribution(self) -> np.ndarray:
        self._refuse("distribution of ranks")

    def in_top(self, k: int) -> np.ndarray:
        self._refuse("probability to be among the first")

    @property
    def most_probable(self) -> np.ndarray:
        self._refuse("most probable ranking")

    def draw(self, n_samples: int = N_SAMPLES) -> np.ndarray:
        self._refuse("rankings to draw")

    def expected(self, measure: str | Metric, labels: Any, n_samples: int = N_SAMPLES) -> ExpectedMetric:
        self._refuse("expected metric")


class TiedPairs(PairsOnly):
    """Pairs that may be tied: the Rao-Kupper and the Davidson model.

    With φ = e^s, Rao-Kupper: P(i≻j) = φ_i/(φ_i + θφ_j); Davidson: P(i≻j) = φ_i/(φ_i + φ_j + ν√(φ_iφ_j)).
    """

    model = "PairTies"

    def __init__(self, scores: np.ndarray, seed: int, kind: str, parameter: float) -> None:
        super().__init__(scores, seed)
        require_choice("kind", kind, ("rao-kupper", "davidson"))
        self.kind, self.parameter = kind, parameter

    def above(self, i: int, j: int) -> float:
        self._check(i, j)
        if i == j:
            return 0.0
        gap = self.scores[i] - self.scores[j]
        if self.kind == "rao-kupper":  # θ = 1 + e^α
            return float(np.exp(-np.logaddexp(0.0, np.logaddexp(0.0, self.parameter) - gap)))
        return float(np.exp(-np.logaddexp.reduce([0.0, -gap, self.parameter - 0.5 * gap])))

    def tied(self, i: int, j: int) -> float:
        self._check(i, j)
        return 1.0 if i == j else max(0.0, 1.0 - self.above(i, j) - self.above(j, i))


class PreferenceNetwork(PairsOnly):
    """StructRank: the joint probability of preferences, a cumulative distribution network."""

    model = "StructRank"

    def __init__(
        self,
        scores: np.ndarray,
        seed: int,
        topology: str,
        weights: np.ndarray,
        functions: Sequence[str] = ("sigmoid",),
        correlation: float = 0.5,
    ) -> None:
        super().__init__(scores, seed)
        if topology == "random":
            raise ValueError(
                'the network of StructRank(topology="random") is drawn anew in every epoch, so that the model has no '
                'probability of its own: topology="full" and "none" have'
            )
        self.topology, self.functions, self.correlation = topology, tuple(functions), correlation
        ones = np.ones((len(self.functions), 2))
        self.weights = ones if len(weights) == 0 else np.asarray(weights).reshape(ones.shape)

    def above(self, i: int, j: int) -> float:
        """Return the probability that document i is preferred to document j, in a network of this preference alone."""
        return 0.0 if i == j else self.holds([(i, j)])

    def tied(self, i: int, j: int) -> float:
        self._refuse("probability of a tie: it knows preferences only")

    def holds(self, preferences: Sequence[tuple[int, int]], network: Sequence[tuple[int, int]] | None = None) -> float:
        """Return the probability that all these preferences hold: pairs (preferred, other) of document numbers.

        Parameters
        ----------
        preferences : pairs
        network : pairs, optional
            All preferences of the network, of which the others are summed out; those asked for, if not given.
            Under ``"full"``, every two preferences share a function, so that the answer depends on them.
        """
        asked = list(dict.fromkeys((int(i), int(j)) for i, j in preferences))
        edges = asked if network is None else list(dict.fromkeys((int(i), int(j)) for i, j in network))
        if not set(asked) <= set(edges):
            raise ValueError("preferences must be among those of the network")
        for i, j in edges:
            self._check(i, j)
        margins = np.array([self.scores[i] - self.scores[j] for i, j in edges])
        counts = np.isin(np.arange(len(edges)), [edges.index(pair) for pair in asked])
        total = 0.0
        for name, (w1, w2) in zip(self.functions, self.weights, strict=True):
            # The margin of a preference that is summed out is infinite: it adds nothing.
            x, y = (np.where(counts, w * margins, np.inf) for w in (w1, w2))
            if self.topology == "none" or len(edges) == 1:
                total += self._terms(name, x, np.full(len(x), np.inf)).sum()
            else:
                terms = self._terms(name, x[:, np.newaxis], y)
                total += terms.sum() - np.trace(terms)
        return float(np.exp(-total))

    def _terms(self, name: str, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return −log of a function of the network at all x and y."""
        if name == "sigmoid":
            return np.logaddexp(0.0, np.logaddexp(-x, -y))
        return -np.vectorize(log_both, otypes=[float])(x, y, self.correlation)

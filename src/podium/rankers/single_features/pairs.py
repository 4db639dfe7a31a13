"""RankBoost's and FRank's weighting: pairs of documents that the ensemble orders badly count more.

A weak ranker h is judged by the weight of the pairs that it orders well less that of those it orders badly,

    r(h) = Σ_{y_i > y_j} D_ij (h_i − h_j) = Σ_i h_i π_i,

so each document's potential π_i is all that is needed, and the best of all thresholds on all features is found in one
pass over the documents. No array of pairs is ever made.
"""

from collections.abc import Callable

import numpy as np

from podium.data.queries import Queries
from podium.numerics.grades import count_pairs, label_groups
from podium.numerics.pool import share
from podium.rankers.single_features.kernels import (
    GradedLists,
    exponential_potentials,
    fidelity_potentials,
    fidelity_split,
)
from podium.rankers.single_features.loop import Rule, first_best, log_odds
from podium.rankers.single_features.thresholds import Thresholds


class PairWeighting:
    """Base class of weightings of pairs: chooses the threshold with the largest \\|r\\|.

    Parameters
    ----------
    queries : Queries
    query_weight : (n_queries,)
    n_thresholds : int
        Candidates per feature, at most.
    downwards : bool
        Whether documents below a threshold may be the better ones.
    by_query : bool
        Whether every query counts the same, whatever its number of pairs; else every pair does.
    """

    potential: np.ndarray

    def __init__(
        self, queries: Queries, query_weight: np.ndarray, n_thresholds: int, downwards: bool, by_query: bool
    ) -> None:
        groups = label_groups(queries.labels, queries.offsets)
        pairs = count_pairs(groups)
        scale = query_weight / np.maximum(pairs, 1) if by_query else query_weight
        total = float(scale @ pairs)
        scale = scale / total if total > 0 else np.zeros(len(queries))
        self.lists = GradedLists(queries.offsets, *groups, scale)
        self.n_pairs = float(pairs.sum())
        self.thresholds = Thresholds(queries.features, n_thresholds)
        self.downwards = downwards
        self.potential = np.zeros(queries.n_documents)
        self.losses = np.zeros(len(queries))

    def weigh(self, scores: np.ndarray) -> float:
        raise NotImplementedError

    def best_rule(self) -> Rule | None:
        edges = self.thresholds.weigh(self.potential)
        merits = np.abs(edges) if self.downwards else edges
        if not merits.size or not merits.max() > 0:
            return None
        feature, k = divmod(first_best(merits.ravel()), merits.shape[1])
        weight = self._weight(feature, k, float(edges[feature, k]))
        return Rule(feature, weight, float(self.thresholds.values[feature][k])) if weight else None

    def _weight(self, feature: int, k: int, edge: float) -> float:
        """Return the weight of the rule with threshold number ``k``, given its r times the sum of weights."""
        raise NotImplementedError

    def _for_queries(self, kernel: Callable[..., None], *arguments: np.ndarray, work: float) -> None:
        share(kernel, self.lists.offsets, self.lists, *arguments, work=10.0 * work)


class ExponentialWeighting(PairWeighting):
    """RankBoost: a pair weighs exp(s_j − s_i); the loss is the sum of these weights.

    Freund, Iyer, Schapire, Singer: An efficient boosting algorithm for combining preferences. JMLR 4, 2003.
    """

    def weigh(self, scores: np.ndarray) -> float:
        self._for_queries(exponential_potentials, scores, self.potential, self.losses, work=len(scores))
        self.total = float(self.losses.sum())
        return self.total

    def _weight(self, feature: int, k: int, edge: float) -> float:
        return log_odds(self.total + edge, self.total - edge)  # ½ ln((1 + r) / (1 − r)) for weights that sum to 1


class FidelityWeighting(PairWeighting):
    """FRank: the loss of a pair is 1 − √P, with P = 1 / (1 + exp(s_j − s_i)) the probability of the right order.

    Tsai, Liu, Qin, Chen, Ma: FRank: a ranking method with fidelity loss. SIGIR 2007.
    """

    def weigh(self, scores: np.ndarray) -> float:
        self.scores = scores
        self._for_queries(fidelity_potentials, scores, self.potential, self.losses, work=self.n_pairs)
        return float(self.losses.sum())

    def _weight(self, feature: int, k: int, edge: float) -> float:
        good_and_bad = np.empty((len(self.losses), 2))
        above = self.thresholds.above(feature, k)
        self._for_queries(fidelity_split, self.scores, above, good_and_bad, work=self.n_pairs)
        good, bad = good_and_bad.sum(axis=0)
        return log_odds(float(good), float(bad))

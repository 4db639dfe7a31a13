"""RankBoost's and FRank's weighting: pairs of documents that the ensemble orders badly count more.

A weak ranker h is judged by the weight of the pairs that it orders well less that of those it orders badly,

    r(h) = Σ_{y_i > y_j} D_ij (h_i − h_j) = Σ_i h_i π_i,

so each document's potential π_i is all that is needed, and the best of all thresholds on all features is found in one
pass over the documents. No array of pairs is ever made.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from podium.data.queries import Queries
from podium.numerics.grades import count_pairs, label_groups
from podium.numerics.pool import share
from podium.rankers.single_features.kernels import (
    GradedLists,
    exponential_potentials,
    fidelity_after,
    fidelity_potentials,
    fidelity_splits,
)
from podium.rankers.single_features.loop import ALIKE, Rule, first_best, log_odds
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

    def _for_queries(self, kernel: Callable[..., None], *arguments: Any, work: float) -> None:
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

    Tsai, Liu, Qin, Chen, Ma: FRank: a ranking method with fidelity loss. SIGIR 2007. A rule that orders pairs of the
    weight W₊ well and of W₋ badly gets the weight ½ ln(W₊ / W₋).

    Parameters
    ----------
    decided : int, optional
        Each round takes the rule that leads to the lowest loss, of so many: those with the largest (√W₊ − √W₋)², by
        which weights like these would lower an exponential loss. None decides between all. 0 takes the rule with the
        largest \\|W₊ − W₋\\|, the steepest descent, without computing losses.
    """

    def __init__(
        self,
        queries: Queries,
        query_weight: np.ndarray,
        n_thresholds: int,
        downwards: bool,
        by_query: bool,
        decided: int | None = 0,
    ) -> None:
        super().__init__(queries, query_weight, n_thresholds, downwards, by_query)
        self.decided = decided
        self.good, self.bad = np.zeros_like(self.thresholds.edges), np.zeros_like(self.thresholds.edges)

    def weigh(self, scores: np.ndarray) -> float:
        self.scores = scores
        self._for_queries(fidelity_potentials, scores, self.potential, self.losses, work=self.n_pairs)
        return float(self.losses.sum())

    def best_rule(self) -> Rule | None:
        if self.decided == 0:
            return super().best_rule()
        tables, n_features = self._tables(), len(self.thresholds.codes)
        share(fidelity_splits, n_features, *tables, work=2.0 * self.n_pairs * n_features)
        good, bad = (np.maximum(table.ravel(), 0.0) for table in (self.good, self.bad))  # sums may round below 0
        promise = (np.sqrt(good) - np.sqrt(bad)) ** 2
        usable = np.abs(good - bad) > ALIKE * (good + bad)
        promise[~usable if self.downwards else ~(usable & (good > bad))] = 0.0
        candidates = np.argsort(-promise, kind="stable")[: self.decided]
        candidates = candidates[promise[candidates] > 0]
        if not len(candidates):
            return None
        candidates.sort()  # of rules that lead to the same loss, the first
        losses = np.array([self._loss_after(*divmod(int(c), self.good.shape[1])) for c in candidates])
        if losses.min() >= self.losses.sum():
            return None
        feature, k = divmod(int(candidates[first_best(-losses)]), self.good.shape[1])
        return Rule(feature, self._known_weight(feature, k), float(self.thresholds.values[feature][k]))

    def _tables(self) -> tuple[Any, ...]:
        return self.lists, self.scores, self.thresholds.codes, self.good, self.bad

    def _loss_after(self, feature: int, k: int) -> float:
        """Return the loss once this rule is added with its weight."""
        losses, above = np.empty_like(self.losses), self.thresholds.above(feature, k)
        weight = self._known_weight(feature, k)
        self._for_queries(fidelity_after, self.scores, above, weight, losses, work=self.n_pairs)
        return float(losses.sum())

    def _weight(self, feature: int, k: int, edge: float) -> float:
        fidelity_splits(feature, feature + 1, *self._tables())
        return self._known_weight(feature, k)

    def _known_weight(self, feature: int, k: int) -> float:
        return log_odds(float(self.good[feature, k]), float(self.bad[feature, k]))

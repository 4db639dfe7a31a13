"""Metrics that a log of clicks can tell: sums over documents of a weight of the rank times the relevance."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from podium.metrics.definition import Metric, metric

AVERAGE_POSITION = "arp"
TOLD = "dcg[@k], p@k, rbp[@k] and arp (the ranks of relevant documents)"


@dataclass(frozen=True)
class RankWeight:
    """A metric Σ λ(rank) · relevance."""

    name: str
    at: Callable[[np.ndarray], np.ndarray]
    """λ of ranks, which count from 1."""

    def of_documents(self, scores: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        """Return λ of each document, ranked by score within its query; tied ones share the mean of their ranks' λ.

        Documents with a score of −∞ were not retrieved and weigh nothing, but the average position counts them as
        last.
        """
        query = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
        order = np.lexsort((-scores, query))
        ranked, of_query = scores[order], query[order]
        rank = np.arange(1, len(order) + 1) - offsets[of_query]
        is_new = np.ones(len(order), bool)
        is_new[1:] = (ranked[1:] != ranked[:-1]) | (of_query[1:] != of_query[:-1])
        tied = np.cumsum(is_new) - 1
        weight = np.bincount(tied, self.at(rank)) / np.bincount(tied)
        weights = np.empty(len(order))
        weights[order] = weight[tied]
        if self.name != AVERAGE_POSITION:
            weights[np.isneginf(scores)] = 0.0
        return weights


def rank_weights(metrics: str | Metric | Sequence[str | Metric]) -> dict[str, RankWeight]:
    """Return what metrics weigh ranks by, by the names they were asked by; raise for one that is no such sum."""
    asked = [metrics] if isinstance(metrics, str | Metric) else list(metrics)
    if not asked:
        raise ValueError("metrics is empty; name at least one, such as dcg@10")
    return {name if isinstance(name, str) else str(name): _rank_weight(name) for name in asked}


def _rank_weight(name: str | Metric) -> RankWeight:
    if isinstance(name, str) and name.strip().lower() == AVERAGE_POSITION:
        return RankWeight(AVERAGE_POSITION, lambda rank: rank.astype(np.float64))
    found = metric(name)
    depth = np.inf if found.cutoff is None else found.cutoff
    if found.convention != "standard" or found.family not in ("dcg", "p", "rbp"):
        raise ValueError(
            f"{found} cannot be told from clicks: it is not a sum over documents of a weight of the rank times the "
            f"relevance, under the standard convention; there are {TOLD}"
        )
    if found.family == "dcg":
        return RankWeight(found.name, lambda rank: (rank <= depth) / np.log2(rank + 1.0))
    if found.family == "p":
        return RankWeight(found.name, lambda rank: (rank <= depth) / depth)
    persistence = found.parameter or 0.0
    return RankWeight(found.name, lambda rank: (rank <= depth) * (1.0 - persistence) * persistence ** (rank - 1.0))

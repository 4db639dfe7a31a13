"""AdaRank's weighting: queries that the ensemble ranks badly by a metric count more.

Xu, Li: AdaRank: a boosting algorithm for information retrieval. SIGIR 2007.
"""

from collections.abc import Sequence

import numpy as np

from podium.data.queries import Queries
from podium.metrics import Metric
from podium.rankers.single_features.levels import Judge
from podium.rankers.single_features.loop import Rule, first_best, log_odds
from podium.scorers.thresholds import by_column, column


class MetricWeighting:
    """Weighting of queries: q weighs exp(−E_q), where E_q is the metric of the ensemble's ranking.

    The metric of a feature's ranking of a query never changes, so it is computed once, and a round costs one product
    with that table and one evaluation of the ensemble.

    Parameters
    ----------
    queries : Queries
    query_weight : (n_queries,)
    metric : Metric
        With values from −1 to 1.
    scale : (n_features,)
        Factors of the features as weak rankers; 0 leaves a feature out.
    downwards : bool
        Whether a feature may also rank with its lowest value first.
    repeats : int
        How often a feature may be chosen in a row.
    all_levels : bool
        Whether a metric of relevant documents is the mean over all grades from which on they may be relevant.
    """

    def __init__(
        self,
        queries: Queries,
        query_weight: np.ndarray,
        metric: Metric,
        scale: np.ndarray,
        downwards: bool,
        repeats: int,
        all_levels: bool = False,
    ) -> None:
        if not metric.kind.bounded:
            raise ValueError(f"AdaRank needs a metric that is at most 1, such as ndcg; {metric} is not")
        self.queries = queries
        self.judge = Judge(metric, queries, all_levels)
        self.repeats = repeats
        directions = (1.0, -1.0) if downwards else (1.0,)
        self.candidates = [(j, d * scale[j]) for j in range(queries.n_features) if scale[j] != 0 for d in directions]
        self.merits = merit_table(self.judge, self.candidates)
        # Whether a query has a value depends on its labels, not on the ranking.
        self.query_weight = np.where(np.isnan(self.merits).any(axis=0), 0.0, query_weight)
        np.nan_to_num(self.merits, copy=False)
        self.weights = self.query_weight
        self.chosen: list[int] = []

    def weigh(self, scores: np.ndarray) -> float:
        total = self.query_weight.sum()
        if not self.chosen or total == 0:  # nothing is ranked yet: queries count alike
            self.weights = self.query_weight / max(total, np.finfo(float).tiny)
            return 1.0
        losses = self.query_weight * np.exp(-np.nan_to_num(self.judge.per_query(scores)))
        self.weights = losses / losses.sum()
        return float(losses.sum() / total)

    def best_rule(self) -> Rule | None:
        if not len(self.candidates) or not self.weights.any():
            return None
        merits = self.merits @ self.weights
        last = self.chosen[-self.repeats :]
        if len(last) == self.repeats and len(set(last)) == 1:
            merits[last[0]] = -np.inf
        best = first_best(merits)
        merit = merits[best]
        if merit <= 0:
            return None
        self.chosen.append(best)
        j, factor = self.candidates[best]
        return Rule(j, log_odds(1 + merit, 1 - merit) * factor)


def merit_table(judge: Judge, candidates: Sequence[tuple[int, float]]) -> np.ndarray:
    """(n_candidates, n_queries) values of the queries when they are ranked by factor × feature."""
    table = np.empty((len(candidates), len(judge.queries)))
    features = by_column(judge.queries.features)
    for row, (j, factor) in zip(table, candidates, strict=True):
        row[:] = judge.per_query(factor * column(features, j))
    return table

"""What rankings are worth by a metric that only knows relevant documents, where labels are graded.

MAP, P@k or MRR do not see grades. Where most documents are relevant they hardly tell features apart, and where all
are, not at all. The mean over all grades from which on documents may count as relevant does.
"""

from dataclasses import replace

import numpy as np

from podium.data.queries import Queries
from podium.metrics import Metric
from podium.training.base import per_query

MOST_LEVELS = 10
"""Grades at which relevance may begin, at most; of more distinct labels, so many are taken at equal steps."""


class Judge:
    """The value of rankings of given queries.

    Parameters
    ----------
    metric : Metric
    queries : Queries
    all_levels : bool
        Take, for a metric of relevant documents, the mean over all *levels*: the grades at which relevance may begin,
        above the lowest of the data and not below the metric's own. In each query those count that a document reaches;
        a query without any has the value that the metric itself gives it. Otherwise, the metric as it is.
    """

    def __init__(self, metric: Metric, queries: Queries, all_levels: bool) -> None:
        self.queries, self.metric = queries, metric
        levels = np.empty(0)
        if all_levels and metric.kind.seeks == "relevant":
            levels = _levels(queries.labels, metric.rules.relevant_from)
        self.by_level = [replace(metric, rules=replace(metric.rules, relevant_from=float(level))) for level in levels]
        best = np.full(len(queries), -np.inf)
        np.maximum.at(best, queries.query_of_document, queries.labels)
        self.reached = best >= levels[:, None]

    def per_query(self, scores: np.ndarray) -> np.ndarray:
        """Return the value of each query when ranked by these scores, (n_queries,); NaN where there is none."""
        values = per_query(self.queries, scores, self.metric)
        if not self.by_level:
            return values
        sums = np.zeros(len(values))
        for metric, reached in zip(self.by_level, self.reached, strict=True):
            sums[reached] += per_query(self.queries, scores, metric)[reached]
        return np.where(self.reached[0], sums / np.maximum(self.reached.sum(axis=0), 1), values)


def _levels(labels: np.ndarray, own: float) -> np.ndarray:
    """Return the levels in ascending order; none where only the metric's own is left."""
    grades = np.unique(labels)
    levels = grades[1:][grades[1:] >= own]
    if len(levels) > MOST_LEVELS:
        levels = levels[np.linspace(0, len(levels) - 1, MOST_LEVELS).round().astype(np.int64)]
    return levels if len(levels) > 1 or grades[0] >= own else np.empty(0)

"""Agreement of methods: wins over queries, correlation of their rankings."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from podium.experiments.report.rankings import by_fold
from podium.experiments.result.statistics import TIE
from podium.experiments.result.summary import MethodSummary

if TYPE_CHECKING:
    from podium.experiments.result.comparison import Comparison

SAMPLED = 400
"""About how many queries correlations are averaged over; more would not change the second digit."""


def duels(comparison: Comparison, rows: list[MethodSummary]) -> list[list[int]]:
    """Return on how many queries the row's method is better, by the primary metric, than the column's."""
    values = _values(comparison, rows)
    return [[int((one > other + TIE).sum()) for other in values] for one in values]


def n_valued(comparison: Comparison, rows: list[MethodSummary]) -> int:
    """Return the number of queries on which every method has a value."""
    return int((~np.isnan(_values(comparison, rows)).any(axis=0)).sum())


def agreement(comparison: Comparison, rows: list[MethodSummary]) -> list[list[float | None]] | None:
    """Return Spearman's correlation of each two methods' scores within a query, averaged over queries that have one."""
    folds = by_fold(comparison, rows)
    if folds is None or len(rows) < 2:
        return None
    total = np.zeros((len(rows), len(rows)))
    count = np.zeros_like(total)
    step = max(1, comparison.n_queries // SAMPLED)
    for queries, scores in folds:
        stacked = np.stack(scores)
        for start, end in list(pairwise(queries.offsets.tolist()))[::step]:
            correlations = _spearman(stacked[:, start:end])
            defined = ~np.isnan(correlations)
            total[defined] += correlations[defined]
            count += defined
    return [
        [round(float(t / n), 3) if n else None for t, n in zip(*line, strict=True)]
        for line in zip(total, count, strict=True)
    ]


def _values(comparison: Comparison, rows: list[MethodSummary]) -> np.ndarray:
    """Return the values of the primary metric, (methods, queries)."""
    if not rows:
        return np.empty((0, 0))
    return np.stack([comparison.values(row.method, comparison.primary) for row in rows])


def _spearman(scores: np.ndarray) -> np.ndarray:
    """Return the correlations between the rows; NaN for a row whose scores are all equal."""
    from scipy.stats import rankdata

    ranks = rankdata(scores, axis=1)
    ranks -= ranks.mean(axis=1, keepdims=True)
    norms = np.linalg.norm(ranks, axis=1)
    norms[norms == 0.0] = np.nan
    ranks /= norms[:, None]
    correlations: np.ndarray = ranks @ ranks.T
    return correlations

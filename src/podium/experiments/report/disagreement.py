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


def duels(values: np.ndarray) -> list[list[int]]:
    """Return on how many queries the row's method has a higher value than the column's; ``values`` are by method."""
    return [[int((one > other + TIE).sum()) for other in values] for one in values]


def agreement(comparison: Comparison, rows: list[MethodSummary]) -> list[list[float | None]] | None:
    """Return Spearman's correlation of each two methods' scores within a query, averaged over queries that have one."""
    from scipy.stats import rankdata

    folds = by_fold(comparison, rows)
    if folds is None or len(rows) < 2:
        return None
    total = np.zeros((len(rows), len(rows)))
    count = np.zeros_like(total)
    step = max(1, comparison.n_queries // SAMPLED)
    for queries, scores in folds:
        stacked = np.stack(scores)
        for start, end in list(pairwise(queries.offsets.tolist()))[::step]:
            if end - start < 2:
                continue
            with np.errstate(invalid="ignore"):  # scores that are all equal have no correlation
                correlations = np.corrcoef(rankdata(stacked[:, start:end], axis=1))
            defined = ~np.isnan(correlations)
            total[defined] += correlations[defined]
            count += defined
    return [
        [round(float(t / n), 3) if n else None for t, n in zip(*line, strict=True)]
        for line in zip(total, count, strict=True)
    ]

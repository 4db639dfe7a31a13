"""The rows of a comparison's table: what its results say about each method."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from podium.experiments.plan.external import EXTERNAL
from podium.experiments.result import averaging, statistics
from podium.experiments.result.summary import Estimate, MethodSummary

if TYPE_CHECKING:
    from podium.experiments.result.comparison import Comparison


def method_rows(comparison: Comparison) -> list[MethodSummary]:
    """Return one row per method, best first, failed ones last."""
    good = [m for m in comparison.methods if all(result.error is None for result in comparison.results_of(m))]
    estimates = {m: {name: _estimate(comparison, m, name) for name in comparison.metrics} for m in good}
    good.sort(key=lambda m: -estimates[m][comparison.primary].mean)
    values = {m: comparison.values(m, comparison.primary) for m in good}
    tests = averaging.against(comparison, values, good[0], comparison.primary) if good else {}
    ordered = good + [m for m in comparison.methods if m not in estimates]
    return [_row(comparison, m, estimates.get(m, {}), tests.get(m)) for m in ordered]


def _estimate(comparison: Comparison, method: str, metric: str) -> Estimate:
    values = comparison.weighted(method, metric)
    mean = float(np.mean(values)) if len(values) else float("nan")
    if comparison.inference is not None:
        return Estimate(mean, *comparison.inference.interval(method, metric, mean))
    return Estimate(mean, *statistics.interval(values))


def _row(
    comparison: Comparison, method: str, estimates: dict[str, Estimate], test: statistics.Paired | None
) -> MethodSummary:
    results = tuple(comparison.results_of(method))
    unknown = np.nan if comparison.configuration.methods[method].family == EXTERNAL else 0.0
    return MethodSummary(
        method,
        estimates,
        test,
        seconds=unknown + float(np.mean([result.seconds for result in results])),
        search_seconds=unknown + float(sum(result.search_seconds for result in results)),
        results=results,
        seed_spread=_seed_spread(comparison, method) if estimates else {},
    )


def _seed_spread(comparison: Comparison, method: str) -> dict[str, float]:
    seeds = {result.seed for result in comparison.results_of(method)}
    if len(seeds) < 2:
        return {}
    return {m: float(np.std([comparison.figure(method, m, s) for s in seeds], ddof=1)) for m in comparison.metrics}

"""What a comparison says about one method: a row of its table."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from podium.experiments.result.statistics import Paired
from podium.experiments.run.outcomes import Result

LEVELS = ((0.01, "‡"), (0.05, "†"))
"""Marks of methods that are significantly worse than the best, by corrected p-value."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean over test queries and its 95 % bootstrap interval."""

    mean: float
    low: float
    high: float

    @property
    def half_width(self) -> float:
        return (self.high - self.low) / 2


@dataclass(frozen=True, slots=True)
class MethodSummary:
    """One method: means, tests, times and the results behind them."""

    method: str
    estimates: dict[str, Estimate]
    """By metric; empty for a method that failed."""
    against_best: Paired | None
    """Compared with the best on the primary metric; None for the best, and for a method that failed."""
    seconds: float
    """Training time of the selected model, mean over folds; NaN for a run that was made elsewhere."""
    search_seconds: float
    """Training time of all trials on all folds."""
    results: tuple[Result, ...]
    """One per fold and seed."""
    seed_spread: dict[str, float] = field(default_factory=dict)
    """Standard deviation over seeds by metric; empty if there was one seed, or if the method does not depend on it."""

    @property
    def p_value(self) -> float | None:
        """Paired randomization test against the best on the primary metric, Holm-corrected; None for the best."""
        return None if self.against_best is None else self.against_best.p_value

    @property
    def validation(self) -> float:
        """The primary metric of the selected models on the validation parts, mean over folds and seeds."""
        return float(np.mean([np.nan if r.validation is None else r.validation for r in self.results]))

    @property
    def mean_of_metrics(self) -> float:
        """The mean of all metrics of the comparison, with equal weights."""
        return float(np.mean([estimate.mean for estimate in self.estimates.values()]))

    @property
    def failures(self) -> list[Result]:
        return [result for result in self.results if result.error is not None]

    @property
    def warnings(self) -> dict[str, list[str]]:
        """The warnings raised while the selected models were fitted, and the folds where."""
        found: dict[str, list[str]] = {}
        for result in self.results:
            for warning in result.warnings:
                found.setdefault(warning, []).append(result.fold)
        return found

    @property
    def mark(self) -> str:
        return next((mark for level, mark in LEVELS if self.p_value is not None and self.p_value < level), "")

    @property
    def chosen(self) -> str:
        """The selected hyper-parameters and in how many folds, most frequent first: ``l2=0.01 (4), l2=0.1 (1)``."""
        succeeded = [r for r in self.results if r.parameters and r.error is None]
        counts = Counter(format_parameters(result.parameters) for result in succeeded)
        if len(counts) == 1:
            return next(iter(counts))
        return ", ".join(f"{parameters} ({n})" for parameters, n in counts.most_common())


def one_per_fold(results: Iterable[Result]) -> list[Result]:
    """Return the first result of each fold; where there are several seeds, what is shown of one model is of these."""
    first: dict[str, Result] = {}
    for result in results:
        first.setdefault(result.fold, result)
    return list(first.values())


def format_parameters(parameters: dict[str, Any]) -> str:
    return " ".join(f"{name}={value}" for name, value in parameters.items())

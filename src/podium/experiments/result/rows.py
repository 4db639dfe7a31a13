"""One line of a comparison's table."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from podium.experiments.run.outcomes import Result

LEVELS = ((0.01, "‡"), (0.05, "†"))
"""Marks of methods that are worse than the best, by corrected p-value."""


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
    """One method of the table."""

    method: str
    estimates: dict[str, Estimate]
    """By metric; empty for a method that failed."""
    p_value: float | None
    """Of the paired randomisation test against the best on the primary metric, Holm-corrected; None for the best."""
    seconds: float
    """Training of the chosen model, mean over folds."""
    search_seconds: float
    """Training of all candidates on all folds."""
    results: tuple[Result, ...]
    """One a fold and seed."""
    seed_spread: dict[str, float] = field(default_factory=dict)
    """By metric, the standard deviation over seeds; empty if there was one, or if seeds make no difference."""

    @property
    def validation(self) -> float:
        """The primary metric of the chosen models on the validation parts, mean over folds and seeds."""
        return float(np.mean([np.nan if r.validation is None else r.validation for r in self.results]))

    @property
    def mean_of_metrics(self) -> float:
        """Of all metrics of the comparison, each with the same weight."""
        return float(np.mean([estimate.mean for estimate in self.estimates.values()]))

    @property
    def failures(self) -> list[Result]:
        return [result for result in self.results if result.error is not None]

    @property
    def warnings(self) -> dict[str, list[str]]:
        """What fitting the chosen models gave to complain about, and in which folds."""
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
        """The chosen hyper-parameters and in how many folds, commonest first: ``l2=0.01 (4), l2=0.1 (1)``."""
        counts: dict[str, int] = {}
        for result in self.results:
            if result.parameters and result.error is None:
                text = format_parameters(result.parameters)
                counts[text] = counts.get(text, 0) + 1
        if len(counts) == 1:
            return next(iter(counts))
        return ", ".join(f"{text} ({n})" for text, n in sorted(counts.items(), key=lambda item: -item[1]))


def format_parameters(parameters: dict[str, Any]) -> str:
    return " ".join(f"{name}={value}" for name, value in parameters.items())

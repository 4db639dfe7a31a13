"""Standard errors of figures that are no plain means over queries, and the intervals and tests that follow from them.

What judges a study by more than its values per query tells these once, when all results are there; the run keeps them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Self

import numpy as np

from podium.experiments.result.statistics import TIE, Paired
from podium.metrics.significance import holm, student_interval, student_p_value

Figures = dict[str, dict[str, float]]
"""By metric and method."""


@dataclass(frozen=True)
class Inference:
    """What is known of the chance in figures."""

    freedom: dict[str, int]
    """By metric: independent units less what was estimated from them."""
    errors: Figures
    """Standard errors of the figures."""
    differences: dict[str, Figures]
    """By metric: standard errors of the differences of two methods, paired."""
    sizes: Figures
    """Effective sizes: how many observations of equal weight would say as much."""

    def of_metric(self, metric: str) -> tuple[dict[str, float], dict[str, float], Figures]:
        """Return where to note errors, effective sizes and errors of differences of a metric."""
        return (
            self.errors.setdefault(metric, {}),
            self.sizes.setdefault(metric, {}),
            self.differences.setdefault(metric, {}),
        )

    @classmethod
    def of(cls, stored: Mapping[str, Any] | None) -> Self | None:
        """Return what :meth:`plain` stored, if it did."""
        return None if stored is None else cls(**stored)

    def plain(self) -> dict[str, Any]:
        """Return it as JSON-like values."""
        return asdict(self)

    def interval(self, method: str, metric: str, mean: float) -> tuple[float, float]:
        """Return the 95 % interval of a figure."""
        return student_interval(mean, self.errors[metric][method], self.freedom[metric])

    def against(
        self, values: Mapping[str, np.ndarray], weights: np.ndarray, reference: str, metric: str
    ) -> dict[str, Paired]:
        """Compare every other method with ``reference``; p-values are corrected for their number by Holm's method."""
        others = [name for name in values if name != reference]
        found = [self._paired(values, weights, name, reference, metric) for name in others]
        corrected = holm([pair.p_value for pair in found])
        return {n: replace(pair, p_value=float(p)) for n, pair, p in zip(others, found, corrected, strict=True)}

    def _paired(
        self, values: Mapping[str, np.ndarray], weights: np.ndarray, one: str, other: str, metric: str
    ) -> Paired:
        known = self.differences[metric]
        error = known[one][other] if other in known.get(one, {}) else known[other][one]
        by_query = values[one] - values[other]
        defined = ~np.isnan(by_query)
        by_query = np.where(np.abs(by_query[defined]) < TIE, 0.0, by_query[defined])
        share = weights[defined] / weights[defined].sum() * len(by_query)
        difference, spread = share * by_query, 0.0
        mean = float(difference.mean()) if len(difference) else float("nan")
        if len(difference) > 1:
            spread = float(difference.std(ddof=1))
        return Paired(
            round(mean, 15),
            *student_interval(mean, error, self.freedom[metric]),
            mean / spread if spread > 0 else 0.0,
            student_p_value(mean, error, self.freedom[metric]),
            wins=int((by_query > 0).sum()),
            ties=int((by_query == 0).sum()),
            losses=int((by_query < 0).sum()),
        )

"""Coordinate ascent: weights of a linear model moved one at a time, each to where the metric is highest.

Metzler, Croft: Linear feature-based models for information retrieval. Information Retrieval 10, 2007.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from podium.data.queries import Queries
from podium.rankers.line_metric import LineMetric
from podium.scorers.standardization import Standardization
from podium.scorers.thresholds import by_column, column

STEPS = np.concatenate([sign * 0.001 * 2.0 ** np.arange(12) for sign in (1, -1)])
"""Steps tried along each weight, where the sizes of all weights add up to 1: from 0.001 to 2.048, both ways."""
ROUNDING = 1e-10
"""Metrics that differ by less are equal, so that rounding decides nothing."""


class FeatureColumns:
    """Features by column, as the weights see them: standardized if there is a standardization."""

    def __init__(self, queries: Queries, standardization: Standardization | None) -> None:
        self._features = by_column(queries.features)
        self._standardization = standardization
        self.n_documents, self.n_features = queries.n_documents, queries.n_features

    def __getitem__(self, j: int) -> np.ndarray:
        values = column(self._features, j)
        if self._standardization is not None:
            values = (values - self._standardization.mean[j]) * self._standardization.inverse_scale[j]
        return values

    def scores(self, weights: np.ndarray) -> np.ndarray:
        """Return the weighted sum of the features, (n_documents,)."""
        total = np.zeros(self.n_documents)
        for j in np.flatnonzero(weights):
            total += weights[j] * self[int(j)]
        return total


@dataclass(frozen=True)
class Ascent:
    """The training queries, and the metric to climb on."""

    columns: FeatureColumns
    metric: LineMetric

    def best_feature(self) -> np.ndarray:
        """Return the weights of the single feature, up or down, with the highest metric: 1 or −1, and 0 elsewhere."""
        weights, highest = np.zeros(self.columns.n_features), -np.inf
        for j in range(self.columns.n_features):
            merits = self.metric.along(np.zeros(self.columns.n_documents), self.columns[j], np.array([1.0, -1.0]))
            if merits.max() > highest + ROUNDING:
                highest = float(merits.max())
                weights[:] = 0.0
                weights[j] = 1.0 if merits[0] >= merits[1] else -1.0
        return weights

    def sweeps(self, weights: np.ndarray, rng: np.random.Generator) -> Iterator[tuple[np.ndarray, float, float]]:
        """Yield weights, metric and gain after each sweep over all features, in an order drawn anew for each.

        The sizes of the weights are scaled to add up to 1 before each sweep, which changes no ranking.
        """
        while True:
            total = np.abs(weights).sum()
            weights = weights / total if total > 0 else weights.copy()
            scores = self.columns.scores(weights)
            before = merit = self.metric.at(scores)
            for j in rng.permutation(self.columns.n_features).tolist():
                values = self.columns[j]
                if (values == values[0]).all():
                    continue
                step, merit = self._best_step(scores, values, weights[j], merit)
                if step:
                    weights[j] += step
                    scores += step * values
            yield weights.copy(), merit, merit - before

    def _best_step(self, scores: np.ndarray, values: np.ndarray, weight: float, merit: float) -> tuple[float, float]:
        """Return the step along one feature with the highest metric, the smallest of equals, and the metric there.

        A step is 0 if none is better than to stay. To no weight at all is one of the steps tried.
        """
        steps = STEPS if weight == 0 else np.append(STEPS, -weight)
        merits = self.metric.along(scores, values, steps)
        highest = float(merits.max())
        if highest <= merit + ROUNDING:
            return 0.0, merit
        equal = np.flatnonzero(merits >= highest - ROUNDING)
        chosen = equal[np.argmin(np.abs(steps[equal]))]
        return float(steps[chosen]), float(merits[chosen])

"""The rehearsal of a blend: what it would do on queries that did not decide its shares."""

from dataclasses import dataclass

import numpy as np

from podium.data.queries import Queries
from podium.metrics import Metric
from podium.models.evidence import evidence_shares

CLEARLY = 2.0
"""Standard errors by which a single candidate must be better than the blend to be picked."""
HALVINGS = 10


@dataclass(slots=True)
class Halvings:
    """The blend and the best single candidate, each chosen on half of the queries and judged on the other half."""

    logs: np.ndarray
    queries: Queries
    values: np.ndarray
    weights: np.ndarray
    metric: Metric
    seed: int
    single_is_better: bool = False

    def judged(self) -> tuple[float, float]:
        """Return the mean of the metric for the blend and for the best single candidate."""
        n = self.values.shape[1]
        defined = ~np.isnan(self.values).any(axis=0)
        if len(self.values) == 1 or defined.sum() < 4:
            mean = float(np.average(self.values[0, defined], weights=self.weights[defined])) if defined.any() else 0.0
            return mean, mean
        rng = np.random.default_rng(self.seed)
        blended, single = np.zeros(n), np.zeros(n)
        for _ in range(HALVINGS):
            half = rng.permutation(n) < n // 2
            for choose, judge in ((half, ~half), (~half, half)):
                seen, weights = self.values[:, choose], self.weights[choose]
                shares = evidence_shares(seen, weights, self.seed)
                blended[judge] += self._values(shares)[judge] / HALVINGS
                means = np.nansum(seen * weights, axis=1)
                single[judge] += self.values[int(np.argmax(means)), judge] / HALVINGS
        gain = (single - blended)[defined]
        error = gain.std() / np.sqrt(len(gain))
        self.single_is_better = bool(gain.mean() > CLEARLY * error and error > 0)
        means = [float(np.average(v[defined], weights=self.weights[defined])) for v in (blended, single)]
        return means[0], means[1]

    def _values(self, shares: np.ndarray) -> np.ndarray:
        return self.metric.per_query(shares @ self.logs, self.queries.labels, self.queries.offsets)

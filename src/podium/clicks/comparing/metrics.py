"""Metrics of a comparison on a log: sums of a weight of the rank times the relevance that clicks tell."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from podium.clicks.rank_weights import AVERAGE_POSITION, RankWeight, rank_weights
from podium.metrics import Metric, import_metrics, metric
from podium.metrics.conventions import convention

RULES = convention("standard+negative=zero+gain=linear")
"""For metrics of grades, which rankers may fall back on where the log's own can tell nothing: relevance is no grade."""


def described(estimator: str) -> str:
    """Return what stands behind the name of a metric that is estimated from clicks."""
    return "per unit of relevance, snips" if estimator == "snips" else estimator


@dataclass(frozen=True, repr=False)
class LogMetric(Metric):
    """A metric as the labels of a log's lists tell it: their relevance, as ``estimator`` has estimated it.

    Labels are such that the plain mean over queries is the mean over sessions.
    """

    estimator: str = "ips"

    @property
    def rank_weight(self) -> RankWeight:
        """What it weighs ranks by."""
        return rank_weights(metric(self.name))[str(metric(self.name))]

    def per_query(
        self, scores: Any, labels: Any, offsets: Any, document_ids: Any = None, collapse: Any = None, judged: Any = None
    ) -> np.ndarray:
        """Return Σ λ(rank) · relevance of each query; tied documents share the mean of their ranks' λ."""
        values, offsets = np.asarray(scores, np.float64), np.asarray(offsets)
        n = len(offsets) - 1
        if np.isnan(values).any():
            raise ValueError(f"the score of document {int(np.isnan(values).argmax())} (from 0) is NaN")
        weighted = self.rank_weight.of_documents(values, offsets) * np.asarray(labels)
        return np.bincount(np.repeat(np.arange(n), np.diff(offsets)), weighted, n)

    def __str__(self) -> str:
        return f"{self.name} ({described(self.estimator)})"


def log_metrics(
    metrics: str | Sequence[str | Metric], primary: str | Metric | None, estimator: str
) -> tuple[list[LogMetric], LogMetric]:
    """Return the metrics asked for, each once, and the primary one: by default the first."""
    if isinstance(metrics, str):
        metrics = metrics.split(",")
    found = [_log_metric(asked, estimator) for asked in metrics]
    if not found:
        raise ValueError("give at least one metric, such as dcg@10")
    main = found[0] if primary is None else _log_metric(primary, estimator)
    return list(dict.fromkeys([*found, main])), main


def _log_metric(asked: str | Metric, estimator: str) -> LogMetric:
    if isinstance(asked, str):
        (asked,) = import_metrics([asked])
    (weight,) = rank_weights(asked).values()  # raises for metrics that clicks cannot tell
    if weight.name == AVERAGE_POSITION:
        raise ValueError(f"{AVERAGE_POSITION} is lower for better rankings, and comparisons order by what is higher")
    found = metric(weight.name)
    return LogMetric(found.kind, found.cutoff, RULES, found.parameter, estimator)

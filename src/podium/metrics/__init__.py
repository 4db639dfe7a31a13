"""Ranking metrics, each under a named convention, with intervals and paired tests."""

from podium.metrics.conventions import CONVENTIONS, Convention, convention
from podium.metrics.definition import FAMILIES, Metric, metric
from podium.metrics.evaluation import DEFAULT_METRICS, Difference, Evaluation, evaluate
from podium.metrics.significance import bootstrap_interval, holm, paired_t_test, randomization_test

__all__ = [
    "CONVENTIONS",
    "DEFAULT_METRICS",
    "FAMILIES",
    "Convention",
    "Difference",
    "Evaluation",
    "Metric",
    "bootstrap_interval",
    "convention",
    "evaluate",
    "holm",
    "metric",
    "paired_t_test",
    "randomization_test",
]

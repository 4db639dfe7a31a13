"""Ranking metrics, each under a named convention, with intervals and paired tests."""

from podium.metrics.conventions import CONVENTIONS, Convention, convention
from podium.metrics.definition import Metric, define, import_metrics, metric
from podium.metrics.evaluation import DEFAULT_METRICS, Difference, Evaluation, evaluate
from podium.metrics.family import FAMILIES, Family
from podium.metrics.significance import bootstrap_interval, holm, paired_t_test, randomization_test

__all__ = [
    "CONVENTIONS",
    "DEFAULT_METRICS",
    "FAMILIES",
    "Convention",
    "Difference",
    "Evaluation",
    "Family",
    "Metric",
    "bootstrap_interval",
    "convention",
    "define",
    "evaluate",
    "holm",
    "import_metrics",
    "metric",
    "paired_t_test",
    "randomization_test",
]

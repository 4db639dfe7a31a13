"""Experiments: methods compared on the same folds, under one protocol, with a named convention."""

from podium.experiments.auto import Auto
from podium.experiments.compare import compare
from podium.experiments.plan.protocol import KFold, Letor, RepeatedHoldout, TimeSplit
from podium.experiments.plan.search import Search
from podium.experiments.result.comparison import Comparison
from podium.experiments.tuning import tune

__all__ = [
    "Auto",
    "Comparison",
    "KFold",
    "Letor",
    "RepeatedHoldout",
    "Search",
    "TimeSplit",
    "compare",
    "tune",
]

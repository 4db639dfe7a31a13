"""Experiments: methods compared on the same folds, under one protocol, with a named convention."""

from podium.experiments.compare import compare
from podium.experiments.comparison import Comparison
from podium.experiments.protocol import KFold, Letor, RepeatedHoldout, TimeSplit
from podium.experiments.ratings import compare_ratings
from podium.experiments.search import Search

__all__ = ["Comparison", "KFold", "Letor", "RepeatedHoldout", "Search", "TimeSplit", "compare", "compare_ratings"]

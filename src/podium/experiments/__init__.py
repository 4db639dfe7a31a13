"""Experiments: methods compared on the same folds, under one protocol, with a named convention."""

from podium.experiments.compare import compare
from podium.experiments.comparison import Comparison

__all__ = ["Comparison", "compare"]

"""Scorers: functions from a query's features to its documents' scores."""

from podium.scorers.base import Model, Scorer, SmoothModel
from podium.scorers.linear import Linear, LinearModel

__all__ = ["Linear", "LinearModel", "Model", "Scorer", "SmoothModel"]

"""Boosting of single features: one loop, and the ways of weighting that make it AdaRank, RankBoost or FRank."""

from podium.training.feature_boosting.adarank import MetricWeighting
from podium.training.feature_boosting.loop import Boosting, Rule, Weighting
from podium.training.feature_boosting.pairs import ExponentialWeighting, FidelityWeighting, PairWeighting

__all__ = [
    "Boosting",
    "ExponentialWeighting",
    "FidelityWeighting",
    "MetricWeighting",
    "PairWeighting",
    "Rule",
    "Weighting",
]

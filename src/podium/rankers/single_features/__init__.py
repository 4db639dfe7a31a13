"""Boosting of single features: one loop, and the ways of weighting that make it AdaRank, RankBoost or FRank."""

from podium.rankers.single_features.adarank import MetricWeighting
from podium.rankers.single_features.loop import BoostingLoop, Rule, Weighting
from podium.rankers.single_features.pairs import ExponentialWeighting, FidelityWeighting, PairWeighting

__all__ = [
    "BoostingLoop",
    "ExponentialWeighting",
    "FidelityWeighting",
    "MetricWeighting",
    "PairWeighting",
    "Rule",
    "Weighting",
]

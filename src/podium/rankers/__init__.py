"""Rankers: scikit-learn estimators made of a loss, a scorer and a trainer."""

from podium.rankers.adapter import AdaptedRanker, adapt
from podium.rankers.estimator import BaseRanker
from podium.rankers.explaining.explanation import Explanation
from podium.rankers.presets.adarank import AdaRank
from podium.rankers.presets.boltzrank import BoltzRank
from podium.rankers.presets.floors import BestFeature, RandomRanker
from podium.rankers.presets.gbdt import GBDT, QueryOffset
from podium.rankers.presets.gbrank import GBRank
from podium.rankers.presets.intervalrank import IntervalRank, IsotonicRank
from podium.rankers.presets.lambdamart import LambdaMART
from podium.rankers.presets.lambdarank import LambdaRank
from podium.rankers.presets.listmle import ListMLE
from podium.rankers.presets.listnet import ListNet
from podium.rankers.presets.pairties import PairTies
from podium.rankers.presets.pmop import PMOP
from podium.rankers.presets.rankboost import FRank, RankBoost
from podium.rankers.presets.ranknet import RankNet
from podium.rankers.presets.rankregress import RankRegress
from podium.rankers.presets.ranksvm import RankSVM
from podium.rankers.presets.regression import Regression
from podium.rankers.presets.softrank import SoftRank
from podium.rankers.presets.structrank import StructRank
from podium.rankers.ranker import Ranker

__all__ = [
    "GBDT",
    "PMOP",
    "AdaRank",
    "AdaptedRanker",
    "BaseRanker",
    "BestFeature",
    "BoltzRank",
    "Explanation",
    "FRank",
    "GBRank",
    "IntervalRank",
    "IsotonicRank",
    "LambdaMART",
    "LambdaRank",
    "ListMLE",
    "ListNet",
    "PairTies",
    "QueryOffset",
    "RandomRanker",
    "RankBoost",
    "RankNet",
    "RankRegress",
    "RankSVM",
    "Ranker",
    "Regression",
    "SoftRank",
    "StructRank",
    "adapt",
]

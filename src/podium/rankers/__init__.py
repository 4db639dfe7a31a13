"""Rankers: scikit-learn estimators made of a loss, a scorer and a trainer."""

from podium.rankers.estimator import BaseRanker
from podium.rankers.presets.boltzrank import BoltzRank
from podium.rankers.presets.boosted import GBDT, GBRank, IntervalRank, IsotonicRank, LambdaMART, QueryOffset
from podium.rankers.presets.feature_boosting import AdaRank, FRank, RankBoost
from podium.rankers.presets.floors import BestFeature, RandomRanker
from podium.rankers.presets.lambdarank import LambdaRank
from podium.rankers.presets.listwise import ListMLE, ListNet
from podium.rankers.presets.pairties import PairTies
from podium.rankers.presets.pairwise import RankNet, RankRegress, RankSVM
from podium.rankers.presets.pmop import PMOP
from podium.rankers.presets.pointwise import Regression
from podium.rankers.presets.softrank import SoftRank
from podium.rankers.presets.structrank import StructRank
from podium.rankers.ranker import Ranker

__all__ = [
    "GBDT",
    "PMOP",
    "AdaRank",
    "BaseRanker",
    "BestFeature",
    "BoltzRank",
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
]

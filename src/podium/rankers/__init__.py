"""Rankers: scikit-learn estimators made of a loss, a scorer and a trainer."""

from podium.rankers.base import BaseRanker
from podium.rankers.boltzrank import BoltzRank
from podium.rankers.boosted import GBDT, GBRank, IntervalRank, IsotonicRank, LambdaMART, QueryOffset
from podium.rankers.cofirank import CoFiRank
from podium.rankers.factor_ranker import FactorRanker, PlackettLuceFactors, PMOPFactors
from podium.rankers.feature_boosting import AdaRank, FRank, RankBoost
from podium.rankers.floors import BestFeature, RandomRanker
from podium.rankers.lambdarank import LambdaRank
from podium.rankers.listwise import ListMLE, ListNet
from podium.rankers.pairties import PairTies
from podium.rankers.pairwise import RankNet, RankRegress, RankSVM
from podium.rankers.pmop import PMOP
from podium.rankers.pointwise import Regression
from podium.rankers.ranker import Ranker
from podium.rankers.rating_base import RatingRanker
from podium.rankers.rating_floors import PMF, GlobalRanking, ItemMean
from podium.rankers.softrank import SoftRank
from podium.rankers.structrank import StructRank
from podium.rankers.taste import TasteFactors

__all__ = [
    "GBDT",
    "PMF",
    "PMOP",
    "AdaRank",
    "BaseRanker",
    "BestFeature",
    "BoltzRank",
    "CoFiRank",
    "FRank",
    "FactorRanker",
    "GBRank",
    "GlobalRanking",
    "IntervalRank",
    "IsotonicRank",
    "ItemMean",
    "LambdaMART",
    "LambdaRank",
    "ListMLE",
    "ListNet",
    "PMOPFactors",
    "PairTies",
    "PlackettLuceFactors",
    "QueryOffset",
    "RandomRanker",
    "RankBoost",
    "RankNet",
    "RankRegress",
    "RankSVM",
    "Ranker",
    "RatingRanker",
    "Regression",
    "SoftRank",
    "StructRank",
    "TasteFactors",
]

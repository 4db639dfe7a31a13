"""Rankers: scikit-learn estimators made of a loss, a scorer and a trainer."""

from podium.rankers.base import BaseRanker
from podium.rankers.boltzrank import BoltzRank
from podium.rankers.floors import BestFeature, RandomRanker
from podium.rankers.lambdarank import LambdaRank
from podium.rankers.listwise import ListMLE, ListNet
from podium.rankers.pairties import PairTies
from podium.rankers.pairwise import RankNet, RankRegress, RankSVM
from podium.rankers.pmop import PMOP
from podium.rankers.pointwise import Regression
from podium.rankers.ranker import Ranker
from podium.rankers.softrank import SoftRank
from podium.rankers.structrank import StructRank

__all__ = [
    "PMOP",
    "BaseRanker",
    "BestFeature",
    "BoltzRank",
    "LambdaRank",
    "ListMLE",
    "ListNet",
    "PairTies",
    "RandomRanker",
    "RankNet",
    "RankRegress",
    "RankSVM",
    "Ranker",
    "Regression",
    "SoftRank",
    "StructRank",
]

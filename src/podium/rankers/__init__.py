"""Rankers: scikit-learn estimators made of a loss, a scorer and a trainer."""

from podium.rankers.base import BaseRanker
from podium.rankers.floors import BestFeature, RandomRanker
from podium.rankers.lambdarank import LambdaRank
from podium.rankers.listwise import PMOP, ListMLE, ListNet
from podium.rankers.pairwise import RankNet, RankRegress, RankSVM
from podium.rankers.pointwise import Regression
from podium.rankers.ranker import Ranker

__all__ = [
    "PMOP",
    "BaseRanker",
    "BestFeature",
    "LambdaRank",
    "ListMLE",
    "ListNet",
    "RandomRanker",
    "RankNet",
    "RankRegress",
    "RankSVM",
    "Ranker",
    "Regression",
]

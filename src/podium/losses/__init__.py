"""Losses: each turns one query's scores and labels into a value and a gradient with respect to the scores."""

from podium.losses.base import BoundLoss, Loss, LossValue
from podium.losses.boltzrank import BoltzRankLoss
from podium.losses.cofirank import CoFiRankLoss
from podium.losses.combined import WithRegression
from podium.losses.function import FunctionLoss
from podium.losses.gbrank import GBRankLoss
from podium.losses.intervalrank import IntervalRankLoss, IsotonicLoss
from podium.losses.lambdarank import LambdaRankLoss
from podium.losses.listmle import ListMLELoss
from podium.losses.listnet import ListNetLoss
from podium.losses.pmop.loss import PMOPLoss
from podium.losses.pointwise import QueryOffsetLoss, RegressionLoss
from podium.losses.ranknet import RankNetLoss
from podium.losses.rankregress import RankRegressLoss
from podium.losses.ranksvm import RankSVMLoss
from podium.losses.softrank import SoftRankLoss
from podium.losses.structrank.loss import StructRankLoss
from podium.losses.ties import DavidsonLoss, RaoKupperLoss

__all__ = [
    "BoltzRankLoss",
    "BoundLoss",
    "CoFiRankLoss",
    "DavidsonLoss",
    "FunctionLoss",
    "GBRankLoss",
    "IntervalRankLoss",
    "IsotonicLoss",
    "LambdaRankLoss",
    "ListMLELoss",
    "ListNetLoss",
    "Loss",
    "LossValue",
    "PMOPLoss",
    "QueryOffsetLoss",
    "RankNetLoss",
    "RankRegressLoss",
    "RankSVMLoss",
    "RaoKupperLoss",
    "RegressionLoss",
    "SoftRankLoss",
    "StructRankLoss",
    "WithRegression",
]

"""Rank Regress: squared error on differences of pairs."""

from podium.losses import Loss, RankRegressLoss
from podium.rankers.methods import METHODS
from podium.rankers.presets.linear import WIDE_L2, LinearPreset

__all__ = ["RankRegress"]


class RankRegress(LinearPreset):
    """Rank Regress: squared error of each score difference from 1, over the pairs with different grades.

    A least-squares problem over pairs; a baseline of Truyen, Phung, Venkatesh: Probabilistic models over ordered
    partitions. SDM 2011.
    """

    def _loss(self) -> Loss:
        return RankRegressLoss()


_REFERENCE = "baseline of Truyen et al., SDM 2011"
METHODS.add("rankregress", RankRegress, "squared error on differences of pairs", _REFERENCE, "pairwise", WIDE_L2)

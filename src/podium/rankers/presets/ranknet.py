"""RankNet: logistic loss on pairs."""

from podium.losses import Loss, RankNetLoss
from podium.rankers.methods import METHODS
from podium.rankers.presets.linear import WIDE_L2, LinearPreset

__all__ = ["RankNet"]


class RankNet(LinearPreset):
    """RankNet: logistic loss on the score difference of each pair with different grades.

    Burges, Shaked, Renshaw, Lazier, Deeds, Hamilton, Hullender: Learning to rank using gradient descent. ICML 2005.
    The scorer here is linear; ``Ranker(RankNetLoss(), scorer=...)`` takes any other.
    """

    def _loss(self) -> Loss:
        return RankNetLoss()


METHODS.add("ranknet", RankNet, "logistic loss on pairs", "Burges et al., ICML 2005", "pairwise", WIDE_L2)

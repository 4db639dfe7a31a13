"""GBRank: boosted trees on pairs with margins."""

from functools import partial

from podium.losses import GBRankLoss, Loss
from podium.losses.targets import Targets
from podium.rankers.methods import METHODS
from podium.rankers.presets.boosted import FEW_LEAVES, ON_TREES, REGRESSION, WITH_REGRESSION, BoostedPreset

__all__ = ["GBRank"]


class GBRank(BoostedPreset):
    """GBRank: a squared hinge on pairs, with the margin that their targets ask for, and a pull between equal grades.

    Zheng, Zha, Zhang, Chapelle, Chen, Sun: A general boosting method and its application to learning ranking functions
    for web search. NIPS 2007.

    Parameters
    ----------
    ties : float
        Weight of the pull between equal grades.
    regression : float
        Weight of squared errors on the targets; above 0, this is the IntervalRank paper's GBRank_Reg.
    targets : None, "identity" or a sequence
        2^grade − 1, the grade, or a number for each of the grades 0, 1, 2, …
    """

    ties: float = 0.1
    regression: float = 0.0
    targets: Targets = None

    def _loss(self) -> Loss:
        return GBRankLoss(self.ties, self.regression, self.targets)


METHODS.add(
    "gbrank",
    GBRank,
    "boosted trees, squared hinge on pairs with margins",
    "Zheng et al., NIPS 2007",
    "pairwise",
    {**FEW_LEAVES, "ties": [0.0, 0.1, 1.0]},
    **ON_TREES,
)
METHODS.add_variant(
    "gbrank",
    "gbrank-reg",
    partial(GBRank, **WITH_REGRESSION),
    "GBRank with a regression term",
    reference="Moon et al., WSDM 2010",
    grid=REGRESSION,
)

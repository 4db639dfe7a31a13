"""IntervalRank and isotonic ranking: boosted trees on the least change of scores that orders the grades."""

from functools import partial

from podium.losses import IntervalRankLoss, IsotonicLoss, Loss
from podium.losses.targets import Targets
from podium.rankers.methods import METHODS
from podium.rankers.presets.boosted import (
    FEW_LEAVES,
    ON_TREES,
    REGRESSION,
    TREES,
    WITH_REGRESSION,
    BoostedPreset,
)
from podium.rankers.spaces import LogUniform

__all__ = ["IntervalRank", "IsotonicRank"]


class IntervalRank(BoostedPreset):
    """IntervalRank: scores move as little as they must for the grades to lie in separate, narrow intervals.

    Moon, Smola, Chang, Zheng: IntervalRank: isotonic regression with listwise and pairwise constraints. WSDM 2010.

    Parameters
    ----------
    separation : float
        Cost of missing distance between neighboring grades, the paper's λ1.
    width : float
        Cost of the width of a grade's interval, the paper's λ2.
    regression : float
        Weight of squared errors on the targets, the paper's λ3; above 0, this is its IntervalRank_Reg. The paper's
        plain form, called ``intervalrank`` in comparisons, is 0; the default is the best of six values on two sets.
    targets : None, "identity" or a sequence
        2^grade − 1, the grade, or a number for each of the grades 0, 1, 2, …
    barrier : float, optional
        See :class:`podium.losses.IntervalRankLoss`.
    """

    separation: float = 1.0
    width: float = 1.0
    regression: float = 1.0
    targets: Targets = None
    barrier: float | None = None

    def _loss(self) -> Loss:
        return IntervalRankLoss(self.separation, self.width, self.regression, self.targets, self.barrier)


class IsotonicRank(BoostedPreset):
    """Isotonic ranking: the least change of scores after which every pair is as far apart as its targets.

    Zheng, Zha, Sun: Query-level learning to rank using isotonic regression. Allerton 2008 (equation 5 of the
    IntervalRank paper).

    Parameters
    ----------
    targets : None, "identity" or a sequence
        Where grades should be: 2^grade − 1, the grade, or a number for each of the grades 0, 1, 2, …
    """

    targets: Targets = None

    def _loss(self) -> Loss:
        return IsotonicLoss(self.targets)


METHODS.add(
    "intervalrank",
    partial(IntervalRank, regression=0.0),
    "boosted trees, grades in separate intervals",
    "Moon et al., WSDM 2010",
    "listwise",
    {**FEW_LEAVES, "separation": LogUniform(1.0, 10.0, 100.0)},
    **ON_TREES,
)
METHODS.add_variant(
    "intervalrank",
    "intervalrank-reg",
    partial(IntervalRank, separation=10.0, **WITH_REGRESSION),
    "IntervalRank with a regression term",
    grid=REGRESSION,
)
METHODS.add_variant(
    "intervalrank",
    "isotonicrank",
    IsotonicRank,
    "boosted trees, least change that orders the pairs",
    reference="Zheng et al., Allerton 2008",
    **TREES,
)

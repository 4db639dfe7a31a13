"""YetiRank: neighbors in rankings by noisy scores."""

from functools import partial

from podium.losses import YetiRankLoss
from podium.rankers.methods import METHODS
from podium.rankers.presets.boosted import TREES, LossOnTrees
from podium.rankers.presets.stepped import STEPS, LossBySteps

METHODS.add(
    "yetirank",
    partial(LossBySteps, YetiRankLoss()),
    "logistic loss on neighbors in rankings by noisy scores",
    "Gulin et al., JMLR W&CP 2011",
    "pairwise",
    STEPS,
    stochastic=True,
)
_ON_TREES = partial(LossOnTrees, YetiRankLoss(), repeats=None)
METHODS.add_variant("yetirank", "yetirank-trees", _ON_TREES, "YetiRank's loss on boosted trees", **TREES)

"""RankCosine: the angle between grades and scores."""

from functools import partial

from podium.losses import RankCosineLoss
from podium.rankers.methods import METHODS
from podium.rankers.presets.boosted import TREES, LossOnTrees
from podium.rankers.presets.stepped import STEPS, LossBySteps

_SUMMARY, _REFERENCE = "angle between grades and scores", "Qin et al., IP&M 2008"
_LINEAR = partial(LossBySteps, RankCosineLoss())
METHODS.add("rankcosine", _LINEAR, _SUMMARY, _REFERENCE, "listwise", STEPS, stochastic=True)
_ON_TREES = partial(LossOnTrees, RankCosineLoss())
METHODS.add_variant("rankcosine", "rankcosine-trees", _ON_TREES, "RankCosine's loss on boosted trees", **TREES)

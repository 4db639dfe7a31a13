"""Softmax loss: cross entropy of the grades' shares."""

from functools import partial

from podium.losses import SoftmaxLoss
from podium.rankers.methods import METHODS
from podium.rankers.presets.boosted import TREES, LossOnTrees
from podium.rankers.presets.linear import L2, LossOnLine

_SUMMARY, _REFERENCE = "cross entropy of the grades' shares", "Bruch et al., ICTIR 2019"
METHODS.add("softmax", partial(LossOnLine, SoftmaxLoss()), _SUMMARY, _REFERENCE, "listwise", L2)
_ON_TREES = partial(LossOnTrees, SoftmaxLoss(), repeats=None)
METHODS.add_variant("softmax", "softmax-trees", _ON_TREES, "the softmax loss on boosted trees", **TREES)

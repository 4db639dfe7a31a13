"""Unique softmax: each document against those of lower grades."""

from functools import partial

from podium.losses import UniqueSoftmaxLoss
from podium.rankers.methods import METHODS
from podium.rankers.presets.boosted import TREES, LossOnTrees
from podium.rankers.presets.linear import L2, LossOnLine

_SUMMARY, _REFERENCE = "each document against those of lower grades", "Zhu and Klabjan, WSDM 2020"
METHODS.add("unique-softmax", partial(LossOnLine, UniqueSoftmaxLoss()), _SUMMARY, _REFERENCE, "listwise", L2)
_ON_TREES = partial(LossOnTrees, UniqueSoftmaxLoss(), repeats=None)
METHODS.add_variant("unique-softmax", "unique-softmax-trees", _ON_TREES, "unique softmax on boosted trees", **TREES)

"""XE-NDCG: cross entropy of random shares of the gains."""

from functools import partial

from podium.losses import XENDCGLoss
from podium.rankers.methods import METHODS
from podium.rankers.presets.boosted import TREES, LossOnTrees
from podium.rankers.presets.stepped import STEPS, LossBySteps

_SUMMARY, _REFERENCE = "cross entropy of random shares of the gains", "Bruch, WWW 2021"
_LINEAR = partial(LossBySteps, XENDCGLoss())
METHODS.add("xendcg", _LINEAR, _SUMMARY, _REFERENCE, "listwise", STEPS, stochastic=True)
# Its Newton steps err with few documents or lists: as many documents in a leaf as LightGBM asks for, and all lists.
_ON_TREES = partial(
    LossOnTrees, XENDCGLoss(), min_documents_in_leaf=20, tree_options={"query_fraction": 1.0}, repeats=None
)
METHODS.add_variant("xendcg", "xendcg-trees", _ON_TREES, "XE-NDCG's loss on boosted trees", **TREES)

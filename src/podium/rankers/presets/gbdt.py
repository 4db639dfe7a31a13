"""Boosted trees on squared errors: GBDT, and QueryOffset, which compares documents within their list only."""

from podium.losses import Loss, QueryOffsetLoss, RegressionLoss
from podium.losses.targets import Targets
from podium.rankers.methods import METHODS
from podium.rankers.presets.boosted import TREES, BoostedPreset

__all__ = ["GBDT", "QueryOffset"]


class GBDT(BoostedPreset):
    """Boosted regression on the grades: what ranking losses on trees have to beat.

    Friedman: Greedy function approximation: a gradient boosting machine. Annals of Statistics 2001. Every document
    counts the same, in long lists and short ones.

    Parameters
    ----------
    targets : "identity", None or a sequence
        What is regressed on: the grade, 2^grade − 1, or a number for each of the grades 0, 1, 2, …
    """

    targets: Targets = "identity"

    def _loss(self) -> Loss:
        return RegressionLoss(normalize=False, targets=self.targets)


class QueryOffset(GBDT):
    """Boosted regression on the grades up to a constant for each query: only differences within a list count.

    Equation 3 of the IntervalRank paper.
    """

    def _loss(self) -> Loss:
        return QueryOffsetLoss(normalize=False, targets=self.targets)


_SUMMARY, _REFERENCE = "boosted trees, least squares on the grades", "Friedman, Annals of Statistics 2001"
METHODS.add("gbdt", GBDT, _SUMMARY, _REFERENCE, "pointwise", **TREES)
METHODS.add_variant(
    "gbdt",
    "query-offset",
    QueryOffset,
    "boosted trees, least squares up to a constant for each query",
    reference="Moon et al., WSDM 2010",
    family="listwise",
)

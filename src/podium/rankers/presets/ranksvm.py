"""Ranking SVM: hinge loss on pairs."""

from podium.losses import Loss, RankSVMLoss
from podium.rankers.methods import METHODS
from podium.rankers.presets.linear import WIDE_L2, LinearPreset

__all__ = ["RankSVM"]


class RankSVM(LinearPreset):
    """Ranking SVM: hinge loss on the score difference of each pair with different grades, and an L2 penalty.

    Joachims: Optimizing search engines using clickthrough data. KDD 2002; squared hinge as in Chapelle & Keerthi:
    Efficient algorithms for ranking with SVMs. Information Retrieval 13, 2010. In the usual notation, ``l2`` is 1/C
    for losses averaged over pairs and queries.

    Parameters
    ----------
    squared : bool
        The squared hinge is smooth, which suits L-BFGS; the plain one is the original.
    """

    squared: bool = True

    def _loss(self) -> Loss:
        return RankSVMLoss(squared=self.squared)


METHODS.add("ranksvm", RankSVM, "squared hinge loss on pairs", "Joachims, KDD 2002", "pairwise", WIDE_L2)

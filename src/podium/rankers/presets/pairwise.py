"""Presets whose loss looks at pairs of documents: RankNet, Ranking SVM, Rank Regress."""

from __future__ import annotations

from typing import Any

from podium.losses import RankNetLoss, RankRegressLoss, RankSVMLoss
from podium.losses.base import Loss
from podium.rankers.presets.linear import LinearPreset


class RankNet(LinearPreset):
    """RankNet: logistic loss on the score difference of each pair with different grades.

    Burges, Shaked, Renshaw, Lazier, Deeds, Hamilton, Hullender: Learning to rank using gradient descent. ICML 2005.
    The scorer here is linear; ``Ranker(RankNetLoss(), scorer=...)`` takes any other.

    Parameters
    ----------
    l2, l1, max_iter, tolerance, normalize, random_state, verbose
        See :class:`LinearPreset`.
    """

    def _loss(self) -> Loss:
        return RankNetLoss()


class RankSVM(LinearPreset):
    """Ranking SVM: hinge loss on the score difference of each pair with different grades, and an L2 penalty.

    Joachims: Optimizing search engines using clickthrough data. KDD 2002; squared hinge as in Chapelle & Keerthi:
    Efficient algorithms for ranking with SVMs. Information Retrieval 13, 2010.

    Parameters
    ----------
    squared : bool
        The squared hinge is smooth, which L-BFGS likes; the plain one is the original.
    l2, l1, max_iter, tolerance, normalize, random_state, verbose
        See :class:`LinearPreset`. In the usual notation, ``l2`` is 1/C for losses averaged over pairs and queries.
    """

    def __init__(
        self,
        squared: bool = True,
        l2: float = 1e-3,
        l1: float = 0.0,
        max_iter: int = 1000,
        tolerance: float = 1e-8,
        normalize: str | None = "standard",
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        super().__init__(l2, l1, max_iter, tolerance, normalize, random_state, verbose)
        self.squared = squared

    def _loss(self) -> Loss:
        return RankSVMLoss(squared=self.squared)


class RankRegress(LinearPreset):
    """Rank Regress: squared error of each score difference from 1, over the pairs with different grades.

    A least-squares problem over pairs; a baseline of Truyen, Phung, Venkatesh: Probabilistic models over ordered
    partitions. SDM 2011.

    Parameters
    ----------
    l2, l1, max_iter, tolerance, normalize, random_state, verbose
        See :class:`LinearPreset`.
    """

    def _loss(self) -> Loss:
        return RankRegressLoss()

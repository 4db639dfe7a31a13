"""The preset that looks at one document at a time."""

from __future__ import annotations

from podium.losses import RegressionLoss
from podium.losses.base import Loss
from podium.rankers.presets.linear import LinearPreset


class Regression(LinearPreset):
    """Least squares on the grades: what ranking methods have to beat.

    Documents are averaged within their query first, so that long lists count no more than short ones.

    Parameters
    ----------
    l2, l1, max_iter, tolerance, normalize, random_state, verbose
        See :class:`LinearPreset`. The intercept is not penalised.
    """

    def _loss(self) -> Loss:
        return RegressionLoss()

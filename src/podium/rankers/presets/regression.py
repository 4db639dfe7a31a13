"""Linear regression on the grades, one document at a time."""

from __future__ import annotations

from podium.losses import Loss, RegressionLoss
from podium.rankers.methods import METHODS
from podium.rankers.presets.linear import LinearPreset
from podium.rankers.spaces import LogUniform

__all__ = ["Regression"]


class Regression(LinearPreset):
    """Least squares on the grades: what ranking methods have to beat.

    Documents are averaged within their query first, so that long lists count no more than short ones. The intercept is
    not penalized.
    """

    def _loss(self) -> Loss:
        return RegressionLoss()


METHODS.add(
    "regression",
    Regression,
    "least squares on the grades",
    "folklore",
    "pointwise",
    {"l2": LogUniform(1e-4, 1e-2, 1e-1, 1.0)},
)

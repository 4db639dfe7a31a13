"""Linear regression on the grades, one document at a time."""

from podium.losses import Loss, RegressionLoss
from podium.rankers.methods import METHODS
from podium.rankers.presets.linear import WIDE_L2, LinearPreset

__all__ = ["Regression"]


class Regression(LinearPreset):
    """Least squares on the grades: what ranking methods have to beat.

    Documents are averaged within their query first, so that long lists count no more than short ones. The intercept is
    not penalized.
    """

    def _loss(self) -> Loss:
        return RegressionLoss()


METHODS.add("regression", Regression, "least squares on the grades", "folklore", "pointwise", WIDE_L2)

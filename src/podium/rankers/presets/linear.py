"""Base class of presets with a linear scorer and a smooth loss."""

from podium.rankers.estimator import BaseRanker
from podium.rankers.spaces import LogUniform
from podium.scorers.linear.scorer import Linear
from podium.training import LBFGS, Trainer

SMALL_L2 = {"l2": LogUniform(1e-4, 1e-3, 1e-2, 1e-1)}
WIDE_L2 = {"l2": LogUniform(1e-4, 1e-2, 1e-1, 1.0)}
"""Penalties to search, for losses that are means over a list."""


class LinearPreset(BaseRanker):
    """A linear scorer trained by L-BFGS on the loss of the subclass.

    Parameters
    ----------
    l2, l1 : float
        Penalties on the weights of the normalized features, per query; per document for PMOP and ListMLE, whose loss
        of a query is a sum over its documents. See :class:`podium.scorers.Linear`.
    max_iter : int
        Iterations at most.
    tolerance : float
        Training ends when the objective or its gradient changes by less, see :class:`podium.training.LBFGS`.
    """

    l2: float = 1e-2
    l1: float = 0.0
    max_iter: int = 1000
    tolerance: float = 1e-8

    def _scorer(self) -> Linear:
        return Linear(l1=self.l1, l2=self.l2)

    def _trainer(self) -> Trainer:
        return LBFGS(max_iter=self.max_iter, tolerance=self.tolerance)

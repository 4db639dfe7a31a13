"""What presets with a linear scorer and a smooth loss share."""

from __future__ import annotations

from typing import Any

from podium.rankers.estimator import BaseRanker
from podium.scorers.linear.scorer import Linear
from podium.training.base import Trainer
from podium.training.lbfgs import LBFGS


class LinearPreset(BaseRanker):
    """A linear scorer trained by L-BFGS on the loss of the subclass.

    Parameters
    ----------
    l2, l1 : float
        Penalties on the weights of the normalised features, see :class:`podium.scorers.Linear`.
    max_iter, tolerance : int, float
        When training ends, see :class:`podium.training.LBFGS`.
    normalize : {"standard", "minmax", "zscore", None}
        How features are rescaled: over the training set, or within each query (then ``predict`` needs ``qid``).
    random_state : int, optional
    verbose : int
        1 prints a line for each iteration.
    """

    def __init__(
        self,
        l2: float = 1e-3,
        l1: float = 0.0,
        max_iter: int = 1000,
        tolerance: float = 1e-8,
        normalize: str | None = "standard",
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.l2 = l2
        self.l1 = l1
        self.max_iter = max_iter
        self.tolerance = tolerance
        self.normalize = normalize
        self.random_state = random_state
        self.verbose = verbose

    def _scorer(self) -> Linear:
        return Linear(l1=self.l1, l2=self.l2)

    def _trainer(self) -> Trainer:
        return LBFGS(max_iter=self.max_iter, tolerance=self.tolerance)

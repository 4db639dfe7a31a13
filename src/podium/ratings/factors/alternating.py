"""Alternating optimization of users' and items' factors: when to stop, and which model to return."""

from typing import Any

import numpy as np

from podium.ratings.factors.model import FactorModel
from podium.training.base import Fit, Validation
from podium.training.monitor import Watch, warn_not_converged


class Alternation(Watch):
    """Training history of an alternating optimization, one round (users and items in turn) at a time.

    With validation ratings the model of the best round is returned, otherwise the last one. Training ends when a round
    improves the objective by less than ``tol`` times its value.
    """

    def __init__(
        self, max_iter: int, tol: float, verbose: int, validation: Validation | None = None, callback: Any = None
    ) -> None:
        super().__init__(validation, callback, verbose, step="iteration", total=max_iter)
        self._judging, self.max_iter, self.tol = validation, max_iter, tol

    def ends_with(self, model: FactorModel, objective: float) -> bool:
        """Record a round; return whether it was the last, and warn if that is because of ``max_iter``."""
        before = self.losses[-1] if self.losses else float("inf")
        stop = self.record(objective, None if self._judging is None else self._judging.judge(model), model)
        if not stop and before - objective <= self.tol * abs(objective):
            self.end(f"a round improves the objective by less than a share of {self.tol:g}", converged=True)
        elif not stop and len(self.losses) == self.max_iter:
            self.end(f"no convergence to a share of {self.tol:g} in {self.max_iter} rounds", converged=False)
            warn_not_converged(f"{self.reason}: raise max_iter or tol")
        return self.reason is not None

    def fit(self) -> Fit:
        """Return the model and how training ended."""
        best = self.best_iter is not None
        return Fit(self.best if best else self.last, np.empty(0), self.convergence(best=best))

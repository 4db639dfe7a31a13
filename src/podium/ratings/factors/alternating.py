"""Alternating optimization of users' and items' factors: when to stop, and which model to return."""

from typing import Any

import numpy as np

from podium.core.parameters import require_count, require_number
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
        require_count("max_iter", max_iter)
        require_number("tol", tol, at_least=0.0)
        super().__init__(validation, callback, verbose, step="iteration")
        self._judging, self.max_iter, self.tol, self.converged = validation, max_iter, tol, False

    def ends_with(self, model: FactorModel, objective: float) -> bool:
        """Record a round; return whether it was the last."""
        self.last = model
        before = self.losses[-1] if self.losses else float("inf")
        stop = self.record(objective, None if self._judging is None else self._judging.judge(model))
        self.converged = not stop and before - objective <= self.tol * abs(objective)
        return stop or self.converged or len(self.losses) == self.max_iter

    def fit(self) -> Fit:
        """Return the model and how training ended; warn if it ended because of ``max_iter``."""
        converged: bool | None = self.converged
        if self.reason is not None:
            message, converged = self.reason, None
        elif self.converged:
            message = f"a round improves the objective by less than a share of {self.tol:g}"
        else:
            message = f"no convergence to a share of {self.tol:g} in {self.max_iter} rounds"
            warn_not_converged(f"{message}: raise max_iter or tol")
        best = self.best_iter is not None
        convergence = self.convergence(converged, message, n_evaluations=len(self.losses), best=best)
        return Fit(self.best if best else self.last, np.empty(0), convergence)

    def _best_so_far(self) -> None:
        self.best = self.last

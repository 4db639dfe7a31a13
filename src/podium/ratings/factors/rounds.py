"""Alternating optimisation of users' and items' factors: its curves, its end and the model it keeps."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from podium.training.base import Convergence, Progress
from podium.training.monitor import Watch, warn_not_converged

if TYPE_CHECKING:
    from podium.ratings.factors.model import FactorModel


class Rounds(Watch):
    """The story of one run, a round at a time.

    With validation ratings the model of the best round is kept, else the last one. The run ends when a round improves
    the objective by less than the share ``tol`` of it.
    """

    def __init__(
        self, validation: Any, callback: Callable[[Progress], Any] | None, verbose: int, *, max_iter: int, tol: float
    ) -> None:
        super().__init__(validation, callback, verbose)
        self.judge = None if validation is None else validation.judge
        self.max_iter = max_iter
        self.tol = tol
        self.converged = False

    def end(self, model: FactorModel, objective: float) -> bool:
        """Record the end of a round; True if it was the last."""
        self.last = model
        before = self.losses[-1] if self.losses else float("inf")
        stop = self.record(objective, None if self.judge is None else self.judge(model))
        self.converged = not stop and before - objective <= self.tol * abs(objective)
        return stop or self.converged or len(self.losses) == self.max_iter

    def outcome(self) -> tuple[FactorModel, Convergence]:
        """The model to keep and how the run ended; warns if it ended for want of rounds."""
        converged: bool | None = self.converged
        if self.reason is not None:
            message, converged = self.reason, None
        elif self.converged:
            message = f"a round improves the objective by less than a share of {self.tol:g}"
        else:
            message = f"no convergence to a share of {self.tol:g} in {self.max_iter} rounds"
            warn_not_converged(f"{message}: raise max_iter or tol")
        best = self.best_iter is not None
        told = self.convergence(converged, message, n_evaluations=len(self.losses), best=best)
        return (self.best if best else self.last), told

    def _best_so_far(self) -> None:
        self.best = self.last

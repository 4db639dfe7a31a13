"""Training runs under way: their curves, best parameters and messages, and when to stop."""

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from podium.scorers.base import SmoothModel
from podium.training.bar import prints_lines
from podium.training.base import Callback, Convergence, Fit, Problem, Progress, Validation


class Watch:
    """The curves of one run and its best iteration; says when to stop, and informs the user.

    The best iteration is the one with the highest validation metric; the earliest of equals.
    """

    def __init__(
        self,
        validation: Validation | None,
        callback: Callback,
        verbose: int,
        *,
        step: str,
        patience: int | None = None,
        total: int | None = None,
    ) -> None:
        self.metric = str(validation.metric) if validation else None
        self.callback = callback
        self.prints_lines = prints_lines(verbose)
        self.patience, self.total = patience, total
        self.step = step
        self.losses: list[float] = []
        self.validation: list[float] = []
        self.best_iter: int | None = None
        self.last: Any = None
        """What the last iteration reached, as it was recorded."""
        self.best: Any = None
        """What the best iteration reached; None without validation queries."""
        self.reason: str | None = None
        """Why the run ended; None while it goes on, and if it did all its steps."""
        self.converged: bool | None = None
        self.interrupted = False

    def record(self, loss: float, judged: float | None, reached: Any = None) -> bool:
        """Record the end of an iteration and what it reached; return whether the run should stop."""
        self.losses.append(loss)
        self.last = reached
        if judged is not None:
            if self.best_iter is None or judged > self.validation[self.best_iter - 1]:
                self.best_iter, self.best = len(self.losses), reached
            self.validation.append(judged)
        progress = Progress(len(self.losses), loss, judged, self.total)
        if self.prints_lines:
            value = "" if judged is None else f"   {self.metric} {judged:.4f}"
            print(f"[podium] {self.step} {len(self.losses):4d}   loss {loss:.6g}{value}", file=sys.stderr)
        if self.callback is not None and self.callback(progress) is True:
            self.end("stopped by the callback")
        elif self.patience and self.best_iter and len(self.losses) - self.best_iter >= self.patience:
            reason = f"no better {self.metric} on the validation queries for {self.patience} {self.step}s"
            self.end(reason, converged=True)
        return self.reason is not None

    def end(self, reason: str, converged: bool | None = None) -> None:
        """Note why the run ends, and whether it has converged."""
        self.reason, self.converged = reason, converged

    @contextmanager
    def interruptible(self, what: str) -> Iterator[None]:
        """Let Ctrl-C end the run; what it has reached by then is kept, unless that is nothing."""
        try:
            yield
        except KeyboardInterrupt:
            if not self.losses:
                raise
            self.interrupted = True
            self.end(f"interrupted after {len(self.losses)} {self.step}s, which are kept", converged=False)
            warn_not_converged(f"{what}: {self.reason}")

    def convergence(self, otherwise: str = "", *, best: bool, n_evaluations: int | None = None) -> Convergence:
        """Return the history of the run, with ``otherwise`` as its message if it did all its steps."""
        return Convergence(
            converged=self.converged,
            message=self.reason or otherwise,
            n_iter=len(self.losses),
            n_evaluations=len(self.losses) if n_evaluations is None else n_evaluations,
            losses=tuple(self.losses),
            validation=tuple(self.validation),
            metric=self.metric,
            best_iter=self.best_iter if best else None,
            interrupted=self.interrupted,
            step=self.step,
        )


class Monitor(Watch):
    """The last and the best parameters of one run.

    ``theta`` here is the model's parameters followed by the loss's own. Without validation queries, the last are the
    best.
    """

    def __init__(
        self, problem: Problem, model: SmoothModel, *, patience: int | None, total: int, step: str = "iteration"
    ) -> None:
        watched = problem.validation, problem.callback, problem.verbose
        super().__init__(*watched, patience=patience, step=step, total=total)
        self.problem = problem
        self.model = model
        self._judge = None if problem.validation is None else problem.validation.judging(model)

    def update(self, theta: np.ndarray, loss: float) -> bool:
        """Record the end of an iteration; return whether the run should stop."""
        judged = None if self._judge is None else self._judge(theta[: len(self.model.theta)])
        return self.record(loss, judged, theta.copy())

    def chosen(self, *, best: bool) -> np.ndarray:
        """Return the parameters to keep."""
        theta: np.ndarray | None = self.best if best and self.best is not None else self.last
        if theta is None:
            raise RuntimeError("training ended before its first iteration")
        return theta

    def fit(self, convergence: Convergence, *, best: bool) -> Fit:
        """Return the result of the run."""
        theta = self.chosen(best=best)
        n = len(self.model.theta)
        return Fit(self.model.at(theta[:n].copy()), theta[n:].copy(), convergence)


def warn_not_converged(message: str) -> None:
    """Warn with scikit-learn's class, which users of its estimators know how to filter."""
    from sklearn.exceptions import ConvergenceWarning

    warnings.warn(message, ConvergenceWarning, stacklevel=2)

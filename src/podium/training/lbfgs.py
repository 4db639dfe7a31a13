"""Limited-memory BFGS over all training queries at once."""

from typing import Any

import numpy as np

from podium.core.arrays import Array
from podium.core.parameters import choice, count, number
from podium.core.wording import advice
from podium.numerics.blas import quiet_blas
from podium.training.base import Fit, Problem, Trainer
from podium.training.monitor import Monitor, warn_not_converged

__all__ = ["LBFGS"]


class LBFGS(Trainer, needs_gradient=True, works_remotely=True):
    """SciPy's L-BFGS-B on the mean loss over queries: the trainer for smooth losses and linear scorers.

    An L1 penalty is solved exactly: each penalized weight is split into its positive and negative part, both bounded by
    zero, so weights that vanish are exact zeros.

    Parameters
    ----------
    max_iter : int
        Most iterations; reaching it gives a ConvergenceWarning.
    tolerance : float
        Stop when an iteration improves the objective by less than this, relative to its size.
    gradient_tolerance : float
        Stop when no component of the (projected) gradient exceeds this.
    memory : int
        Past steps remembered.
    select : {"last", "best"}
        With validation queries: keep the last iterate (the optimum) or the one with the best validation metric.
    patience : int, optional
        With validation queries: stop after this many iterations without a better validation metric.

    Examples
    --------
    >>> import podium
    >>> queries = podium.make_queries(n_queries=50, n_documents=10, n_features=5)
    >>> trainer = podium.training.LBFGS(max_iter=200, tolerance=1e-6)
    >>> ranker = podium.Ranker(podium.losses.ListNetLoss(), podium.scorers.Linear(l2=0.1), trainer).fit(queries)
    >>> ranker.convergence_.converged, ranker.n_iter_ < 200
    (True, True)
    """

    max_iter: int = count(1000)
    tolerance: float = number(1e-8, at_least=0)
    gradient_tolerance: float = number(1e-6, at_least=0)
    memory: int = count(10)
    select: str = choice("last", "best")
    patience: int | None = count(None)

    def fit(self, problem: Problem) -> Fit:
        self.check_parameters()
        from scipy.optimize import minimize

        model = problem.start_model(problem.rng)
        function = problem.objective(model)
        split = _Split(model.l1, len(model.theta), problem.loss.parameter_bounds())
        monitor = Monitor(problem, model, patience=self.patience, total=self.max_iter)
        start = function.initial()
        best = self.select == "best"

        def value_and_gradient(u: Array) -> tuple[float, Array]:
            value, gradient = function(split.join(u))
            return split.add_penalty(u, value, gradient)

        def after_iteration(intermediate_result: Any) -> None:  # SciPy looks for this parameter name
            if monitor.update(split.join(intermediate_result.x), float(intermediate_result.fun)):
                raise StopIteration

        with quiet_blas():
            try:
                result = minimize(
                    value_and_gradient,
                    split.separate(start),
                    method="L-BFGS-B",
                    jac=True,
                    bounds=split.bounds(),
                    callback=after_iteration,
                    options={
                        "maxiter": self.max_iter,
                        "maxfun": 20 * self.max_iter,
                        "maxcor": self.memory,
                        "ftol": self.tolerance,
                        "gtol": self.gradient_tolerance,
                    },
                )
                status = int(result.status)
                end = split.join(result.x)
            except KeyboardInterrupt:
                monitor.interrupted = True
                monitor.end("interrupted; the parameters reached so far are kept", converged=False)
                end = start if monitor.last is None else monitor.last
        monitor.last = end
        rounded = not monitor.interrupted and status == 2
        if rounded and not monitor.losses and problem.init is None:
            steepest = float(np.abs(function(start)[1]).max())
            raise ValueError(
                f"training could not take a first step from a slope of {steepest:.3g}: rescale the features, by "
                + advice('normalize="robust" for example', "--normalize robust for example")
            )
        if monitor.reason is None and rounded and _at_rounding(monitor.losses):
            monitor.end("the objective can be improved no further within rounding", converged=True)
        if monitor.reason is None:
            monitor.end(str(result.message), converged=status == 0)
        if monitor.converged is False:
            warn_not_converged(f"L-BFGS did not converge in {len(monitor.losses)} iterations: {monitor.reason}")
        return monitor.fit(monitor.convergence(best=best, n_evaluations=function.n_evaluations), best=best)


def _at_rounding(losses: list[float]) -> bool:
    """Return whether the last iteration gained so little that a line search can fail by rounding alone."""
    return len(losses) > 1 and losses[-2] - losses[-1] <= 1e-10 * max(1.0, abs(losses[-1]))


class _Split:
    """Parameters as the optimizer sees them: those under an L1 penalty as differences of two non-negative variables.

    The variables are ``u = (theta with its negative parts cut off, negative parts of the penalized weights)``.
    """

    def __init__(self, l1: Array | None, n_model: int, loss_bounds: list[tuple[float | None, float | None]]) -> None:
        n = n_model + len(loss_bounds)
        strength = np.zeros(n)
        if l1 is not None:
            strength[: len(l1)] = l1
        self.n = n
        self.low, self.high = np.full(n, -np.inf), np.full(n, np.inf)
        for i, (low, high) in enumerate(loss_bounds, n_model):
            self.low[i] = -np.inf if low is None else low
            self.high[i] = np.inf if high is None else high
        self.penalized_weights = np.flatnonzero(strength)
        self.strength = strength[self.penalized_weights]

    def bounds(self) -> Any:
        from scipy.optimize import Bounds

        low = np.append(self.low, np.zeros(len(self.penalized_weights)))
        low[self.penalized_weights] = 0.0
        high = np.append(self.high, np.full(len(self.penalized_weights), np.inf))
        return Bounds(low, high) if np.isfinite(low).any() or np.isfinite(high).any() else None

    def separate(self, theta: Array) -> Array:
        u = np.concatenate((theta, np.maximum(-theta[self.penalized_weights], 0.0)))
        u[self.penalized_weights] = np.maximum(theta[self.penalized_weights], 0.0)
        return u

    def join(self, u: Array) -> Array:
        theta = u[: self.n].copy()
        theta[self.penalized_weights] -= u[self.n :]
        return theta

    def add_penalty(self, u: Array, value: float, gradient: Array) -> tuple[float, Array]:
        """Return the objective and its gradient in ``u``, including the L1 penalty, which is linear there."""
        both = np.concatenate((gradient, -gradient[self.penalized_weights]))
        both[self.penalized_weights] += self.strength
        both[self.n :] += self.strength
        return value + float(self.strength @ (u[self.penalized_weights] + u[self.n :])), both

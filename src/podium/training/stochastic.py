"""Stochastic gradient steps over queries, with early stopping and restarts."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from podium.core.parameters import choice, count, number
from podium.numerics.blas import quiet_blas
from podium.numerics.loop import Training
from podium.numerics.optimizers import OPTIMIZERS, Optimizer, take_step
from podium.training.base import Fit, Problem, Trainer
from podium.training.monitor import Monitor, warn_not_converged
from podium.training.objective import Objective

__all__ = ["Stochastic"]

LARGEST = 1e50
"""A parameter beyond this has diverged: steps that overshoot double it every time, whatever its scale should be."""


class Stochastic(Trainer):
    """Gradient steps on a few queries at a time.

    With validation queries, the parameters of the best epoch are kept, otherwise those of the last. Ctrl-C ends the
    training and keeps what would have been kept had this been the last epoch. An L1 penalty needs ``"sgd"`` or
    ``"momentum"``.

    Parameters
    ----------
    epochs : int
        Most passes over the training queries.
    batch_size : int
        Queries per step.
    learning_rate : float
        Length of the steps, as the schedule changes it. Plain steps (``"sgd"``) are at most one over the largest
        penalty long, beyond which they would diverge.
    schedule : {"constant", "sqrt", "exponential"}
        The rate in epoch k, from 0 on: as given, divided by √(k + 1), or multiplied by ``decay`` to the power k.
    decay : float
        For the exponential schedule.
    optimizer : {"adam", "sgd", "momentum"}
        How a gradient becomes a step.
    momentum : float
        Share of the past direction kept by ``"momentum"`` and ``"adam"``.
    patience : int, optional
        With validation queries: stop after this many epochs without a better validation metric. None: run all epochs.
    restarts : int
        Independent runs, with other random starts and orders; the one with the best validation metric is kept, or the
        one with the lowest training objective where there are no validation queries.

    Examples
    --------
    >>> import podium
    >>> queries = podium.make_queries(n_queries=50, n_documents=10, n_features=5)
    >>> trainer = podium.training.Stochastic(epochs=5, learning_rate=0.1)
    >>> ranker = podium.Ranker(podium.losses.ListNetLoss(), podium.scorers.Linear(), trainer, random_state=0)
    >>> ranker.fit(queries).n_iter_, [round(trainer.rate(epoch), 3) for epoch in range(3)]
    (5, [0.1, 0.071, 0.058])
    """

    epochs: int = count(100)
    batch_size: int = count(1)
    learning_rate: float = number(0.01, above=0)
    schedule: str = choice("sqrt", "constant", "exponential")
    decay: float = number(math.sqrt(0.5), above=0)
    optimizer: str = choice("adam", "momentum", "sgd")
    momentum: float = number(0.9, at_least=0, below=1)
    patience: int | None = count(10, optional=True)
    restarts: int = count(1)

    def rate(self, epoch: int) -> float:
        """Return the learning rate of an epoch.

        Parameters
        ----------
        epoch : int
            Counted from 0.

        Returns
        -------
        float
            The rate, by the schedule.
        """
        if self.schedule == "sqrt":
            return self.learning_rate / math.sqrt(epoch + 1)
        if self.schedule == "exponential":
            return self.learning_rate * float(self.decay**epoch)
        return self.learning_rate

    def start(self, objective: Objective, rng: np.random.Generator) -> np.ndarray:
        """Return the start of a run: the model's parameters followed by the loss's own."""
        return objective.initial()

    def epoch(self, objective: Objective, theta: np.ndarray, l1: np.ndarray) -> Epoch:
        """Return the steps of a run, which move ``theta``, in their fastest form."""
        return CompiledEpoch(objective, self, theta, l1)

    def fit(self, problem: Problem) -> Fit:
        self.check_parameters()
        runs: list[_StochasticRun] = []
        with quiet_blas():
            for rng in problem.rng.spawn(self.restarts):
                run = _StochasticRun(self, problem, rng)
                run.train()
                runs.append(run)
                if run.monitor.interrupted:
                    break
        usable = [run for run in runs if run.monitor.last is not None and not run.diverged]
        if not usable:
            raise ValueError(f"{runs[0].monitor.reason}; lower learning_rate (now {self.learning_rate:g}), or l2")
        best = usable[0] if len(usable) == 1 else max(usable, key=lambda run: run.merit())
        if runs[-1].monitor.interrupted:
            warn_not_converged(f"stochastic training: {runs[-1].monitor.reason}")
        history = best.monitor.convergence(f"ran the {self.epochs} epochs asked for", best=True)
        fit = best.monitor.fit(history, best=True)
        if len(runs) == 1:
            return fit
        history = replace(
            history,
            message=f"run {runs.index(best) + 1} of {len(runs)} was best: {history.message}",
            n_evaluations=sum(len(run.monitor.losses) for run in runs),
            interrupted=runs[-1].monitor.interrupted,
        )
        return replace(fit, convergence=history)


class _StochasticRun:
    """One run from one start."""

    def __init__(self, settings: Stochastic, problem: Problem, rng: np.random.Generator) -> None:
        self.settings = settings
        self.rng = rng
        model = problem.start_model(rng)
        self.bound = problem.bind_loss()
        self.objective = Objective(model, self.bound, problem.queries)
        self.theta = settings.start(self.objective, rng)
        l1 = model.l1
        self.l1 = np.zeros_like(self.theta)
        if l1 is not None:
            if settings.optimizer == "adam":
                raise ValueError('an L1 penalty needs the trainer LBFGS, or optimizer="sgd" or "momentum"')
            self.l1[: len(l1)] = l1
        self.monitor = Monitor(problem, model, patience=settings.patience, total=settings.epochs, step="epoch")
        self.epoch = settings.epoch(self.objective, self.theta, self.l1)
        self.diverged = False

    def train(self) -> None:
        try:
            for k in range(self.settings.epochs):
                self.bound.start_epoch(k)
                loss = self.epoch.run(self.rng.permutation(self.bound.n_queries), self.rate(k))
                largest = float(np.abs(self.theta).max(initial=0.0))  # NaN if one is
                if not (math.isfinite(loss) and largest < LARGEST):
                    self.diverged = True
                    what = f"the loss was {loss}" if not math.isfinite(loss) else f"a parameter reached {largest:.3g}"
                    self.monitor.end(f"diverged in epoch {k + 1}: {what}")
                    return
                if self.monitor.update(self.theta, loss + self.penalty(self.theta)):
                    return
        except KeyboardInterrupt:
            self.monitor.interrupted = True
            n = len(self.monitor.losses)
            self.monitor.end(f"interrupted after {n} epochs; the best parameters so far are kept", converged=False)
            if self.monitor.last is None:
                self.monitor.last = self.objective.initial()

    def rate(self, epoch: int) -> float:
        """Return the rate of an epoch: a plain step longer than one over the penalty overshoots its minimum."""
        rate, largest = self.settings.rate(epoch), float(np.max(self.objective.model.l2, initial=0.0))
        return min(rate, 1.0 / largest) if self.settings.optimizer == "sgd" and largest > 0 else rate

    def penalty(self, theta: np.ndarray) -> float:
        return self.objective.split(theta)[0].penalty()[0] + float(self.l1 @ np.abs(theta))

    def merit(self) -> float:
        """Return what decides between runs, higher is better."""
        if self.monitor.best_iter is not None:
            return self.monitor.validation[self.monitor.best_iter - 1]
        theta = self.monitor.chosen(best=True)
        return -(self.objective(theta)[0] + float(self.l1 @ np.abs(theta)))


@dataclass
class Epoch:
    """Steps of any smooth model. The optimizer's memory is kept here."""

    objective: Objective
    settings: Stochastic
    theta: np.ndarray
    """The model's parameters followed by the loss's own; moved in place."""
    l1: np.ndarray

    def __post_init__(self) -> None:
        self.moments = np.zeros((2, len(self.theta)))
        self.n_steps = 0

    def run(self, order: np.ndarray, rate: float) -> float:
        """Take the steps of one epoch; return the mean loss met on the way, without penalties."""
        total = 0.0
        for first in range(0, len(order), self.settings.batch_size):
            batch = order[first : first + self.settings.batch_size]
            value, gradient = self.objective.on_batch(self.theta, batch)
            if not math.isfinite(value):
                return math.nan
            total += value * len(batch) / len(order)
            self.move(gradient, rate)
        return total

    def move(self, gradient: np.ndarray, rate: float) -> None:
        """Take one step."""
        self.n_steps += 1
        take_step(self.theta, gradient, self.moments, self.n_steps, self.optimizer(rate))

    def optimizer(self, rate: float) -> Optimizer:
        return Optimizer(OPTIMIZERS.index(self.settings.optimizer), rate, self.settings.momentum, self.l1)


class CompiledEpoch(Epoch):
    """The same steps of a model that has compiled functions: one compiled loop."""

    def __post_init__(self) -> None:
        super().__post_init__()
        model, buffers = self.objective.model, self.objective.buffers
        self.l2 = np.zeros_like(model.theta) + model.l2
        buffers = buffers._replace(theta=self.theta[: len(model.theta)])
        self.routines = model.routines(self.objective.queries, buffers)
        self.sparse = None
        if self.settings.optimizer == "sgd" and not self.l1.any():
            self.sparse = model.sparse_steps(self.objective.queries, buffers.theta, self.settings.learning_rate)

    def run(self, order: np.ndarray, rate: float) -> float:
        scores, d_scores = self.objective.buffers[1:]
        if self.sparse is not None:
            bound, parameters = self.objective.bound, self.theta[len(self.objective.model.theta) :]
            total = self.sparse.run(bound, self.objective.buffers, parameters, order, self.settings.batch_size, rate)
            return float(total)
        if self.routines is None:
            return super().run(order, rate)
        training = Training(self.theta, self.moments, self.optimizer(rate), self.settings.batch_size, self.l2)
        total, self.n_steps = self.objective.bound.run_epoch(
            scores, d_scores, self.routines, order, training, self.n_steps
        )
        return float(total)

"""Stochastic gradient steps within a feasible set: non-negative parameters inside an L1 ball."""

import math
from typing import ClassVar

import numpy as np

from podium.core.parameters import choice, number
from podium.training.objective import Objective
from podium.training.stochastic import Epoch, Stochastic

__all__ = ["Feasible"]

_HALVINGS = 40  # after these a step is too small to matter, and is left out


class Feasible(Stochastic):
    """Per-query gradient descent with all parameters ≥ 0 and their sum ≤ ``radius``: the trainer of StructRank's paper.

    The parameters of the loss (w1, w2) are among them. They start uniform in [0, 1], as the scorer's do in the paper,
    scaled down where the start lies outside the ball. The learning rate is multiplied by ``decay`` after each epoch.

    Parameters
    ----------
    radius : float, optional
        Radius of the L1 ball; chosen on validation queries in the paper. None: only the signs are constrained.
    keep : {"shrink", "project"}
        What to do with a step that would leave the set: halve it until it does not, as in the paper (a step that
        stays outside is left out), or move to the nearest feasible point (Euclidean projection).

    Examples
    --------
    >>> import podium
    >>> queries = podium.make_queries(n_queries=50, n_documents=10, n_features=5)
    >>> trainer = podium.training.Feasible(radius=1.0, epochs=3, restarts=1)
    >>> ranker = podium.Ranker(podium.losses.ListNetLoss(), podium.scorers.Linear(), trainer, random_state=0)
    >>> theta = ranker.fit(queries).model_.theta
    >>> bool(theta.min() >= 0), bool(theta.sum() <= 1 + 1e-9)
    (True, True)
    """

    schedule: ClassVar[str] = "exponential"  # type: ignore[misc]
    optimizer: ClassVar[str] = "sgd"  # type: ignore[misc]
    momentum: ClassVar[float] = 0.0  # type: ignore[misc]

    radius: float | None = number(None, above=0)
    epochs: int = 10
    learning_rate: float = 0.5
    decay: float = math.sqrt(0.5)
    batch_size: int = 1
    patience: int | None = None
    restarts: int = 3
    keep: str = choice("shrink", "project")

    def start(self, objective: Objective, rng: np.random.Generator) -> np.ndarray:
        theta = objective.initial()
        n_loss = objective.bound.loss.n_parameters
        if n_loss:
            theta[-n_loss:] = rng.uniform(0.0, 1.0, n_loss)
        return project(theta, None) if self.radius is None else _scaled_into(project(theta, None), self.radius)

    def epoch(self, objective: Objective, theta: np.ndarray, l1: np.ndarray) -> Epoch:
        return _FeasibleEpoch(objective, self, theta, l1)


class _FeasibleEpoch(Epoch):
    settings: Feasible

    def move(self, gradient: np.ndarray, rate: float) -> None:
        theta, radius = self.theta, self.settings.radius
        if self.settings.keep == "project":
            theta[:] = project(theta - rate * gradient, radius)
            return
        for _ in range(_HALVINGS):
            moved = theta - rate * gradient
            if moved.min() >= 0 and (radius is None or moved.sum() <= radius):
                theta[:] = moved
                return
            rate *= 0.5


def _scaled_into(theta: np.ndarray, radius: float) -> np.ndarray:
    total = float(theta.sum())
    # Strictly inside, so that rounding cannot make every later step look infeasible.
    return theta if total < radius else theta * (radius / total * (1 - 1e-6))


def project(theta: np.ndarray, radius: float | None) -> np.ndarray:
    """Return the nearest point with all entries ≥ 0 and sum ≤ ``radius``.

    Subtract the amount that makes the positive parts sum to the radius (Duchi et al., ICML 2008).

    >>> project(np.array([3.0, 1.0, -1.0]), 2.0).tolist()
    [2.0, 0.0, 0.0]
    """
    positive = np.maximum(theta, 0.0)
    if radius is None or positive.sum() <= radius:
        return positive
    descending = np.sort(positive)[::-1]
    excess = (np.cumsum(descending) - radius) / np.arange(1, len(theta) + 1)
    last = np.flatnonzero(descending > excess)[-1]
    return np.maximum(positive - excess[last], 0.0)

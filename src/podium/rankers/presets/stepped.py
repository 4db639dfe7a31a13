"""Presets with a linear scorer whose loss gives directions that are not the gradient of its value."""

from podium.core.random_state import seed_of
from podium.losses import Loss
from podium.rankers.estimator import BaseRanker
from podium.rankers.spaces import LogUniform
from podium.scorers.linear.scorer import Linear
from podium.training import Stochastic, Trainer

STEPS = {"l2": LogUniform(0.0, 1e-3, 3e-2, 1.0), "learning_rate": LogUniform(3e-4, 3e-3, 3e-2, 0.3, 1.0, 10.0)}
"""Penalties and rates to search."""


class SteppedPreset(BaseRanker):
    """A linear scorer trained by stochastic steps, which stop early where there are validation queries.

    Parameters
    ----------
    l2 : float
        Penalty on the weights of the normalized features, see :class:`podium.scorers.Linear`.
    epochs : int
        Passes over the training queries, at most.
    learning_rate : float
        Step size of Adam.
    patience : int, optional
        With validation queries: stop after this many epochs without a better metric.
    restarts : int
        Random starts, of which the best on the validation queries is kept.
    """

    l2: float = 1e-3
    epochs: int = 100
    learning_rate: float = 0.01
    patience: int | None = 10
    restarts: int = 1

    def _scorer(self) -> Linear:
        return Linear(l2=self.l2)

    def _trainer(self) -> Trainer:
        return Stochastic(self.epochs, learning_rate=self.learning_rate, patience=self.patience, restarts=self.restarts)


class LossBySteps(SteppedPreset):
    """The same on any loss.

    Parameters
    ----------
    loss : Loss
        What it draws at random, it draws with the ranker's seed.
    """

    loss: Loss

    def _loss(self) -> Loss:
        return self.loss.seeded(seed_of(self.random_state))

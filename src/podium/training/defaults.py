"""The trainer that is used when the user names none."""

from __future__ import annotations

from podium.losses.base import Loss
from podium.scorers.base import Scorer
from podium.training.base import Trainer
from podium.training.boosting import Boosting
from podium.training.lbfgs import LBFGS
from podium.training.stochastic import Stochastic

_TRAINERS: dict[str, type[Trainer]] = {"quasi-newton": LBFGS, "stochastic": Stochastic, "boosting": Boosting}


def default_trainer(loss: Loss, scorer: Scorer) -> Trainer:
    """Return the trainer that suits the scorer, or stochastic steps where it needs a gradient that the loss lacks."""
    trainer = _TRAINERS[scorer.trained_by]()
    return trainer if loss.has_gradient or not trainer.needs_gradient else Stochastic()

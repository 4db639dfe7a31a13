"""Trainers: they move a scorer's parameters, and nothing else."""

from podium.training.base import Convergence, Fit, Problem, Progress, Trainer, Validation
from podium.training.boosting import Boosting
from podium.training.feasible import Feasible
from podium.training.lbfgs import LBFGS
from podium.training.stochastic import Stochastic

__all__ = [
    "LBFGS",
    "Boosting",
    "Convergence",
    "Feasible",
    "Fit",
    "Problem",
    "Progress",
    "Stochastic",
    "Trainer",
    "Validation",
]

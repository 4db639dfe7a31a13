"""Trainers: they move a scorer's parameters, and nothing else."""

from podium.core.rooms import public_names
from podium.training.bagging import *
from podium.training.base import *
from podium.training.boosting import *
from podium.training.feasible import *
from podium.training.lbfgs import *
from podium.training.stochastic import *

__all__ = public_names(__name__)

"""Experiments: methods compared on the same folds, under one protocol, with a named convention."""

from podium.core.rooms import public_names
from podium.experiments.auto import *
from podium.experiments.compare import *
from podium.experiments.plan.protocol import *
from podium.experiments.plan.search import *
from podium.experiments.result.comparison import *
from podium.experiments.tuning import *

__all__ = public_names(__name__)

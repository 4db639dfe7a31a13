"""Scorers: functions from a query's features to its documents' scores."""

from podium.core.rooms import public_names
from podium.scorers.attention_torch import *
from podium.scorers.base import *
from podium.scorers.function import *
from podium.scorers.kernel_regression import *
from podium.scorers.linear.scorer import *
from podium.scorers.network.mlp import *
from podium.scorers.network.potentials import *
from podium.scorers.torch import *
from podium.scorers.trees.model import *
from podium.scorers.trees.scorer import *

__all__ = public_names(__name__)

"""Ranking metrics, each under a named convention, with intervals and paired tests."""

from podium.core.rooms import public_names
from podium.metrics.conventions import *
from podium.metrics.definition import *
from podium.metrics.evaluating import *
from podium.metrics.evaluation import *
from podium.metrics.family import *
from podium.metrics.scorer import *
from podium.metrics.significance import *

__all__ = public_names(__name__)

"""Rankers: scikit-learn estimators made of a loss, a scorer and a trainer."""

from podium.core.rooms import public_names
from podium.rankers.adapter import *
from podium.rankers.estimator import *
from podium.rankers.explaining.explanation import *
from podium.rankers.presets.adarank import *
from podium.rankers.presets.attention_torch import *
from podium.rankers.presets.boltzrank import *
from podium.rankers.presets.boosted import *
from podium.rankers.presets.coordinate_ascent import *
from podium.rankers.presets.floors import *
from podium.rankers.presets.lambdarank import *
from podium.rankers.presets.linear import *
from podium.rankers.presets.listmle import *
from podium.rankers.presets.listnet import *
from podium.rankers.presets.pairties import *
from podium.rankers.presets.pmop import *
from podium.rankers.presets.prank import *
from podium.rankers.presets.random_forest import *
from podium.rankers.presets.rankboost import *
from podium.rankers.presets.softrank import *
from podium.rankers.presets.structrank import *
from podium.rankers.ranker import *

__all__ = public_names(__name__)

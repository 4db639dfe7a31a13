"""Losses: each turns one query's scores and labels into a value and a gradient with respect to the scores."""

from podium.core.rooms import public_names
from podium.losses.approxmrr import *
from podium.losses.approxndcg import *
from podium.losses.base import *
from podium.losses.boltzrank import *
from podium.losses.bound import *
from podium.losses.cofirank import *
from podium.losses.combined import *
from podium.losses.drawn import *
from podium.losses.function import *
from podium.losses.gbrank import *
from podium.losses.intervalrank import *
from podium.losses.lambdaloss import *
from podium.losses.lambdarank import *
from podium.losses.listmle import *
from podium.losses.listnet import *
from podium.losses.neuralndcg import *
from podium.losses.pmop.loss import *
from podium.losses.pointwise import *
from podium.losses.rankcosine import *
from podium.losses.ranknet import *
from podium.losses.rankregress import *
from podium.losses.ranksvm import *
from podium.losses.softmax import *
from podium.losses.softrank import *
from podium.losses.stochasticrank import *
from podium.losses.structrank.loss import *
from podium.losses.ties import *
from podium.losses.unique_softmax import *
from podium.losses.xendcg import *
from podium.losses.yetirank import *

__all__ = public_names(__name__)

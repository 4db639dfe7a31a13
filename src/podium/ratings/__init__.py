"""Collaborative filtering: rankers that learn from users' ratings of items."""

from podium.core.rooms import public_names
from podium.ratings.catalogue.evaluation import *
from podium.ratings.compare import *
from podium.ratings.data import *
from podium.ratings.estimator import *
from podium.ratings.evaluation import *
from podium.ratings.explaining import *
from podium.ratings.export import *
from podium.ratings.features import *
from podium.ratings.files import *
from podium.ratings.peers import *
from podium.ratings.rankers.cofirank import *
from podium.ratings.rankers.factors import *
from podium.ratings.rankers.floors import *
from podium.ratings.rankers.implicit import *
from podium.ratings.rankers.pmf import *
from podium.ratings.rankers.taste import *
from podium.ratings.recommendation_files import *
from podium.ratings.splits import *
from podium.ratings.synthetic import *
from podium.ratings.tuning import *

__all__ = public_names(__name__)

"""Collaborative filtering: rankers that learn from users' ratings of items."""

from podium.ratings.compare import compare_ratings
from podium.ratings.data import Ratings
from podium.ratings.estimator import RatingRanker
from podium.ratings.evaluation import evaluate_ratings
from podium.ratings.files import read_ratings
from podium.ratings.rankers.cofirank import CoFiRank
from podium.ratings.rankers.factors import FactorRanker, PlackettLuceFactors, PMOPFactors
from podium.ratings.rankers.floors import GlobalRanking, ItemMean
from podium.ratings.rankers.pmf import PMF
from podium.ratings.rankers.taste import TasteFactors
from podium.ratings.splits import given_n, held_out_users, leave_one_out, time_split
from podium.ratings.synthetic import make_ratings

__all__ = [
    "PMF",
    "CoFiRank",
    "FactorRanker",
    "GlobalRanking",
    "ItemMean",
    "PMOPFactors",
    "PlackettLuceFactors",
    "RatingRanker",
    "Ratings",
    "TasteFactors",
    "compare_ratings",
    "evaluate_ratings",
    "given_n",
    "held_out_users",
    "leave_one_out",
    "make_ratings",
    "read_ratings",
    "time_split",
]

"""What biases of items are drawn around: a line in the item's damped mean ratings and in how often it is rated.

A loss of lists compares the ratings of one user. It does not see that a user's ratings are high throughout, which says
something about the items that this user chose; and where many ratings are equal, it learns little from each. So items'
biases alone rank worse than the items' mean ratings. Here the means are in the prior of the biases,

    b_i ~ N(β₁ m_i + β₂ m'_i + β₃ log(1 + n_i), 1 / l2),

with m_i and m'_i the mean, damped a little and much, and n_i the number of ratings of the item. The slopes β are
learned on the same loss as all else. For that, means and number of a rating are those without the rating itself: how
far to trust a mean can only be learned from ratings that are not in it.
"""

import numpy as np

from podium.ratings.data import Ratings
from podium.ratings.factors.model import FactorModel

DAMPINGS = 5.0, 20.0
"""Ratings of the overall mean that are added to each item's. How many it should be depends on how much of the ratings
is noise; with slopes for two of them, it is learned."""


def item_lines(ratings: Ratings) -> list[FactorModel]:
    """Return the damped means and the logarithms of the numbers of ratings, each as a model of scores."""
    facts = [ratings.item_means(damping) for damping in DAMPINGS]
    facts.append(np.log1p(ratings.item_counts()))
    nobody, nothing = np.empty((ratings.n_users, 0)), np.empty((ratings.n_items, 0))
    return [FactorModel(nobody, nothing, fact - fact.mean()) for fact in facts]


def left_out_lines(ratings: Ratings) -> np.ndarray:
    """(n_ratings, 3) damped means and logarithm of the number of ratings, all without the rating itself."""
    mean = float(ratings.values.mean())
    total = np.bincount(ratings.item, ratings.values, ratings.n_items)[ratings.item] - ratings.values
    count = ratings.item_counts()[ratings.item] - 1.0
    means = [(total + damping * mean) / (count + damping) for damping in DAMPINGS]
    return np.column_stack((*means, np.log1p(count)))

"""The floor of every table: rankings that are the same for everybody."""

from typing import Any

import numpy as np

from podium.core.parameters import choice, number
from podium.ratings.data import Ratings
from podium.ratings.estimator import RATING_METHODS, RatingRanker, solved
from podium.ratings.factors.model import FactorModel
from podium.training.base import Fit

__all__ = ["GlobalRanking", "ItemMean"]


class GlobalRanking(RatingRanker):
    """The same ranking of the items for everybody, by the number of their ratings or by their mean rating.

    Parameters
    ----------
    by : {"popularity", "log popularity", "mean"}
        An item without ratings comes last by popularity and has the mean of all ratings by mean. The logarithm (of one
        plus the number) gives the same ranking and is better suited to be mixed with other scores.

    Examples
    --------
    >>> import podium
    >>> ratings = (["ann", "ann", "bob", "cid"], ["up", "brazil", "up", "alien"], [5, 4, 3, 4])
    >>> podium.GlobalRanking().fit(ratings).recommend("cid", n=1).items.tolist()
    ['up']
    """

    by: str = choice("popularity", "log popularity", "mean")

    def _train(self, ratings: Ratings, *watched: Any) -> Fit:
        if self.by == "mean":
            return _same_for_all(ratings, ratings.item_means(damping=0.0))
        count = ratings.item_counts().astype(np.float64)
        return _same_for_all(ratings, count if self.by == "popularity" else np.log1p(count))


class ItemMean(RatingRanker):
    """The items' mean ratings, shrunk toward the mean µ of all: (Σ ratings + damping · µ) / (count + damping).

    Although not personal, this beats many personal models that are not regularized: always compare with it.

    Parameters
    ----------
    damping : float
        How many ratings of µ are added to each item's.

    Examples
    --------
    >>> import podium
    >>> ratings = (["ann", "ann", "bob", "cid"], ["up", "brazil", "up", "alien"], [5, 4, 3, 4])
    >>> podium.ItemMean(damping=1).fit(ratings).predict("ann", ["up", "brazil"]).tolist()
    [4.0, 4.0]
    """

    damping: float = number(5.0, at_least=0)

    def _train(self, ratings: Ratings, *watched: Any) -> Fit:
        return _same_for_all(ratings, ratings.item_means(self.damping))


def _same_for_all(ratings: Ratings, scores: np.ndarray) -> Fit:
    return solved(FactorModel(np.zeros((ratings.n_users, 0)), np.zeros((ratings.n_items, 0)), scores))


RATING_METHODS.add("item-mean", ItemMean, "the items' damped mean rating", "floor", "floor", kind="factors")
RATING_METHODS.add("popularity", GlobalRanking, "the number of an item's ratings", "floor", "floor", kind="factors")
FLOORS = ("item-mean", "popularity")
"""Methods that every table of results has."""

"""Taste from who rated what: items are similar if the same people rated them, whatever they thought of them."""

from typing import Any

import numpy as np

from podium.core.parameters import choice, count, number
from podium.core.random_state import RandomState, as_generator
from podium.ratings.data import Ratings
from podium.ratings.estimator import RatingRanker, solved
from podium.ratings.factors.model import FactorModel
from podium.training.base import Fit

__all__ = ["TasteFactors"]


class TasteFactors(RatingRanker):
    """A user's affinity to an item, in the space of the leading singular vectors of who rated what.

    With E_i the item's row of the right singular vectors of the matrix 1/√(count_i + damping) for each rating,

        by="rated"     s_ui = E_i · Σ_{j rated by u} E_j / √(count_j + damping)
        by="ratings"   s_ui = Ê_i · Σ_{j rated by u} y_uj Ê_j

    where Ê is E scaled to about unit length and y_uj is the rating minus the item's damped mean, centered per user.
    What people choose to rate says much about them, and with few ratings more than the ratings do. Alone these are weak
    rankers; as ``priors`` of a :class:`podium.FactorRanker` they contribute personal taste.

    Parameters
    ----------
    by : {"rated", "ratings"}
        Which of the two.
    n_factors : int
        Singular vectors.
    damping : float
        Ratings that are added to the number of each item's.
    random_state : int, optional
        Seed of the iterations for the singular vectors; it changes the result by rounding only.

    Examples
    --------
    >>> import podium
    >>> ranker = podium.TasteFactors("rated", n_factors=2, random_state=0).fit(podium.make_ratings(40, 30, 800))
    >>> ranker.model_.item_factors.shape
    (30, 2)
    """

    by: str = choice("ratings", "rated")
    n_factors: int = count(10)
    damping: float = number(5.0, above=0)
    cold: str = "average"
    random_state: RandomState = None

    def _train(self, ratings: Ratings, *watched: Any) -> Fit:
        vectors = self._item_vectors(ratings)
        if self.by == "ratings":
            length = (vectors**2).sum(axis=1)
            vectors /= np.sqrt(length + length.mean() / 3.0)[:, None]  # an item with few ratings stays short
        users = self._user_vectors(ratings, ratings, vectors)
        return solved(FactorModel(users, vectors, np.zeros(ratings.n_items)))

    def _fold(self, ratings: Ratings) -> np.ndarray:
        return self._user_vectors(ratings.known(), self.seen_, self.model_.item_factors)

    def _item_vectors(self, ratings: Ratings) -> np.ndarray:
        from scipy.sparse.linalg import svds

        n = min(self.n_factors, min(ratings.n_users, ratings.n_items) - 1)
        if n < 1:
            return np.zeros((ratings.n_items, 0))
        matrix = ratings.to_csr(self._rarity(ratings)[ratings.item])
        start = as_generator(self.random_state).standard_normal(min(matrix.shape))
        _, sizes, vectors = svds(matrix, n, v0=start)
        return np.ascontiguousarray(vectors[np.argsort(-sizes)].T)

    def _user_vectors(self, ratings: Ratings, fitted_on: Ratings, vectors: np.ndarray) -> np.ndarray:
        if self.by == "rated":
            weights = self._rarity(fitted_on)[ratings.item]
        else:
            rest = ratings.values - fitted_on.item_means(self.damping)[ratings.item]
            # Centered exactly: any level left over would reveal a held-out rating by the ratings that are not.
            level = np.bincount(ratings.user, rest, ratings.n_users) / np.maximum(ratings.sizes, 1)
            weights = rest - level[ratings.user]
        return np.asarray(ratings.to_csr(weights) @ vectors)

    def _rarity(self, ratings: Ratings) -> np.ndarray:
        return 1.0 / np.sqrt(ratings.item_counts() + self.damping)

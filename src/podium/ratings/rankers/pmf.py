"""Least squares on the ratings: probabilistic matrix factorization with biases."""

from typing import Any

import numpy as np

from podium.core.parameters import count, number
from podium.core.random_state import as_generator
from podium.numerics.ridge import ridge_rows
from podium.rankers.spaces import LogUniform
from podium.ratings.data import Ratings, group_numbers
from podium.ratings.estimator import RATING_METHODS, IterativeRatingRanker
from podium.ratings.factors.alternating import Alternation
from podium.ratings.factors.model import FactorModel
from podium.training.base import Fit

__all__ = ["PMF"]


class PMF(IterativeRatingRanker):
    """Regularized least squares on the ratings: r_ui ≈ µ + b_u + b_i + W_u · H_i, by alternating least squares.

    Minimizes half the squared errors plus ``l2``/2 times the squared factors and ``bias_l2``/2 times the squared
    biases: the most probable parameters of probabilistic matrix factorization (Salakhutdinov and Mnih, NIPS 2007), with
    biases. The scores it predicts are ratings, users' biases included.

    Parameters
    ----------
    n_factors : int
        Length of the vectors of users and items.
    l2, bias_l2 : float
        Penalties, above 0.
    max_iter : int
        Maximum number of rounds over users and items; reaching it gives a ConvergenceWarning.
    tol : float
        Stop when a round improves the objective by less than this share of it.
    random_state : int, optional
        Seed of the items' initial factors.
    verbose : int
        1 shows the progress, in a terminal and in notebooks as a bar, elsewhere as lines; 2 prints lines.

    Attributes
    ----------
    model_ : FactorModel
        The last factor is µ + b_u for users and 1 for items.

    Examples
    --------
    >>> import podium
    >>> ranker = podium.PMF(n_factors=2, random_state=0).fit(podium.make_ratings(40, 30, 800))
    >>> ranker.model_.user_factors.shape, bool(1 < ranker.predict(0, 0) < 5)
    ((40, 3), True)
    """

    n_factors: int = count(10)
    l2: float = number(10.0, above=0)
    bias_l2: float = number(5.0, above=0)
    max_iter: int = count(50)
    tol: float = number(1e-4, at_least=0)

    def _train(self, ratings: Ratings, *watched: Any) -> Fit:
        alternation = Alternation(self.max_iter, self.tol, self.verbose, *watched)
        penalty, user, item = self._penalty(), ratings.user, ratings.item
        by_item, item_offsets = group_numbers(item, ratings.n_items)
        rng = as_generator(self.random_state)
        # Each side is (factors, bias); in the other side's regression the bias is replaced by the constant 1.
        mean = float(ratings.values.mean())
        items = 0.1 * rng.standard_normal((ratings.n_items, self.n_factors + 1))
        items[:, -1] = ratings.item_means(damping=self.bias_l2) - mean
        rest = ratings.values - mean
        while True:
            users = ridge_rows(ratings.offsets, item, rest - items[item, -1], _design(items), penalty)
            from_users = (rest - users[user, -1])[by_item]
            items = ridge_rows(item_offsets, user[by_item], from_users, _design(users), penalty)
            model = _with_user_bias(users, items, mean)
            errors = ratings.values - model.pairs(user, item)
            size = sum(float((side**2 @ penalty).sum()) for side in (users, items))
            if alternation.ends_with(model, 0.5 * (float(errors @ errors) + size)):
                return alternation.fit()

    def _fold(self, ratings: Ratings) -> np.ndarray:
        ratings = ratings.known()
        mean = float(self.seen_.values.mean())
        targets = ratings.values - mean - self.model_.item_bias[ratings.item]
        users = ridge_rows(ratings.offsets, ratings.item, targets, self.model_.item_factors, self._penalty())
        users[:, -1] += mean
        return users

    def _penalty(self) -> np.ndarray:
        return np.append(np.full(self.n_factors, float(self.l2)), float(self.bias_l2))


def _design(side: np.ndarray) -> np.ndarray:
    """Return the regressors of the other side: this side's factors, and 1 for the other's bias."""
    return np.column_stack((side[:, :-1], np.ones(len(side))))


def _with_user_bias(users: np.ndarray, items: np.ndarray, mean: float) -> FactorModel:
    """Return a model with the users' biases and the mean as a factor that is 1 for every item."""
    return FactorModel(users + np.append(np.zeros(users.shape[1] - 1), mean), _design(items), items[:, -1].copy())


RATING_METHODS.add(
    "pmf",
    PMF,
    "least squares on the ratings, with biases",
    "Salakhutdinov & Mnih, NIPS 2007",
    "factors",
    {"l2": LogUniform(0.3, 1.0, 3.0, 10.0, 30.0, 100.0)},
    kind="factors",
)

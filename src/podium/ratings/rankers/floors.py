"""What every table of rankers of ratings should show: rankings that are the same for everybody, and least squares."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from podium.core.parameters import require_choice, require_count, require_number
from podium.numerics.ridge import ridge_rows
from podium.rankers.inputs import as_generator
from podium.ratings.estimator import FactorFit, RatingRanker, RatingValidation
from podium.ratings.factors.model import FactorModel
from podium.ratings.factors.rounds import Rounds
from podium.ratings.lists import RatingLists, group_numbers
from podium.training.base import Progress
from podium.training.threads import threads_for


class GlobalRanking(RatingRanker):
    """The same ranking of the items for everybody: by how many rated them, or by their mean rating.

    Parameters
    ----------
    by : {"popularity", "log popularity", "mean"}
        An item without ratings comes last by popularity and has the mean of all ratings by mean. The logarithm (of one
        more than the number) ranks the same, and is the better measure to mix with other scores.
    cold : {"average", "error"}
    """

    def __init__(self, by: str = "popularity", cold: str = "average") -> None:
        self.by = by
        self.cold = cold

    def _train(self, lists: RatingLists, *_: Any) -> FactorFit:
        require_choice("by", self.by, ("popularity", "log popularity", "mean"))
        if self.by == "mean":
            return _impersonal(lists, item_means(lists, damping=0.0))
        count = np.bincount(lists.items, minlength=lists.n_items).astype(np.float64)
        return _impersonal(lists, count if self.by == "popularity" else np.log1p(count))


class ItemMean(RatingRanker):
    """The items' mean ratings, drawn towards the mean µ of all: (Σ ratings + damping · µ) / (count + damping).

    Without a person in it, this beats many personal models that are not regularised: always compare with it.

    Parameters
    ----------
    damping : float
        How many ratings of µ each item is given beforehand.
    cold : {"average", "error"}
    """

    def __init__(self, damping: float = 5.0, cold: str = "average") -> None:
        self.damping = damping
        self.cold = cold

    def _train(self, lists: RatingLists, *_: Any) -> FactorFit:
        require_number("damping", self.damping, at_least=0.0)
        return _impersonal(lists, item_means(lists, self.damping))


class PMF(RatingRanker):
    """Regularised least squares on the ratings: r_ui ≈ µ + b_u + b_i + W_u · H_i, by alternating least squares.

    Half the squared errors plus ``l2``/2 times the squared factors and ``bias_l2``/2 times the squared biases: the most
    probable parameters of probabilistic matrix factorisation (Salakhutdinov and Mnih, NIPS 2007), with biases. The
    scores it predicts are ratings: the users' biases are in them.

    Parameters
    ----------
    n_factors : int
    l2, bias_l2 : float
        Above 0.
    max_iter : int
        Most sweeps over users and items; reaching it gives a ConvergenceWarning.
    tol : float
        Stop when a sweep improves the objective by less than this share of it.
    cold : {"average", "error"}
    random_state : int, optional
        Of the items' factors at the start.

    Attributes
    ----------
    model_ : FactorModel
        The last factor is µ + b_u on the users' side and 1 on the items'.
    """

    def __init__(
        self,
        n_factors: int = 10,
        l2: float = 10.0,
        bias_l2: float = 5.0,
        max_iter: int = 50,
        tol: float = 1e-4,
        cold: str = "average",
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.n_factors = n_factors
        self.l2 = l2
        self.bias_l2 = bias_l2
        self.max_iter = max_iter
        self.tol = tol
        self.cold = cold
        self.random_state = random_state
        self.verbose = verbose

    def _train(
        self,
        lists: RatingLists,
        validation: RatingValidation | None,
        callback: Callable[[Progress], Any] | None,
    ) -> FactorFit:
        require_count("n_factors", self.n_factors)
        require_count("max_iter", self.max_iter)
        require_number("tol", self.tol, at_least=0.0)
        penalty = self._penalty()
        by_item, item_offsets = group_numbers(lists.items, lists.n_items)
        rng = as_generator(self.random_state)
        # Each side is (factors, bias); for the other side's regression the bias becomes the constant 1.
        mean = float(lists.values.mean())
        items = 0.1 * rng.standard_normal((lists.n_items, self.n_factors + 1))
        items[:, -1] = item_means(lists, damping=self.bias_l2) - mean
        rest = lists.values - mean
        rounds = Rounds(validation, callback, self.verbose, max_iter=self.max_iter, tol=self.tol)
        with threads_for(len(lists.values) * len(penalty) ** 2):
            while True:
                users = ridge_rows(lists.offsets, lists.items, rest - items[lists.items, -1], _design(items), penalty)
                from_users = (rest - users[lists.users, -1])[by_item]
                items = ridge_rows(item_offsets, lists.users[by_item], from_users, _design(users), penalty)
                model = _with_user_bias(users, items, mean)
                errors = lists.values - model.scores(lists.users, lists.items)
                size = sum(float((side**2 @ penalty).sum()) for side in (users, items))
                if rounds.end(model, 0.5 * (float(errors @ errors) + size)):
                    return FactorFit(*rounds.outcome())

    def _fold(self, lists: RatingLists) -> np.ndarray:
        known = lists.items >= 0
        offsets = np.concatenate(([0], np.cumsum(known)))[lists.offsets]
        factors, bias = self.model_.item_factors[:, :-1], self.model_.item_bias
        design = np.column_stack((factors, np.ones(len(factors))))
        mean = float(self.seen_.values.mean())
        items = lists.items[known]
        users = ridge_rows(offsets, items, lists.values[known] - mean - bias[items], design, self._penalty())
        users[:, -1] += mean
        return users

    def _penalty(self) -> np.ndarray:
        require_number("l2", self.l2, above=0.0)
        require_number("bias_l2", self.bias_l2, above=0.0)
        return np.append(np.full(self.n_factors, float(self.l2)), float(self.bias_l2))


def item_means(lists: RatingLists, damping: float) -> np.ndarray:
    """(n_items,) mean ratings, ``damping`` ratings of the overall mean added to each; without any, that mean itself."""
    count = np.bincount(lists.items, minlength=lists.n_items)
    total = np.bincount(lists.items, lists.values, minlength=lists.n_items)
    mean = float(lists.values.mean())
    weight = count + damping
    return np.divide(total + damping * mean, weight, out=np.full(lists.n_items, mean), where=weight > 0)


def _impersonal(lists: RatingLists, merit: np.ndarray) -> FactorFit:
    return FactorFit(FactorModel(np.zeros((len(lists), 0)), np.zeros((lists.n_items, 0)), merit))


def _design(side: np.ndarray) -> np.ndarray:
    """What the other side's regression sees of one side: its factors, and 1 for the other's bias."""
    return np.column_stack((side[:, :-1], np.ones(len(side))))


def _with_user_bias(users: np.ndarray, items: np.ndarray, mean: float) -> FactorModel:
    """The users' biases and the mean as a factor that is 1 for every item."""
    return FactorModel(users + np.append(np.zeros(users.shape[1] - 1), mean), _design(items), items[:, -1].copy())

"""What all rankers of ratings share: users and items by their ids, predicting, recommending, new users, saving."""

from __future__ import annotations

import os
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError

from podium.core.arrays import Arrays
from podium.core.parameters import require_choice, require_count
from podium.core.registry import Registered
from podium.files.models import save
from podium.ratings.data import Ratings
from podium.ratings.factors.model import FactorModel
from podium.ratings.ids import Ids
from podium.ratings.lists import RatingLists
from podium.training.base import Convergence, Progress

COLD = ("average", "error")


class Recommendations(NamedTuple):
    """Items, best first, and their scores."""

    items: np.ndarray
    scores: np.ndarray


@dataclass(frozen=True)
class NewUser:
    """Someone who was not among the users fitted on, as :meth:`RatingRanker.fold_in` found them."""

    factors: np.ndarray
    """(n_factors,)"""
    seen: np.ndarray
    """Ascending numbers of the known items they rated."""


@dataclass(frozen=True)
class RatingValidation:
    """Ratings kept aside, as lists of the numbers used in training, and the metric that judges a model on them."""

    lists: RatingLists
    users: np.ndarray
    """(n_ratings,) number of the user of each rating; −1 for unknown ones."""
    metric: Any

    def judge(self, model: FactorModel) -> float:
        """Mean of the metric over the users it is defined for; higher is better."""
        values = self.metric.per_query(
            model.scores(self.users, self.lists.items), self.lists.values, self.lists.offsets
        )
        defined = values[~np.isnan(values)]
        return float(defined.mean()) if len(defined) else 0.0


@dataclass(frozen=True)
class FactorFit:
    """What training gives."""

    model: FactorModel
    convergence: Convergence = field(default_factory=lambda: Convergence(True, "solved exactly", n_iter=1))
    loss_parameters: np.ndarray = field(default_factory=lambda: np.empty(0))


class RatingRanker(Registered, BaseEstimator):  # type: ignore[misc]
    """An estimator that learns from users' ratings of items; its scores are ``b_i + W_u · H_i``.

    A subclass says how to :meth:`_train` and, if it has factors, how to :meth:`_fold` new users in. It takes ``cold``
    as a parameter: ``"average"`` scores users and items that were not fitted on as if they were the average one,
    ``"error"`` refuses them.

    Attributes
    ----------
    model_ : FactorModel
        ``user_factors``, ``item_factors`` and ``item_bias``, in the order of ``user_ids_`` and ``item_ids_``.
    user_ids_, item_ids_ : the ids fitted on
    loss_parameters_ : what the loss itself learned; often empty
    convergence_ : how the training ended, with its curves
    n_iter_
    """

    cold: str = "average"
    random_state: Any = None
    verbose: int = 0

    model_: FactorModel
    users_: Ids
    items_: Ids
    seen_: RatingLists
    loss_parameters_: np.ndarray
    convergence_: Convergence

    def fit(
        self,
        ratings: Any,
        eval_set: Any = None,
        *,
        eval_metric: Any = "ndcg@10",
        callback: Callable[[Progress], Any] | None = None,
    ) -> Self:
        """Learn from ratings.

        Parameters
        ----------
        ratings : Ratings, or (users, items, values)
        eval_set : Ratings, or (users, items, values), optional
            Ratings kept aside, of the same users: early stopping, choice between epochs.
        eval_metric : str or Metric
            What is watched on them, list by list of a user; ``"ndcg@5 (letor)"`` names a convention, else ``standard``.
        callback : function of a :class:`podium.training.Progress`, optional
            Called after each iteration or epoch; returning True stops the training.
        """
        require_choice("cold", self.cold, COLD)
        ratings = as_ratings(ratings)
        if len(ratings) == 0:
            raise ValueError("0 sample(s): there is no rating to learn from, and a minimum of 1 is required.")
        self.users_, self.items_ = Ids(ratings.user_ids), Ids(ratings.item_ids)
        self.seen_ = RatingLists.of(ratings)
        if eval_set is None:
            lists, validation = self._set_aside(self.seen_, eval_metric)
        else:
            lists, validation = self.seen_, self._validation(as_ratings(eval_set), eval_metric)
        return self._keep(self._train(lists, validation, callback))

    def _set_aside(self, lists: RatingLists, eval_metric: Any) -> tuple[RatingLists, RatingValidation | None]:
        """What to train on and what to keep aside where the user gives no ``eval_set``."""
        return lists, None

    def _keep(self, fit: FactorFit) -> Self:
        self.model_, self.convergence_, self.loss_parameters_ = fit.model, fit.convergence, fit.loss_parameters
        return self

    def _train(
        self,
        lists: RatingLists,
        validation: RatingValidation | None,
        callback: Callable[[Progress], Any] | None,
    ) -> FactorFit:
        """Learn from lists of numbered users and items, all known."""
        raise NotImplementedError

    def _fold(self, lists: RatingLists) -> np.ndarray:
        """(n_lists, n_factors) factors of new users with these ratings, the items held fixed (−1: an unknown item)."""
        if self.model_.user_factors.shape[1]:
            raise NotImplementedError(f"{type(self).__name__} does not say how to fold in new users")
        return np.zeros((len(lists), 0))

    @property
    def user_ids_(self) -> np.ndarray:
        return self.users_.ids

    @property
    def item_ids_(self) -> np.ndarray:
        return self.items_.ids

    @property
    def n_iter_(self) -> int:
        return self.convergence_.n_iter

    def predict(self, users: Any, items: Any) -> np.ndarray:
        """Scores of users for items, higher is better.

        ``users`` and ``items`` are ids, in parallel arrays, or a single one against many; ``users`` may also be what
        :meth:`fold_in` gave. Only comparisons within a user have a meaning.
        """
        self._require_fitted()
        item = self._item_numbers(items)
        if isinstance(users, NewUser):
            model = replace(self.model_, user_factors=users.factors[None, :])
            return model.scores(np.zeros(item.size, np.int64), item.ravel()).reshape(item.shape)
        user, item = np.broadcast_arrays(self._user_numbers(users), item)
        return self.model_.scores(user.ravel(), item.ravel()).reshape(item.shape)

    def recommend(self, user: Any, n: int = 10, *, exclude_seen: bool = True) -> Recommendations:
        """The ``n`` items with the highest scores for a user (an id, or what :meth:`fold_in` gave), best first.

        Items the user has rated are left out unless ``exclude_seen`` is False; fewer than ``n`` are given where no
        more are left.
        """
        self._require_fitted()
        if not isinstance(user, NewUser):
            return self.recommend_many([user], n, exclude_seen=exclude_seen)[0]
        seen = user.seen if exclude_seen else user.seen[:0]
        return self._top(user.factors[None, :], seen, np.array([0, len(seen)]), n)[0]

    def recommend_many(self, users: Any, n: int = 10, *, exclude_seen: bool = True) -> list[Recommendations]:
        """:meth:`recommend` for each of many user ids, at once."""
        self._require_fitted()
        number = np.atleast_1d(self._user_numbers(users))
        lists = self.seen_
        size = np.where(number < 0, 0, lists.sizes[number]) if exclude_seen else np.zeros_like(number)
        offsets = np.concatenate(([0], np.cumsum(size)))
        rows = np.repeat(lists.offsets[number] - offsets[:-1], size) + np.arange(offsets[-1])
        return self._top(self.model_.users[number], lists.seen[rows], offsets, n)

    def fold_in(self, items: Any, values: Any) -> NewUser:
        """A user who was not fitted on, from their ratings; for :meth:`predict` and :meth:`recommend`.

        The items stay as they are: only this user's factors are learned, in the way they were for the others.
        """
        self._require_fitted()
        item = np.atleast_1d(self._item_numbers(items))
        values = np.atleast_1d(np.asarray(values, dtype=np.float64))
        if values.shape != item.shape:
            raise ValueError(f"values must have one entry for each of the {len(item)} items; got shape {values.shape}")
        if len(np.unique(item[item >= 0])) != (item >= 0).sum():
            raise ValueError("an item is rated more than once: fold in one rating for each item")
        lists = RatingLists.group(np.zeros(len(item), np.int64), item, values, 1, len(self.items_))
        return NewUser(self._fold(lists)[0], np.sort(item[item >= 0]))

    def with_users(self, ratings: Any) -> Self:
        """The same ranker for other users: those of ``ratings``, all folded in at once."""
        self._require_fitted()
        ratings = as_ratings(ratings)
        lists = RatingLists.group(
            ratings.user,
            self._item_numbers(ratings.item_ids)[ratings.item],
            ratings.values,
            ratings.n_users,
            len(self.items_),
        )
        other = copy(self)
        other.users_, other.seen_ = Ids(ratings.user_ids), lists
        other.model_ = replace(self.model_, user_factors=self._fold(lists))
        return other

    def score(self, ratings: Any, y: Any = None, *, metric: Any = "ndcg@10") -> float:
        """Mean of a metric over the users of ``ratings``, whose rated items are ranked by their scores."""
        self._require_fitted()
        return self._validation(as_ratings(ratings), metric).judge(self.model_)

    def save(self, path: str | os.PathLike[str], *, dataset: str | None = None) -> None:
        """Write the fitted ranker to one file, without pickle; :func:`podium.load` brings it back."""
        save(self, path, dataset=dataset)

    def _validation(self, ratings: Ratings, metric: Any) -> RatingValidation:
        from podium.metrics import metric as as_metric

        item = self._item_numbers(ratings.item_ids)[ratings.item]
        lists = RatingLists.group(ratings.user, item, ratings.values, ratings.n_users, len(self.items_))
        return RatingValidation(lists, self._user_numbers(ratings.user_ids)[lists.users], as_metric(metric))

    def _top(self, factors: np.ndarray, seen: np.ndarray, offsets: np.ndarray, n: int) -> list[Recommendations]:
        require_count("n", n)
        numbers, scores = self.model_.top(factors, seen, offsets, min(n, len(self.items_)))
        return [Recommendations(self.item_ids_[k[k >= 0]], s[k >= 0]) for k, s in zip(numbers, scores, strict=True)]

    def _user_numbers(self, users: Any) -> np.ndarray:
        return self._numbers(self.users_, users, "users")

    def _item_numbers(self, items: Any) -> np.ndarray:
        return self._numbers(self.items_, items, "items")

    def _numbers(self, known: Ids, ids: Any, what: str) -> np.ndarray:
        numbers = known.numbers(ids, what)
        if self.cold == "error" and (numbers < 0).any():
            first = np.asarray(ids).ravel().tolist()[np.flatnonzero(numbers.ravel() < 0)[0]]
            raise ValueError(
                f"{(numbers < 0).sum()} of the {what} were not among those fitted on, {first!r} for one; "
                'cold="average" scores them as the average one'
            )
        return numbers

    def _fitted_state(self) -> tuple[dict[str, Any], Arrays]:
        """What fitting gave: JSON, and arrays and texts by name."""
        state: dict[str, np.ndarray | str] = {f"model.{k}": v for k, v in self.model_.to_arrays().items()}
        state.update(users=self.users_.state(), items=self.items_.state(), loss_parameters=self.loss_parameters_)
        state.update({f"seen.{name}": getattr(self.seen_, name) for name in ("offsets", "items", "values")})
        return {"convergence": self.convergence_.as_dict()}, state

    def _restore_fitted(self, fitted: dict[str, Any], state: Arrays) -> None:
        """Become what :meth:`_fitted_state` describes."""
        self.users_, self.items_ = Ids.from_state(state["users"]), Ids.from_state(state["items"])
        n_users, n_items = len(self.users_), len(self.items_)
        own = {k.removeprefix("model."): v for k, v in state.items() if k.startswith("model.")}
        self.model_ = FactorModel.from_arrays(own, n_users, n_items)
        self.seen_ = RatingLists.from_state(
            {k.removeprefix("seen."): v for k, v in state.items() if k.startswith("seen.")}, n_users, n_items
        )
        self.loss_parameters_ = np.asarray(state["loss_parameters"], dtype=np.float64)
        self.convergence_ = Convergence.from_dict(fitted["convergence"])

    def _require_fitted(self) -> None:
        if not hasattr(self, "model_"):
            raise NotFittedError(f"this {type(self).__name__} is not fitted yet: call fit first")

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "model_")


def as_ratings(ratings: Any) -> Ratings:
    """Ratings, or (users, items, values)."""
    if isinstance(ratings, Ratings):
        return ratings
    if not isinstance(ratings, tuple | list) or len(ratings) != 3:
        raise ValueError("ratings must be Ratings or three arrays (users, items, values)")
    return Ratings(*ratings)

"""The base class of all rankers of ratings: ids to numbers, predicting, recommending, new users, saving."""

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from podium.core.arrays import Arrays, named_under
from podium.core.parameters import choice, require_count
from podium.core.random_state import RandomState
from podium.data.queries import Queries
from podium.metrics.definition import Metric
from podium.metrics.definition import metric as find_metric
from podium.rankers.fitted import FittedEstimator
from podium.rankers.methods import MethodTable
from podium.ratings.data import Ratings
from podium.ratings.factors.model import FactorModel, top_items
from podium.ratings.factors.scorer import as_queries
from podium.ratings.ids import Ids
from podium.ratings.remote import RemoteRatings
from podium.training.bar import fit_shown
from podium.training.base import Convergence, Fit, Progress, Validation

__all__ = ["RatingRanker"]

RATING_METHODS = MethodTable()
"""The methods that learn from ratings. Each is added beside the class that implements it."""
RatingData = Ratings | tuple[ArrayLike, ArrayLike, ArrayLike]
"""Ratings, or (users, items, values)."""


class Recommendations(NamedTuple):
    """Items, best first, and their scores."""

    items: np.ndarray
    scores: np.ndarray


@dataclass(frozen=True)
class NewUser:
    """A user who was not fitted on, as returned by :meth:`RatingRanker.fold_in`."""

    factors: np.ndarray
    """(n_factors,)"""
    seen: np.ndarray
    """Ascending numbers of the known items they rated."""


class RatingRanker(FittedEstimator):
    """An estimator that learns from users' ratings of items; its scores are ``b_i + W_u · H_i``.

    A subclass says how to ``_train`` and, if it has factors, how to ``_fold`` in new users.

    Parameters
    ----------
    cold : {"average", "error"}
        Users and items that were not fitted on are scored as the average one, or refused.

    Attributes
    ----------
    model_ : FactorModel
        ``user_factors``, ``item_factors`` and ``item_bias``, in the order of ``user_ids_`` and ``item_ids_``.
    loss_parameters_ : (n_parameters,) array
        Learned parameters of the loss; often empty.
    convergence_ : Convergence
        How the training ended, with its curves.
    n_iter_ : int
        The number of iterations.

    Examples
    --------
    >>> import podium
    >>> ranker = podium.ItemMean().fit(podium.make_ratings(40, 50, 1200))
    >>> isinstance(ranker, podium.ratings.RatingRanker), len(ranker.recommend(0, n=3).items)
    (True, 3)
    """

    cold: str = choice("average", "error")

    model_: FactorModel
    seen_: Ratings

    def fit(
        self,
        ratings: RatingData | RemoteRatings,
        eval_set: RatingData | RemoteRatings | None = None,
        *,
        eval_metric: str | Metric = "ndcg@10",
        callback: Callable[[Progress], Any] | None = None,
    ) -> Self:
        """Learn from ratings.

        Parameters
        ----------
        ratings : Ratings, or (users, items, values)
            Or ratings on a cluster (:mod:`podium.dask`), for factors that L-BFGS trains on a loss.
        eval_set : Ratings, or (users, items, values), optional
            Held-out ratings of the same users, for early stopping and for choosing an iteration. Those on a cluster are
            brought to this process, which has the factors of all users.
        eval_metric : str or Metric
            Computed on them, per user; ``"ndcg@5 (letor)"`` names a convention, the default being ``standard``.
        callback : callable, optional
            Called with a :class:`podium.training.Progress` after each iteration or epoch; returning True stops the
            training.

        Returns
        -------
        self
            The fitted ranker.
        """
        self.check_parameters()
        beside: tuple[Any, ...] = ()
        if isinstance(ratings, RemoteRatings):
            self._require_remote()
            beside = (ratings.queries,)
            ratings = ratings.collect()
        ratings = as_ratings(ratings)
        if len(ratings) == 0:
            raise ValueError("0 sample(s): there is no rating to learn from, and a minimum of 1 is required.")
        self.seen_ = ratings
        if eval_set is None:
            ratings, validation = self._hold_out(ratings, eval_metric)
        else:
            held_out = eval_set.collect() if isinstance(eval_set, RemoteRatings) else as_ratings(eval_set)
            validation = Validation.by(eval_metric, self._lists(held_out))
        with fit_shown(getattr(self, "verbose", 0), callback) as told:
            return self._set_fit(self._train(ratings, validation, told, *beside))

    def _require_remote(self) -> None:
        """Raise ValueError, naming what can, unless this ranker can be trained on ratings that are on a cluster."""
        raise ValueError(
            f"{type(self).__name__} cannot be trained on a cluster: it does not minimize a loss by L-BFGS. "
            "podium.FactorRanker(loss), podium.PMOPFactors() and podium.PlackettLuceFactors() can; or fit it in this "
            "process, on ratings.collect()"
        )

    def _hold_out(self, ratings: Ratings, eval_metric: str | Metric) -> tuple[Ratings, Validation | None]:
        """Return ratings to train on and ratings to hold out, where the user gives no ``eval_set``."""
        return ratings, None

    def _train(self, ratings: Ratings, *watched: Any) -> Fit:
        """Learn from ratings.

        ``watched`` are the :class:`Validation` and the callback, if there are any. The former's queries have the
        features (user, item), which are numbers as in ``ratings``, −1 for unknown ones. Then follow, if the ratings
        are elsewhere, they as queries there.
        """
        raise NotImplementedError

    def _fold(self, ratings: Ratings) -> np.ndarray:
        """(n_users, n_factors) factors of new users with these ratings, the items held fixed (−1: an unknown item)."""
        if self.model_.user_factors.shape[1]:
            raise NotImplementedError(f"{type(self).__name__} does not define how to fold in new users (_fold)")
        return np.zeros((ratings.n_users, 0))

    @property
    def user_ids_(self) -> np.ndarray:
        """(n_users,) ids of the users fitted on."""
        return self.seen_.user_ids

    @property
    def item_ids_(self) -> np.ndarray:
        """(n_items,) ids of the items fitted on."""
        return self.seen_.item_ids

    def predict(self, users: ArrayLike | NewUser, items: ArrayLike) -> np.ndarray:
        """Return scores of users for items, higher is better; only scores of the same user can be compared.

        Parameters
        ----------
        users, items : array
            Parallel arrays of ids, or one id against many; ``users`` may also be the result of :meth:`fold_in`.

        Returns
        -------
        numpy.ndarray
            One score per pair.
        """
        self._require_fitted()
        item = self._numbers("items", items)
        if isinstance(users, NewUser):
            model = replace(self.model_, user_factors=users.factors[None, :])
            return model.pairs(np.zeros(item.size, np.int64), item.ravel()).reshape(item.shape)
        user, item = np.broadcast_arrays(self._numbers("users", users), item)
        return self.model_.pairs(user.ravel(), item.ravel()).reshape(item.shape)

    def recommend(self, user: Any, n: int = 10, *, exclude_seen: bool = True) -> Recommendations:
        """Return the items with the highest scores for a user.

        Parameters
        ----------
        user : id
            Or the result of :meth:`fold_in`.
        n : int
            How many; there may be fewer.
        exclude_seen : bool
            Leave out items that the user has rated.

        Returns
        -------
        Recommendations
            ``items`` and ``scores``, best first.
        """
        self._require_fitted()
        if not isinstance(user, NewUser):
            return self.recommend_many([user], n, exclude_seen=exclude_seen)[0]
        seen = user.seen if exclude_seen else user.seen[:0]
        return self._top(user.factors[None, :], seen, np.array([0, len(seen)]), n)[0]

    def recommend_many(self, users: ArrayLike, n: int = 10, *, exclude_seen: bool = True) -> list[Recommendations]:
        """Return :meth:`recommend` for each of many user ids."""
        self._require_fitted()
        number = np.atleast_1d(self._numbers("users", users))
        seen = self.seen_
        size = np.where(number < 0, 0, seen.sizes[number]) if exclude_seen else np.zeros_like(number)
        offsets = np.concatenate(([0], np.cumsum(size)))
        rows = np.repeat(seen.offsets[number] - offsets[:-1], size) + np.arange(offsets[-1])
        return self._top(self.model_.users[number], seen.ascending[rows], offsets, n)

    def fold_in(self, items: ArrayLike, values: ArrayLike) -> NewUser:
        """Return a user who was not fitted on, from their ratings; for :meth:`predict` and :meth:`recommend`.

        The items stay as they are: only this user's factors are learned, in the same way as those of the others.

        Parameters
        ----------
        items, values : array
            Ids of the items that they rated, each once, and the ratings.

        Returns
        -------
        NewUser
            The factors, and what was seen.
        """
        self._require_fitted()
        item = np.atleast_1d(self._numbers("items", items))
        values = np.atleast_1d(np.asarray(values, dtype=np.float64))
        if values.shape != item.shape:
            raise ValueError(f"values must have one entry for each of the {len(item)} items; got shape {values.shape}")
        seen = np.sort(item[item >= 0])
        if (np.diff(seen) == 0).any():
            raise ValueError("an item is rated more than once: fold in one rating for each item")
        offsets, one_user = np.array([0, len(item)]), Ids(np.arange(1))
        given = self.seen_.replace(offsets=offsets, item=item, values=values, times=None, user_numbers=one_user)
        return NewUser(self._fold(given)[0], seen)

    def with_users(self, ratings: RatingData) -> Self:
        """Return the same ranker for other users, those of ``ratings``, all folded in at once."""
        self._require_fitted()
        other = copy(self)
        other.seen_ = self._renumbered(as_ratings(ratings))
        other.model_ = replace(self.model_, user_factors=self._fold(other.seen_))
        return other

    def score(self, ratings: RatingData, y: None = None, *, metric: str | Metric = "ndcg@10") -> float:
        """Return the mean of a metric over the users of ``ratings``, whose rated items are ranked by their scores."""
        self._require_fitted()
        return Validation(self._lists(as_ratings(ratings)), find_metric(metric)).judge(self.model_)

    def _renumbered(self, ratings: Ratings) -> Ratings:
        """Return ratings with this ranker's item numbers."""
        item = self._numbers("items", ratings.item_ids)[ratings.item]
        return ratings.replace(item=item, item_numbers=self.seen_.item_numbers)

    def _lists(self, ratings: Ratings) -> Queries:
        """Return ratings with this ranker's numbers of users and items as queries."""
        users = self._numbers("users", ratings.user_ids)[ratings.user]
        return as_queries(self._renumbered(ratings), users)

    def _top(self, factors: np.ndarray, seen: np.ndarray, offsets: np.ndarray, n: int) -> list[Recommendations]:
        require_count("n", n)
        matrices = np.ascontiguousarray(factors), self.model_.item_factors, self.model_.item_bias
        numbers, scores = top_items(matrices, seen, offsets, min(n, self.seen_.n_items))
        return [Recommendations(self.item_ids_[k[k >= 0]], s[k >= 0]) for k, s in zip(numbers, scores, strict=True)]

    def _numbers(self, what: Literal["users", "items"], ids: ArrayLike) -> np.ndarray:
        """Return the numbers of users or items by id, −1 for unknown ones unless these are refused."""
        numbers = (self.seen_.user_numbers if what == "users" else self.seen_.item_numbers).numbers(ids, what)
        if self.cold == "error" and (numbers < 0).any():
            first = np.asarray(ids).ravel().tolist()[np.flatnonzero(numbers.ravel() < 0)[0]]
            raise ValueError(
                f"{(numbers < 0).sum()} of the {what} were not among those fitted on, for example {first!r}; "
                'cold="average" scores them as the average one'
            )
        return numbers

    def _stored_fit(self) -> tuple[dict[str, Any], Arrays]:
        fitted, arrays = super()._stored_fit()
        users, items = self.seen_.user_numbers, self.seen_.item_numbers
        seen = {f"seen.{name}": value for name, value in self.seen_.to_arrays().items()}
        return fitted, {**arrays, **seen, "users": users.to_stored(), "items": items.to_stored()}

    def _restore_fit(self, fitted: dict[str, Any], arrays: Arrays) -> None:
        users, items = Ids.from_stored(arrays["users"]), Ids.from_stored(arrays["items"])
        self.seen_ = Ratings.from_arrays(named_under("seen", arrays), users, items)
        self.model_ = FactorModel.from_arrays(None, named_under("model", arrays))
        if (len(self.model_.user_factors), len(self.model_.item_factors)) != (len(users), len(items)):
            raise ValueError(f"the model's factors are not those of its {len(users)} users and {len(items)} items")
        super()._restore_fit(fitted, arrays)


class IterativeRatingRanker(RatingRanker):
    """A ranker whose factors start at random and are improved step by step.

    Parameters
    ----------
    random_state : int or numpy.random.Generator, optional
        Draws the first factors.
    verbose : int
        1 shows the progress of fits longer than a second, in a terminal and in notebooks as a bar, elsewhere as one
        line per step; 2 prints lines everywhere.
    """

    cold: str = "average"
    random_state: RandomState = None
    verbose: int = 0


def solved(model: FactorModel) -> Fit:
    """Return the fit of a model that needs no iterations."""
    return Fit(model, np.empty(0), Convergence(True, "solved exactly", n_iter=1))


def as_ratings(ratings: RatingData) -> Ratings:
    """Return ``ratings`` as Ratings, made of (users, items, values) if need be."""
    if isinstance(ratings, Ratings):
        return ratings
    if isinstance(ratings, RemoteRatings):
        raise ValueError("these ratings are on a cluster, where fit can learn from them; collect() brings them here")
    if not isinstance(ratings, tuple | list) or len(ratings) != 3:
        raise ValueError("ratings must be Ratings or three arrays (users, items, values)")
    return Ratings(*ratings)

"""What can be asked of a fitted ranker of ratings: scores, recommendations, similar items, reasons, new users."""

from dataclasses import replace
from typing import Any, Literal, overload

import numpy as np
from numpy.typing import ArrayLike

from podium.core.parameters import choice
from podium.rankers.fitted import FittedEstimator
from podium.ratings.data import Ratings
from podium.ratings.explaining import RatingExplanation, explain
from podium.ratings.factors.model import FactorModel
from podium.ratings.ids import Ids
from podium.ratings.recommending import NewUser, Recommendations, is_one_id, similar_items, top_blocks


class Recommender(FittedEstimator):
    """Base class of rankers of ratings: users and items by id, once the ranker has learned their factors.

    Parameters
    ----------
    cold : {"average", "error"}
        Users and items that were not fitted on are scored as the average one, or refused.
    """

    cold: str = choice("average", "error")

    model_: FactorModel
    seen_: Ratings

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
            return self._only(users).pairs(np.zeros(item.size, np.int64), item.ravel()).reshape(item.shape)
        user = self._numbers("users", users)
        shape = np.broadcast_shapes(user.shape, item.shape)
        user, item = (np.broadcast_to(numbers, shape).flatten() for numbers in (user, item))
        return self.model_.pairs(user, item).reshape(shape)

    def score_matrix(self, users: ArrayLike, items: ArrayLike | None = None) -> np.ndarray:
        """Return the scores of users for all items at once, by one matrix product: :meth:`predict` up to rounding.

        Parameters
        ----------
        users : array
            Ids.
        items : array, optional
            Ids; by default all items fitted on, in the order of ``item_ids_``.

        Returns
        -------
        numpy.ndarray
            (n_users, n_items) scores.
        """
        self._require_fitted()
        model = self.model_
        factors, bias = model.item_factors, model.item_bias
        if items is not None:
            number = np.atleast_1d(self._numbers("items", items))
            factors, bias = model.items[number], model.bias[number]
        scores = model.users[np.atleast_1d(self._numbers("users", users))] @ factors.T
        scores += bias
        return np.asarray(scores)

    @overload
    def recommend(
        self, users: list[Any] | np.ndarray | range, n: int = 10, *, exclude_seen: bool = True
    ) -> list[Recommendations]: ...

    @overload
    def recommend(self, users: Any, n: int = 10, *, exclude_seen: bool = True) -> Recommendations: ...

    def recommend(self, users: Any, n: int = 10, *, exclude_seen: bool = True) -> Any:
        """Return the items with the highest scores, for one user or for many.

        Parameters
        ----------
        users : id, NewUser, or many ids
            One id, or the result of :meth:`fold_in`; or a list, an array or a series of ids. A text or a tuple is one
            id. A user who was not fitted on is the average one, or refused, as ``cold`` says.
        n : int
            How many; there may be fewer.
        exclude_seen : bool
            Leave out items that the user has rated.

        Returns
        -------
        Recommendations, or a list of them
            ``items`` and ``scores``, best first; for many users one per user, in their order.

        Examples
        --------
        >>> import podium
        >>> ratings = (["ann", "ann", "bob", "cid"], ["up", "brazil", "up", "alien"], [5, 4, 3, 4])
        >>> ranker = podium.ItemMean(damping=1).fit(ratings)
        >>> ranker.recommend("bob", n=1).items.tolist()
        ['brazil']
        >>> [found.items.tolist() for found in ranker.recommend(["ann", "cid"])]
        [['alien'], ['up', 'brazil']]
        """
        self._require_fitted()
        if isinstance(users, NewUser):
            model, seen, numbers = self._only(users), users.ratings, np.zeros(1, np.int64)
        else:
            model, seen, numbers = self.model_, self.seen_, self._user_numbers(users)
        found = [
            Recommendations(self.item_ids_[items[items >= 0]], scores[items >= 0])
            for block in top_blocks(model, seen, numbers, n, exclude_seen=exclude_seen)
            for items, scores in zip(*block, strict=True)
        ]
        return found[0] if isinstance(users, NewUser) or is_one_id(users) else found

    def similar_items(self, item: Any, n: int = 10) -> Recommendations:
        """Return the items whose factors point in the most similar direction: people who like one like the other.

        The similarity is the cosine of the items' factors, computed for all items; biases do not count, so that an
        item that everybody likes is not similar to all others. With ``priors``, their factors count too.

        Parameters
        ----------
        item : id
            One of ``item_ids_``.
        n : int
            How many; there may be fewer.

        Returns
        -------
        Recommendations
            ``items``, the most similar first and without the item itself, and their cosines as ``scores``.

        Raises
        ------
        ValueError
            If the item was not fitted on, or the ranker has no factors, such as :class:`podium.ItemMean`.

        Examples
        --------
        >>> import podium
        >>> ranker = podium.PMF(n_factors=2, random_state=0).fit(podium.make_ratings(40, 30, 800))
        >>> found = ranker.similar_items(7, n=3)
        >>> len(found.items), bool((abs(found.scores) <= 1).all())
        (3, True)
        """
        self._require_factors("compare items by")
        number = self._known_number("items", item)
        items, cosines = similar_items(self.model_, number, n)
        return Recommendations(self.item_ids_[items], cosines)

    def explain(self, user: Any, item: Any, n: int | None = None) -> RatingExplanation:
        """Say which of a user's ratings speak for an item.

        The user is folded in with all ratings and again without each of them, all at once and with the items and
        the priors' items held fixed: a rating's contribution is the item's score with it minus the score without it.

        Parameters
        ----------
        user : id or NewUser
            A user who was fitted on, or the result of :meth:`fold_in`.
        item : id
            One of ``item_ids_``, rated by the user or not.
        n : int, optional
            Keep the n largest contributions, by size; by default all.

        Returns
        -------
        RatingExplanation
            ``reasons``, the largest first; a notebook shows them as bars.

        Raises
        ------
        ValueError
            If the user or the item was not fitted on, or the ranker ranks alike for everybody.

        Examples
        --------
        >>> import podium
        >>> ratings = podium.make_ratings(40, 30, 800)
        >>> ranker = podium.PMF(n_factors=2, random_state=0).fit(ratings)
        >>> best = ranker.recommend(3, n=1).items[0]
        >>> why = ranker.explain(3, best, n=2)
        >>> len(why.reasons), why.n_ratings == int(ratings.sizes[3])
        (2, True)
        """
        self._require_factors("explain by")
        number = self._known_number("items", item)
        if isinstance(user, NewUser):
            name, given = "a new user", user.ratings
        else:
            name, given = f"user {user}", self.seen_.take_users([self._known_number("users", user)])
        return explain(self.model_, self._fold, given, number, n, (name, item))

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
        if not np.isfinite(values).all():
            raise ValueError("values must be finite numbers: leave out items that are not rated")
        if (np.diff(np.sort(item[item >= 0])) == 0).any():
            raise ValueError("an item is rated more than once: fold in one rating for each item")
        offsets, one_user = np.array([0, len(item)]), Ids(np.arange(1))
        given = self.seen_.replace(offsets=offsets, item=item, values=values, times=None, user_numbers=one_user)
        return NewUser(self._fold(given)[0], given)

    def _only(self, user: NewUser) -> FactorModel:
        """Return the model of this user alone, whose number is 0."""
        return replace(self.model_, user_factors=user.factors[None, :])

    def _require_factors(self, use: str) -> None:
        self._require_fitted()
        if not self.model_.item_factors.shape[1]:
            raise ValueError(f"{type(self).__name__} has no factors to {use}: it ranks items alike for everybody")

    def _user_numbers(self, users: Any) -> np.ndarray:
        """Return the numbers of one user or of many, in one dimension."""
        if isinstance(users, tuple) and self.seen_.user_ids.dtype != object:
            raise ValueError(f"a tuple is one id, and no user has the id {users!r}: give many users as a list")
        numbers = np.atleast_1d(self._numbers("users", users))
        if numbers.ndim > 1:
            raise ValueError(f"users must be one id or a list of ids; got an array of shape {numbers.shape}")
        return numbers

    def _known_number(self, what: Literal["users", "items"], one: Any) -> int:
        """Return the number of one user or item; raise ValueError if it was not fitted on."""
        number = self._numbers(what, one)
        if number.shape != () or number < 0:
            advice = "; fold_in makes a new user of their ratings" if what == "users" else ""
            raise ValueError(f"{one!r} is not the id of one of the {what} fitted on{advice}")
        return int(number)

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

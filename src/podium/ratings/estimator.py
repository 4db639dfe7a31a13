"""The base class of all rankers of ratings: fitting, judging, other users, saving."""

from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from podium.core.arrays import Arrays, named_under
from podium.core.random_state import RandomState
from podium.data.clicks import Clicks
from podium.data.queries import Queries
from podium.metrics.definition import Metric
from podium.metrics.definition import metric as find_metric
from podium.rankers.methods import MethodTable
from podium.ratings.data import Ratings
from podium.ratings.factors.model import FactorModel
from podium.ratings.factors.scorer import as_queries
from podium.ratings.ids import Ids
from podium.ratings.recommender import Recommender
from podium.ratings.remote import RemoteRatings
from podium.training.bar import fit_shown
from podium.training.base import Convergence, Fit, Progress, Validation

__all__ = ["RatingRanker"]

RATING_METHODS = MethodTable()
"""The methods that learn from ratings. Each is added beside the class that implements it."""
RatingData = Ratings | tuple[ArrayLike, ArrayLike, ArrayLike]
"""Ratings, or (users, items, values)."""


class RatingRanker(Recommender):
    """An estimator that learns from users' ratings of items; its scores are ``b_i + W_u · H_i``.

    A subclass says how to ``_train`` and, if it has factors, how to ``_fold`` in new users.

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

    def fit(
        self,
        ratings: RatingData | RemoteRatings | Clicks,
        eval_set: RatingData | RemoteRatings | None = None,
        *,
        bias: Any = None,
        features: Mapping[str, Any] | None = None,
        eval_metric: str | Metric = "ndcg@10",
        callback: Callable[[Progress], Any] | None = None,
    ) -> Self:
        """Learn from ratings and, where they are given, from features of users and items.

        Parameters
        ----------
        ratings : Ratings, or (users, items, values)
            Or ratings on a cluster (:mod:`podium.dask`), for factors that L-BFGS trains on a loss. Or, for factors that
            are trained on a loss, a log of clicks (:class:`podium.Clicks`) whose queries are users and whose documents
            are items.
        eval_set : Ratings, or (users, items, values), optional
            Held-out ratings of the same users, for early stopping and for choosing an iteration. Those on a cluster are
            brought to this process, which has the factors of all users.
        bias : object or "naive"
            With clicks: what places did to them, an estimate of :mod:`podium.clicks`; ``"naive"`` takes clicks per
            impression as they are.
        features : mapping, optional
            Features of ``"items"`` and ``"users"``, or of one of them, for factors that are trained on a loss: frames
            with a column ``item`` or ``user`` of ids, pairs (ids, matrix), or :class:`podium.FeatureTable`. Numbers are
            standardized, texts and lists of texts have a column per label. Users and items without ratings are known
            by their features; those without features are the average one until their ratings say otherwise.
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
        ratings = self._as_ratings(ratings, bias)
        if features and beside:
            raise ValueError("features cannot be learned on a cluster: fit in this process, on ratings.collect()")
        ratings = self._with_features(ratings, features or {})
        if len(ratings) == 0:
            raise ValueError("0 sample(s): there is no rating to learn from, and a minimum of 1 is required.")
        self.seen_ = ratings
        if eval_set is None:
            ratings, validation = self._hold_out(ratings, eval_metric)
        else:
            held_out = eval_set.collect() if isinstance(eval_set, RemoteRatings) else as_ratings(eval_set)
            validation = self._validation(ratings, held_out, eval_metric)
        with fit_shown(getattr(self, "verbose", 0), callback) as told:
            return self._set_fit(self._train(ratings, validation, told, *beside))

    def _as_ratings(self, given: RatingData | Clicks, bias: Any) -> Ratings:
        """Return what ``fit`` was given as ratings; clicks only if this ranker knows what to make of them."""
        if isinstance(given, Clicks):
            raise ValueError(
                f"{type(self).__name__} does not learn from logs of clicks, whose labels are drawn for a loss: "
                "podium.FactorRanker(loss), podium.PMOPFactors() and podium.PlackettLuceFactors() do"
            )
        if bias is not None:
            raise ValueError("bias goes with Clicks only")
        return as_ratings(given)

    @property
    def stops_by_ratings(self) -> bool:
        """Whether held-out ratings are to end a fit, in a search that judges its settings by the same ratings."""
        return True

    def _with_features(self, ratings: Ratings, features: Mapping[str, Any]) -> Ratings:
        """Note the features; return the ratings with all users and items that have some."""
        if features:
            raise ValueError(
                f"{type(self).__name__} takes no features of users or items: podium.FactorRanker(loss), "
                "podium.PMOPFactors() and podium.PlackettLuceFactors() do"
            )
        return ratings

    def _require_remote(self) -> None:
        """Raise ValueError, naming what can, unless this ranker can be trained on ratings that are on a cluster."""
        raise ValueError(
            f"{type(self).__name__} cannot be trained on a cluster: it does not minimize a loss by L-BFGS. "
            "podium.FactorRanker(loss), podium.PMOPFactors() and podium.PlackettLuceFactors() can; or fit it in this "
            "process, on ratings.collect()"
        )

    def _validation(self, known: Ratings, held_out: Ratings, eval_metric: str | Metric) -> Validation | None:
        """Return what judges a model by held-out ratings while it is trained on the ``known`` ones."""
        return Validation.by(eval_metric, self._lists(held_out))

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

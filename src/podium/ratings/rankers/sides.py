"""Rankers of ratings that know features of users and items, and so can rank what nobody has rated yet."""

from collections.abc import Mapping
from copy import copy
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Self

import numpy as np

from podium.core.arrays import Arrays, require_array
from podium.core.parameters import number
from podium.ratings.data import Ratings
from podium.ratings.factors.model import FactorModel
from podium.ratings.factors.scorer import Factors
from podium.ratings.factors.sided import FeatureWeights, SidedFactors, SidedParameters
from podium.ratings.features import Encoding, FeatureTable, as_feature_tables
from podium.ratings.ids import Ids
from podium.ratings.rankers.probable import ProbableRatingRanker
from podium.scorers.base import Scorer

_OF_FACTORS = 8.0
"""The default penalty of features' weights, as a multiple of that of factors: a few weights, which all items share."""
_IN_BIASES = 7.0
"""Times that in biases, which every rating bears on."""


class SidedRatingRanker(ProbableRatingRanker):
    """A ranker whose factors are learned around a linear function of features of users and items, if there are any.

    Parameters
    ----------
    feature_regularization : float, optional
        Penalty on the weights in factors of features given to ``fit``, by default eight times that of factors; those
        in biases have seven times as much.
    """

    feature_regularization: float | None = number(None, at_least=0)

    encodings_: Mapping[str, Encoding] = MappingProxyType({})
    feature_weights_: FeatureWeights | None = None
    _matrices: Mapping[str, np.ndarray] = MappingProxyType({})
    """While it is trained, the encoded features by side."""

    def _with_features(self, ratings: Ratings, features: Mapping[str, Any]) -> Ratings:
        matrices: dict[str, np.ndarray] = {}
        encodings: dict[str, Encoding] = {}
        self.encodings_, self.feature_weights_, self._matrices = encodings, None, matrices
        for side, table in as_feature_tables(features):
            ratings = with_ids(ratings, side, table)
            encodings[side] = encoding = Encoding.of(table)
            numbers = _numbers_of(ratings, side)
            matrices[side] = np.zeros((len(numbers), len(encoding.names())))
            matrices[side][numbers.numbers(table.ids)] = encoding(table)
        return ratings

    def with_features(self, features: Mapping[str, Any]) -> Self:
        """Return the same ranker with users and items besides, who are known by their features alone.

        Parameters
        ----------
        features : mapping
            As for :meth:`fit`, with the columns that were there. Ids that the ranker knows stay as they are.

        Returns
        -------
        RatingRanker
            A copy; this ranker does not change.

        Examples
        --------
        >>> import podium
        >>> ratings = podium.make_ratings(40, 30, 800)
        >>> kinds = [[float(i % 3 == k) for k in range(3)] for i in range(31)]
        >>> ranker = podium.PMOPFactors(n_factors=2, random_state=0)
        >>> ranker = ranker.fit(ratings, features={"items": (range(30), kinds[:30])})
        >>> more = ranker.with_features({"items": ([30], kinds[30:])})
        >>> len(ranker.item_ids_), len(more.item_ids_), more.predict(0, 30).shape
        (30, 31, ())
        """
        self._require_fitted()
        if getattr(self, "priors_", ()):
            raise ValueError("priors know nothing of features: with_features needs a ranker that was fitted without")
        other = copy(self)
        for side, table in as_feature_tables(features):
            if self.feature_weights_ is None or side not in self.encodings_:
                raise ValueError(f"this ranker was fitted without features of {side}")
            before = len(_numbers_of(other.seen_, side))
            other.seen_ = with_ids(other.seen_, side, table)
            numbers = _numbers_of(other.seen_, side)
            is_new = numbers.numbers(table.ids) >= before
            more = self.encodings_[side](table)[is_new]
            weights, model = self.feature_weights_, other.model_
            if side == "users":
                other.model_ = replace(model, user_factors=np.vstack((model.user_factors, more @ weights.users)))
            else:
                factors = np.vstack((model.item_factors, more @ weights.items))
                other.model_ = replace(
                    model, item_factors=factors, item_bias=np.append(model.item_bias, more @ weights.bias)
                )
        return other

    def _sided(self, scorer: Factors) -> Scorer:
        """Return the scorer with features, if ``fit`` was given any."""
        if not self._matrices:
            return scorer
        none = np.zeros((scorer.n_users, 0)), np.zeros((scorer.n_items, 0))
        users, items = (self._matrices.get(s, empty) for s, empty in zip(("users", "items"), none, strict=True))
        usual = _OF_FACTORS * scorer.l2 if scorer.n_factors else scorer.bias_l2 or 0.0
        l2 = usual if self.feature_regularization is None else float(self.feature_regularization)
        return SidedFactors(scorer, users, items, l2, _IN_BIASES * l2)

    def _of_features(self, fitted: SidedParameters, ratings: Ratings) -> FactorModel:
        """Keep what features say; return the factors, those of users and items without ratings by features alone."""
        self.feature_weights_ = weights = fitted.weights
        model = fitted.factors()
        users, items, bias = model.user_factors.copy(), model.item_factors.copy(), model.item_bias.copy()
        if "items" in self._matrices:
            unrated = ratings.item_counts() == 0
            features = self._matrices["items"][unrated]
            items[unrated], bias[unrated] = features @ weights.items, features @ weights.bias
        if "users" in self._matrices:
            unrated = ratings.sizes == 0
            users[unrated] = self._matrices["users"][unrated] @ weights.users
        self._matrices = {}  # which are needed no longer
        return FactorModel(users, items, bias)

    def _stored_fit(self) -> tuple[dict[str, Any], Arrays]:
        fitted, arrays = super()._stored_fit()
        if self.feature_weights_ is None:
            return fitted, arrays
        fitted["features"] = {side: encoding.to_json() for side, encoding in self.encodings_.items()}
        weights = {f"feature_weights.{name}": value for name, value in self.feature_weights_._asdict().items()}
        return fitted, {**arrays, **weights}

    def _restore_fit(self, fitted: dict[str, Any], arrays: Arrays) -> None:
        super()._restore_fit(fitted, arrays)
        self.encodings_, self.feature_weights_ = {}, None
        if "features" not in fitted:
            return
        self.encodings_ = {side: Encoding.from_json(facts) for side, facts in fitted["features"].items()}
        if not set(self.encodings_) <= {"users", "items"}:
            raise ValueError("the model has features of something that is neither users nor items")
        n_users, n_items = (
            len(self.encodings_[side].names()) if side in self.encodings_ else 0 for side in ("users", "items")
        )
        width: int = self.get_params()["n_factors"]
        shapes = {"users": (n_users, width), "items": (n_items, width), "bias": (n_items,)}
        self.feature_weights_ = FeatureWeights(
            **{name: require_array(arrays, f"feature_weights.{name}", shape) for name, shape in shapes.items()}
        )


def with_ids(ratings: Ratings, side: str, table: FeatureTable) -> Ratings:
    """Return the ratings with further users or items, those of a table that they do not have."""
    known = _numbers_of(ratings, side)
    try:
        new = table.ids[known.numbers(table.ids) < 0]
    except ValueError:
        raise ValueError(
            f"{table.where}: ids are of type {table.ids.dtype}, but those of the ratings of type {known.ids.dtype}"
        ) from None
    both = Ids(np.concatenate((known.ids, new)))
    if side == "items":
        return ratings.replace(item_numbers=both)
    offsets = np.append(ratings.offsets, np.full(len(new), ratings.offsets[-1]))
    return ratings.replace(user_numbers=both, offsets=offsets)


def _numbers_of(ratings: Ratings, side: str) -> Ids:
    return ratings.user_numbers if side == "users" else ratings.item_numbers

"""Rankers of ratings to start from: fitted on all ratings, and scoring each rating without having seen it.

How much to trust another ranker can only be learned from scores of ratings that it was not fitted on. So the ratings
are divided into folds, each user's as evenly as possible, and scored by rankers fitted on the other folds.
"""

from collections.abc import Sequence

import numpy as np
from sklearn.base import clone

from podium.core.random_state import RandomState, seed_of
from podium.numerics.blas import quiet_blas
from podium.ratings.data import Ratings
from podium.ratings.estimator import RatingRanker
from podium.ratings.factors.model import FactorModel
from podium.ratings.rankers.floors import GlobalRanking, ItemMean
from podium.ratings.rankers.pmf import PMF
from podium.ratings.rankers.taste import TasteFactors
from podium.ratings.splits import random_places


def standard_priors(random_state: RandomState = None) -> list[RatingRanker]:
    """Return rankers by what is worth knowing beforehand: items' quality and popularity, two views of users' tastes."""
    seed = seed_of(random_state)
    return [
        ItemMean(),
        GlobalRanking(by="log popularity"),
        PMF(n_factors=8, l2=9.0, max_iter=200, tol=1e-3, random_state=seed),
        TasteFactors(by="rated", random_state=seed),
        TasteFactors(by="ratings", random_state=seed),
    ]


def fitted_prior(prior: RatingRanker, ratings: Ratings) -> RatingRanker:
    """Return a copy of the ranker, fitted on these ratings."""
    if not isinstance(prior, RatingRanker):
        raise ValueError(f"priors must be rankers of ratings, such as podium.ItemMean(); got {prior!r}")
    ranker: RatingRanker = clone(prior)
    ranker.check_parameters()
    ranker.seen_ = ratings
    with quiet_blas():
        return ranker._set_fit(ranker._train(ratings))


def out_of_fold(priors: Sequence[RatingRanker], ratings: Ratings, n_folds: int, rng: np.random.Generator) -> np.ndarray:
    """(n_ratings, n_priors) scores of the ratings by rankers that did not see them."""
    scores = np.empty((len(ratings), len(priors)))
    if not priors:
        return scores
    # Folds at random, each user's ratings spread evenly over them and starting in any.
    place = random_places(ratings.offsets, rng)
    fold = (place + rng.integers(n_folds, size=ratings.n_users)[ratings.user]) % n_folds
    for k in range(n_folds):
        held_out = fold == k
        rest = ratings.take(~held_out)
        for p, prior in enumerate(priors):
            model = centered(fitted_prior(prior, rest).model_)
            scores[held_out, p] = model.pairs(ratings.user[held_out], ratings.item[held_out])
    return scores


def centered(model: FactorModel) -> FactorModel:
    """Return a model with the same ranking in which every user's scores have mean 0 over the items.

    A user's level does not matter to a ranking, but would leak in out-of-fold scores: it is low where a high rating is
    held out.
    """
    items, bias = model.item_factors, model.item_bias
    return FactorModel(model.user_factors, items - items.mean(axis=0), bias - bias.mean())


def combine(model: FactorModel, others: Sequence[FactorModel], weights: np.ndarray) -> FactorModel:
    """Return one model whose scores are those of ``model`` plus the weighted ones of the others: factors in a row."""
    return FactorModel(
        np.hstack([model.user_factors, *(a * other.user_factors for a, other in zip(weights, others, strict=True))]),
        np.hstack([model.item_factors, *(other.item_factors for other in others)]),
        model.item_bias + sum(a * other.item_bias for a, other in zip(weights, others, strict=True)),
    )

"""The base class of rankers whose factors are trained on a loss: training, priors, new users, probabilities, saving."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone

from podium.core.arrays import Arrays, named_under, require_array
from podium.core.parameters import require_choice, require_count, require_number
from podium.core.random_state import RandomState, as_generator, seed_of
from podium.losses import PMOPLoss
from podium.losses.base import Loss
from podium.metrics.definition import Metric, metric
from podium.numerics.subsets.answers import best_group
from podium.rankers.presets.pmop import PairProbabilities, pairs_in_lists, potential_kind
from podium.ratings.estimator import RatingData, RatingRanker, as_ratings
from podium.ratings.evaluation import log_likelihoods
from podium.ratings.factors.fold_in import fold_users
from podium.ratings.factors.model import FactorModel
from podium.ratings.factors.scorer import FactorParameters, Factors, as_queries
from podium.ratings.lists import RatingLists
from podium.ratings.priors import centered, combine, fit_priors, out_of_fold, standard_priors
from podium.ratings.problem import RatingProblem
from podium.ratings.splits import random_places
from podium.training.base import Fit, Problem, Trainer, Validation
from podium.training.lbfgs import LBFGS
from podium.training.stochastic import Stochastic

_SUMMED, _AVERAGED = 2.0, 0.05
"""Default penalties for losses that are sums over a list and for those that are means."""


class FactorPreset(RatingRanker):
    """Factors trained on the loss of a subclass.

    Parameters
    ----------
    n_factors : int
        With 0, only the biases and the priors are left.
    regularization, bias_regularization : float, optional
        By default 2 for PMOP and Plackett-Luce, which are sums over a list, and 0.05 for losses that are means. 0 is
        none.
    biases : bool
        Whether items have a score of their own, the same for all users. (One for users would not change a ranking.)
    priors : sequence of rankers of ratings, or "standard"
        Rankers to start from: their scores are added with weights learned on the same loss, from out-of-fold scores.
        ``"standard"`` means the items' damped means and popularity, regularized least squares, and taste from who
        rated what: with few ratings per user, these are most of what can be known.
    n_folds : int
        The number of parts into which ratings are divided to learn the weights of the priors.
    init : {"normal", "uniform"}
        Initial factors: normal with deviation 0.1, or uniform between 0 and 0.5 as in the paper.
    trainer : Trainer, optional
        :class:`podium.training.LBFGS` (all ratings at once) or :class:`podium.training.Stochastic` (``batch_size``
        users at a time). By default the former if the loss has a gradient, otherwise the latter.
    early_stopping : float, optional
        Hold out this share of each user's ratings and return the iteration with the best ``eval_metric`` on them.
        Ratings given to ``fit`` as ``eval_set`` have the same effect.
    cold : {"average", "error"}
        Users and items that were not fitted on are scored as the average one, or refused. With ``"average"``, so are
        items that have no training rating.
    random_state : int, optional
        The same number gives the same bits, whatever the number of threads.
    verbose : int
        1 prints one line per iteration.
    """

    n_factors: int = 10
    regularization: float | None = None
    biases: bool = True
    bias_regularization: float | None = None
    priors: Sequence[RatingRanker] | str = ()
    n_folds: int = 10
    init: str = "normal"
    trainer: Trainer | None = None
    early_stopping: float | None = None
    cold: str = "average"
    random_state: RandomState = None
    verbose: int = 0

    prior_weights_: np.ndarray
    priors_: list[RatingRanker]

    def _loss(self) -> Loss:
        """Return the loss of a user's list."""
        raise NotImplementedError

    def _priors(self) -> Sequence[RatingRanker]:
        if isinstance(self.priors, str):
            require_choice("priors", self.priors, ("standard",))
            return standard_priors(self.random_state)
        return self.priors

    def _hold_out(self, lists: RatingLists, eval_metric: str | Metric) -> tuple[RatingLists, Validation | None]:
        """Hold out the share ``early_stopping`` of each user's ratings, at random; at least one rating is left."""
        share = self.early_stopping
        if share is None:
            return lists, None
        require_number("early_stopping", share, above=0.0)
        if share >= 1:
            raise ValueError(f"early_stopping is a share of the ratings, below 1; got {share!r}")
        n_aside = np.minimum(np.round(share * lists.sizes), lists.sizes - 1)
        aside = random_places(lists.offsets, as_generator(self.random_state)) < n_aside[lists.users]
        held_out = lists.where(aside)
        return lists.where(~aside), Validation(as_queries(held_out, held_out.users), metric(eval_metric))

    def _train(self, problem: RatingProblem) -> Fit:
        self._check()
        lists, rng = problem.lists, as_generator(self.random_state)
        self.priors_ = fit_priors(self._priors(), lists, self.users_, self.items_)
        others = [centered(prior.model_) for prior in self.priors_]
        scores = out_of_fold(self.priors_, lists, self.n_folds, rng)
        spread = scores.std(axis=0)  # a penalty treats all weights alike, so they must be comparable
        scale = np.divide(1.0, spread, where=spread > 1e-12, out=np.zeros_like(spread))
        l2, bias_l2 = self._penalties()
        validation = problem.validation
        fit = self._trainer(validation is not None).fit(
            Problem(
                loss=self._loss(),
                scorer=Factors(
                    len(lists), lists.n_items, self.n_factors, l2, bias_l2 if self.biases else None, self.init
                ),
                queries=as_queries(lists, lists.users, scores * scale),
                validation=None if validation is None else _with_prior_scores(validation, others, scale),
                rng=rng,
                callback=problem.callback,
                verbose=self.verbose,
                scales_penalties=False,  # a user's penalty weighs against all of that user's ratings
            )
        )
        assert isinstance(fit.model, FactorParameters)
        self.prior_weights_ = fit.model.mix * scale
        own = _unrated_as_average(fit.model.factors(), lists)
        return replace(fit, model=combine(own, others, self.prior_weights_))

    def _trainer(self, validated: bool) -> Trainer:
        if self.trainer is not None:
            return self.trainer
        if not self._loss().has_gradient:
            return Stochastic(epochs=50, batch_size=64, learning_rate=0.05)
        return LBFGS(tolerance=1e-7, select="best" if validated else "last", patience=20 if validated else None)

    def _fold(self, lists: RatingLists) -> np.ndarray:
        from_priors = [a * prior._fold(lists) for a, prior in zip(self.prior_weights_, self.priors_, strict=True)]
        factors = np.hstack([np.zeros((len(lists), self.n_factors)), *from_priors])
        model = replace(self.model_, user_factors=factors)
        loss = self._loss()
        if not loss.has_gradient:  # a sampler; the likelihood that it samples has one
            loss = loss.likelihood() or loss
        factors[:, : self.n_factors] = fold_users(
            loss.bind(lists.values, lists.offsets),
            self.loss_parameters_,
            np.ascontiguousarray(model.items[:, : self.n_factors]),
            lists,
            model.pairs(lists.users, lists.items),
            self._penalties()[0],
        )
        return factors

    def log_likelihood(self, ratings: RatingData, *, per_user: bool = False) -> float | np.ndarray:
        """Return the log-probability of the users' lists under the model: the mean over users, or one per user.

        For losses that are likelihoods. Users are in order of their first appearance in ``ratings``.
        """
        self._require_fitted()
        values = log_likelihoods(self, as_ratings(ratings))
        return values if per_user else float(values.mean())

    def top_probability(self, user: Any, items: ArrayLike) -> np.ndarray:
        """(n_items,) probability that each of the items is in the user's best group of them; exact, for PMOP losses."""
        return best_group(*self._one_list(user, items))

    def pair_probabilities(
        self, user: Any, items: ArrayLike, first: ArrayLike, second: ArrayLike, *, n_samples: int = 10_000
    ) -> PairProbabilities:
        """Return the probabilities that the user ranks ``first`` above, ties it with or ranks it below ``second``.

        Both are positions in ``items``, single ones or arrays of equal length. For PMOP losses; estimated from
        ``n_samples`` partitions of the items drawn from the model, as in :meth:`podium.PMOP.pair_probabilities`.
        """
        i, j = (np.atleast_1d(np.asarray(places, np.int64)) for places in (first, second))
        return pairs_in_lists(*self._one_list(user, items), i, j, n_samples, seed_of(self.random_state))

    def _one_list(self, user: Any, items: ArrayLike) -> tuple[int, np.ndarray, np.ndarray]:
        """Return the kind of potential, the user's scores of the items, and the offsets of this one list."""
        self._require_fitted()
        loss = self._loss()
        if not isinstance(loss, PMOPLoss):
            raise ValueError(f"probabilities of groups need PMOPLoss; this ranker has {loss!r}")
        scores = np.atleast_1d(self.predict(user, items))
        return potential_kind(loss.potential), scores, np.array([0, len(scores)])

    def _penalties(self) -> tuple[float, float]:
        """Return the penalties of factors and of biases."""
        loss = self._loss()
        is_sum = loss.likelihood() is not None and not getattr(loss, "normalize", False)
        default = _SUMMED if is_sum else _AVERAGED
        l2, bias_l2 = self.regularization, self.bias_regularization
        return default if l2 is None else float(l2), default if bias_l2 is None else float(bias_l2)

    def _check(self) -> None:
        require_count("n_factors", self.n_factors, at_least=0)
        require_count("n_folds", self.n_folds, at_least=2)
        require_choice("init", self.init, ("normal", "uniform"))
        for name in ("regularization", "bias_regularization"):
            if getattr(self, name) is not None:
                require_number(name, getattr(self, name), at_least=0.0)

    def _stored_fit(self) -> tuple[dict[str, Any], Arrays]:
        fitted, own = super()._stored_fit()
        arrays = {**own, "prior_weights": self.prior_weights_}
        fitted["priors"] = []
        for k, prior in enumerate(self.priors_):
            facts, of_prior = prior._stored_fit()
            fitted["priors"].append(facts)
            arrays.update({f"prior{k}.{name}": value for name, value in of_prior.items() if not _is_shared(name)})
        return fitted, arrays

    def _restore_fit(self, fitted: dict[str, Any], arrays: Arrays) -> None:
        super()._restore_fit(fitted, arrays)
        self.priors_ = [clone(prior) for prior in self._priors()]
        self.prior_weights_ = require_array(arrays, "prior_weights", (len(self.priors_),))
        shared = {name: value for name, value in arrays.items() if _is_shared(name)}
        for k, (prior, facts) in enumerate(zip(self.priors_, fitted["priors"], strict=True)):
            prior._restore_fit(facts, {**shared, **named_under(f"prior{k}", arrays)})


def _is_shared(name: str) -> bool:
    """Return whether a ranker and its priors store the same array under this name."""
    return name in ("users", "items") or name.startswith("seen.")


def _with_prior_scores(validation: Validation, priors: Sequence[FactorModel], scale: np.ndarray) -> Validation:
    """Return the validation ratings with the priors' scores as further features."""
    queries = validation.queries
    scores = [factor * prior.scores(queries) for factor, prior in zip(scale, priors, strict=True)]
    return replace(validation, queries=queries.with_features(np.column_stack((queries.features, *scores))))


def _unrated_as_average(model: FactorModel, lists: RatingLists) -> FactorModel:
    """Return the model with items that nobody rated, which are where they started, as the average of the others."""
    rated = lists.item_counts() > 0
    factors, bias = model.item_factors.copy(), model.item_bias.copy()
    factors[~rated], bias[~rated] = factors[rated].mean(axis=0), bias[rated].mean()
    return FactorModel(model.user_factors, factors, bias)

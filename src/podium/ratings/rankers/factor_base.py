"""What all rankers with users and items as factors share: training, folding in, probabilities, saving."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import clone

from podium.core.arrays import Arrays, require_array
from podium.core.parameters import require_choice, require_count, require_number
from podium.losses import PMOPLoss
from podium.losses.base import Loss
from podium.rankers.inputs import as_generator
from podium.rankers.presets.listwise import seed_of
from podium.rankers.presets.pmop import PairProbabilities, pairs_in_lists, potential_kind
from podium.ratings.estimator import FactorFit, RatingRanker, RatingValidation, as_ratings
from podium.ratings.factors.fold_in import fold_users
from podium.ratings.factors.model import FactorModel
from podium.ratings.factors.parameters import FactorParameters, Factors, as_queries
from podium.ratings.lists import RatingLists
from podium.ratings.priors import centred, combine, fit_priors, out_of_fold, standard_priors
from podium.training.base import Problem, Progress, Trainer, Validation
from podium.training.lbfgs import LBFGS
from podium.training.stochastic import Stochastic
from podium.training.threads import threads_for

_SUMMED, _AVERAGED = 2.0, 0.05
"""Usual penalties for losses that add up over a list and for those that are averages over it."""


class FactorPreset(RatingRanker):
    """Factors trained on the loss of the subclass; the parameters are those of :class:`FactorRanker`."""

    prior_weights_: np.ndarray
    priors_: list[RatingRanker]

    def __init__(
        self,
        n_factors: int = 10,
        regularization: float | None = None,
        biases: bool = True,
        bias_regularization: float | None = None,
        priors: Any = (),
        n_folds: int = 10,
        init: str = "normal",
        trainer: Trainer | None = None,
        early_stopping: float | None = None,
        cold: str = "average",
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.n_factors = n_factors
        self.regularization = regularization
        self.biases = biases
        self.bias_regularization = bias_regularization
        self.priors = priors
        self.n_folds = n_folds
        self.init = init
        self.trainer = trainer
        self.early_stopping = early_stopping
        self.cold = cold
        self.random_state = random_state
        self.verbose = verbose

    def _loss(self) -> Loss:
        """What a user's list costs."""
        raise NotImplementedError

    def _priors(self) -> Sequence[RatingRanker]:
        if isinstance(self.priors, str):
            require_choice("priors", self.priors, ("standard",))
            return standard_priors(self.random_state)
        return self.priors

    def _set_aside(self, lists: RatingLists, eval_metric: Any) -> tuple[RatingLists, RatingValidation | None]:
        from podium.metrics import metric

        if self.early_stopping is None:
            return lists, None
        require_number("early_stopping", self.early_stopping, above=0.0)
        if self.early_stopping >= 1:
            raise ValueError(f"early_stopping is a share of the ratings, below 1; got {self.early_stopping!r}")
        return _hold_out(lists, self.early_stopping, as_generator(self.random_state), metric(eval_metric))

    def _train(
        self,
        lists: RatingLists,
        validation: RatingValidation | None,
        callback: Callable[[Progress], Any] | None,
    ) -> FactorFit:
        self._check()
        rng = as_generator(self.random_state)
        self.priors_ = fit_priors(self._priors(), lists, self.users_, self.items_)
        others = [centred(prior.model_) for prior in self.priors_]
        features = out_of_fold(self.priors_, lists, self.n_folds, rng)
        spread = features.std(axis=0)  # a penalty treats weights alike: let them be comparable
        scale = np.divide(1.0, spread, where=spread > 1e-12, out=np.zeros_like(spread))
        l2, bias_l2 = self._penalties()
        scorer = Factors(len(lists), lists.n_items, self.n_factors, l2, bias_l2 if self.biases else None, self.init)
        problem = Problem(
            loss=self._loss(),
            scorer=scorer,
            queries=as_queries(lists, lists.users, features * scale),
            validation=None if validation is None else _as_queries(validation, others, scale),
            rng=rng,
            callback=callback,
            verbose=self.verbose,
        )
        trainer = self._trainer(validation is not None)
        with threads_for(_work(problem, trainer)):
            fit = trainer.fit(problem)
        assert isinstance(fit.model, FactorParameters)
        self.prior_weights_ = fit.model.mix * scale
        own = _unrated_as_average(fit.model.factors(), lists)
        return FactorFit(combine(own, others, self.prior_weights_), fit.convergence, fit.loss_parameters)

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
        if not loss.has_gradient:  # a sampler; what it samples has one
            loss = loss.likelihood() or loss
        factors[:, : self.n_factors] = fold_users(
            loss.bind(lists.values, lists.offsets),
            self.loss_parameters_,
            np.ascontiguousarray(model.items[:, : self.n_factors]),
            lists,
            model.scores(lists.users, lists.items),
            self._penalties()[0],
        )
        return factors

    def log_likelihood(self, ratings: Any, *, per_user: bool = False) -> Any:
        """Log-probability of the users' lists under the model, natural logarithm: the mean over users, or each one's.

        For losses that are likelihoods. Users are in order of their first appearance in ``ratings``.
        """
        from podium.ratings.evaluation import log_likelihoods

        self._require_fitted()
        values = log_likelihoods(self, as_ratings(ratings))
        return values if per_user else float(values.mean())

    def top_probability(self, user: Any, items: Any) -> np.ndarray:
        """(n_items,) probability that each of the items is in the user's best group of them; exact, for PMOP losses."""
        from podium.numerics.subsets.answers import best_group

        kind = self._potential()
        scores = np.atleast_1d(self.predict(user, items))
        return best_group(kind, scores, np.array([0, len(scores)]))

    def pair_probabilities(
        self, user: Any, items: Any, first: Any, second: Any, *, n_samples: int = 10_000
    ) -> PairProbabilities:
        """Probabilities that the user ranks ``first`` above, ties with or ranks below ``second``, among the ``items``.

        Both are positions in ``items``, single or of equal length. For PMOP losses; estimated from ``n_samples``
        partitions of the items drawn from the model, as in :meth:`podium.PMOP.pair_probabilities`.
        """
        kind = self._potential()
        scores = np.atleast_1d(self.predict(user, items))
        offsets = np.array([0, len(scores)])
        i, j = (np.atleast_1d(np.asarray(places, np.int64)) for places in (first, second))
        return pairs_in_lists(kind, scores, offsets, i, j, n_samples, seed_of(self.random_state))

    def _potential(self) -> int:
        self._require_fitted()
        loss = self._loss()
        if not isinstance(loss, PMOPLoss):
            raise ValueError(f"probabilities of groups are those of PMOPLoss; this ranker has {loss!r}")
        return potential_kind(loss.potential)

    def _penalties(self) -> tuple[float, float]:
        """Of factors and of biases."""
        loss = self._loss()
        adds_up = loss.likelihood() is not None and not getattr(loss, "normalize", False)
        usual = _SUMMED if adds_up else _AVERAGED
        l2, bias_l2 = self.regularization, self.bias_regularization
        return usual if l2 is None else float(l2), usual if bias_l2 is None else float(bias_l2)

    def _check(self) -> None:
        require_count("n_factors", self.n_factors, at_least=0)
        require_count("n_folds", self.n_folds, at_least=2)
        require_choice("init", self.init, ("normal", "uniform"))
        for name in ("regularization", "bias_regularization"):
            if getattr(self, name) is not None:
                require_number(name, getattr(self, name), at_least=0.0)

    def _fitted_state(self) -> tuple[dict[str, Any], Arrays]:
        fitted, own = super()._fitted_state()
        state = dict(own)
        state["prior_weights"] = self.prior_weights_
        fitted["priors"] = []
        for k, prior in enumerate(self.priors_):
            facts, arrays = prior._fitted_state()
            fitted["priors"].append(facts)
            state.update({f"prior{k}.{name}": value for name, value in arrays.items() if not _is_shared(name)})
        return fitted, state

    def _restore_fitted(self, fitted: dict[str, Any], state: Arrays) -> None:
        super()._restore_fitted(fitted, state)
        self.priors_ = [clone(prior) for prior in self._priors()]
        self.prior_weights_ = require_array(state, "prior_weights", (len(self.priors_),))
        shared = {name: value for name, value in state.items() if _is_shared(name)}
        for k, (prior, facts) in enumerate(zip(self.priors_, fitted["priors"], strict=True)):
            prefix = f"prior{k}."
            own = {name.removeprefix(prefix): value for name, value in state.items() if name.startswith(prefix)}
            prior._restore_fitted(facts, {**shared, **own})


def _work(problem: Problem, trainer: Trainer) -> int:
    """About how many numbers the threads share out at a time: those of one step."""
    work = problem.queries.features.size
    if problem.loss.cost.split()[0] != "n":
        work += int((problem.queries.sizes**2).sum())
    steps = len(problem.queries) / trainer.batch_size if isinstance(trainer, Stochastic) else 1.0
    return int(work / max(steps, 1.0))


def _is_shared(name: str) -> bool:
    """Is this part of a stored state the same for a ranker and for its priors?"""
    return name in ("users", "items") or name.startswith("seen.")


def _hold_out(
    lists: RatingLists, share: float, rng: np.random.Generator, metric: Any
) -> tuple[RatingLists, RatingValidation]:
    """A share of each user's ratings kept aside, at random; at least one is left."""
    aside = lists.random_places(rng) < np.minimum(np.round(share * lists.sizes), lists.sizes - 1)[lists.users]
    held = lists.where(aside)
    return lists.where(~aside), RatingValidation(held, held.users, metric)


def _as_queries(validation: RatingValidation, others: Sequence[FactorModel], scale: np.ndarray) -> Validation:
    lists, users = validation.lists, validation.users
    scores = np.empty((len(users), len(others)))
    for k, other in enumerate(others):
        scores[:, k] = scale[k] * other.scores(users, lists.items)
    return Validation(as_queries(lists, users, scores), validation.metric)


def _unrated_as_average(model: FactorModel, lists: RatingLists) -> FactorModel:
    """Items that nobody rated are still where they started; they become the average of the others."""
    rated = np.bincount(lists.items, minlength=lists.n_items) > 0
    factors, bias = model.item_factors.copy(), model.item_bias.copy()
    factors[~rated], bias[~rated] = factors[rated].mean(axis=0), bias[rated].mean()
    return FactorModel(model.user_factors, factors, bias)

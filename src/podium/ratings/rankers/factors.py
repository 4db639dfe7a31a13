"""Users and items as factors, learned on any loss of lists: collaborative filtering that keeps ties as ties."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone

from podium.core.arrays import Arrays, named_under, require_array
from podium.core.parameters import choice, count, number, require_choice
from podium.core.random_state import as_generator, seed_of
from podium.data.remote import RemoteQueries
from podium.losses import DavidsonLoss, ListMLELoss, ListNetLoss, Loss, PMOPLoss, RankNetLoss, RaoKupperLoss
from podium.metrics.definition import Metric
from podium.numerics.subsets.answers import best_group
from podium.probabilities.base import ListProbabilities
from podium.probabilities.families import family_of
from podium.rankers.presets.pmop import PairProbabilities, pairs_in_lists, potential_kind
from podium.rankers.spaces import LogUniform
from podium.ratings.data import Ratings
from podium.ratings.estimator import RATING_METHODS, IterativeRatingRanker, RatingData, RatingRanker, as_ratings
from podium.ratings.evaluation import log_likelihoods
from podium.ratings.factors.model import FactorModel, gather_rows, pair_scores
from podium.ratings.factors.scorer import FactorParameters, Factors, as_queries
from podium.ratings.priors import centered, combine, fitted_prior, out_of_fold, standard_priors
from podium.ratings.splits import random_places
from podium.training import LBFGS, Fit, Problem, Stochastic, Trainer, Validation

__all__ = ["FactorRanker", "PMOPFactors", "PlackettLuceFactors"]

_SUMMED, _AVERAGED = 2.0, 0.05
"""Default penalties for losses that are sums over a list and for those that are means."""


class FactorPreset(IterativeRatingRanker):
    """Factors trained on the loss of a subclass.

    Parameters
    ----------
    n_factors : int
        With 0, only the biases and the priors are left.
    regularization : float, optional
        By default 2 for PMOP and Plackett-Luce, which are sums over a list, and 0.05 for losses that are means.
    bias_regularization : float, optional
        That of the biases, by default the same. 0 is none.
    biases : bool
        Whether items have a score of their own, the same for all users: one of users would not change a ranking.
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
        1 shows the progress, in a terminal and in notebooks as a bar, elsewhere as lines; 2 prints lines.
    """

    n_factors: int = count(10, at_least=0)
    regularization: float | None = number(None, at_least=0)
    biases: bool = True
    bias_regularization: float | None = number(None, at_least=0)
    priors: Sequence[RatingRanker] | str = ()
    n_folds: int = count(10, at_least=2)
    init: str = choice("normal", "uniform")
    trainer: Trainer | None = None
    early_stopping: float | None = number(None, above=0, below=1)

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

    def _hold_out(self, ratings: Ratings, eval_metric: str | Metric) -> tuple[Ratings, Validation | None]:
        """Hold out the share ``early_stopping`` of each user's ratings, at random; at least one rating is left."""
        share, sizes = self.early_stopping, ratings.sizes
        if share is None:
            return ratings, None
        n_aside = np.minimum(np.round(share * sizes), sizes - 1)
        aside = random_places(ratings.offsets, as_generator(self.random_state)) < n_aside[ratings.user]
        held_out = ratings.take(aside)
        return ratings.take(~aside), Validation.by(eval_metric, as_queries(held_out, held_out.user))

    def _require_remote(self) -> None:
        name, trainer = type(self).__name__, self._trainer(False)
        if not trainer.works_remotely:
            raise ValueError(
                f"{name} cannot be trained on a cluster with the trainer {type(trainer).__name__}, which takes steps "
                "within the data: trainer=podium.training.LBFGS() and a loss with a gradient can"
            )
        if len(self.priors):
            raise ValueError(
                f"{name} cannot be trained on a cluster with priors, which are fitted in one process: without priors "
                "it can; or fit it in this process, on ratings.collect()"
            )
        if self.early_stopping is not None:
            raise ValueError(
                "early_stopping cannot hold out ratings that are on a cluster: give held-out ratings as eval_set"
            )

    def _train(
        self,
        ratings: Ratings,
        validation: Validation | None = None,
        callback: Any = None,
        beside: RemoteQueries | None = None,
    ) -> Fit:
        rng = as_generator(self.random_state)
        self.priors_ = [fitted_prior(prior, ratings) for prior in self._priors()]
        others = [centered(prior.model_) for prior in self.priors_]
        scores = out_of_fold(self.priors_, ratings, self.n_folds, rng)
        spread = scores.std(axis=0)  # a penalty treats all weights alike, so they must be comparable
        scale = np.divide(1.0, spread, where=spread > 1e-12, out=np.zeros_like(spread))
        l2, bias_l2 = self._penalties()
        n_users, n_items = ratings.n_users, ratings.n_items
        scorer = Factors(n_users, n_items, self.n_factors, l2, bias_l2 if self.biases else None, self.init)
        queries = as_queries(ratings, ratings.user, scores * scale) if beside is None else beside
        if validation is not None:
            validation = _with_prior_scores(validation, others, scale)
        watched = {"validation": validation, "callback": callback, "verbose": self.verbose}
        watched["scales_penalties"] = False  # a user's penalty weighs against all of that user's ratings
        problem = Problem(self._loss(), scorer, queries, rng=rng, **watched)
        fit = self._trainer(validation is not None).fit(problem)
        assert isinstance(fit.model, FactorParameters)
        self.prior_weights_ = fit.model.mix * scale
        own = _unrated_as_average(fit.model.factors(), ratings.item_counts() > 0)
        return replace(fit, model=combine(own, others, self.prior_weights_))

    def _trainer(self, validated: bool) -> Trainer:
        if self.trainer is not None:
            return self.trainer
        if not self._loss().has_gradient:
            return Stochastic(epochs=50, batch_size=64, learning_rate=0.05)
        return LBFGS(tolerance=1e-7, select="best" if validated else "last", patience=20 if validated else None)

    def _fold(self, ratings: Ratings) -> np.ndarray:
        """Minimize each user's loss + ``l2``/2 · ‖W_u‖², with the priors' scores given: convex for most losses."""
        from scipy.optimize import minimize

        from_priors = [a * prior._fold(ratings) for a, prior in zip(self.prior_weights_, self.priors_, strict=True)]
        shape = n_users, n = ratings.n_users, self.n_factors
        factors = np.hstack([np.zeros(shape), *from_priors])
        if 0 in shape:
            return factors
        model = replace(self.model_, user_factors=factors)
        given_scores = model.pairs(ratings.user, ratings.item)
        items = np.ascontiguousarray(model.items[:, :n])  # the last row stands for unknown items, numbered −1
        rows, no_bias, l2 = np.arange(len(ratings)), np.zeros(len(items)), self._penalties()[0]
        loss = self._loss()
        if not loss.has_gradient:  # a sampler; the likelihood that it samples has one
            loss = loss.likelihood() or loss
        bound = loss.bind(ratings.values, ratings.offsets)

        def objective(theta: np.ndarray) -> tuple[float, np.ndarray]:
            scores = given_scores + pair_scores((theta.reshape(shape), items, no_bias), ratings.user, ratings.item)
            result = bound.value_and_gradient(scores, parameters=self.loss_parameters_)
            gradient = n_users * gather_rows(items, result.d_scores, ratings.offsets, rows, ratings.item).ravel()
            return n_users * result.value + 0.5 * l2 * float(theta @ theta), gradient + l2 * theta

        options = {"ftol": 1e-12, "gtol": 1e-6}
        found = minimize(objective, np.zeros(n_users * n), jac=True, method="L-BFGS-B", options=options)
        factors[:, :n] = found.x.reshape(shape)
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

    def probabilities(self, user: Any, items: ArrayLike) -> ListProbabilities:
        """Return what the model says of the user's ranking of these items: which is above which, tied, or first.

        As :meth:`podium.PMOP.probabilities`, for losses that stand for a distribution; items are numbered from 0.

        Examples
        --------
        >>> import podium
        >>> ratings = podium.make_ratings(30, 20, 600)
        >>> ranker = podium.PMOPFactors(n_factors=2, random_state=0).fit(ratings)
        >>> p = ranker.probabilities(ratings.user_ids[0], ratings.item_ids[:4])
        >>> p.rank_distribution.shape, round(float(p.in_top(2).sum()), 6)
        ((4, 4), 2.0)
        """
        self._require_fitted()
        loss = self._loss()
        if (family := family_of(loss, self.loss_parameters_)) is None:
            raise ValueError(
                f"factors trained on {type(loss).__name__} do not model probabilities of rankings: PMOPLoss, "
                "ListMLELoss, ListNetLoss, BoltzRankLoss, SoftRankLoss do; DavidsonLoss, RaoKupperLoss those of pairs"
            )
        return family(np.atleast_1d(self.predict(user, items)), seed_of(self.random_state))

    def _one_list(self, user: Any, items: ArrayLike) -> tuple[int, np.ndarray, np.ndarray]:
        """Return the kind of potential, the user's scores of the items, and the offsets of this one list."""
        self._require_fitted()
        loss = self._loss()
        if not isinstance(loss, PMOPLoss):
            raise ValueError(f"probabilities of groups need PMOPLoss; this ranker has {loss!r}")
        scores = np.atleast_1d(self.predict(user, items))
        return potential_kind(loss), scores, np.array([0, len(scores)])

    def _penalties(self) -> tuple[float, float]:
        """Return the penalties of factors and of biases."""
        loss = self._loss()
        is_sum = loss.likelihood() is not None and not getattr(loss, "normalize", False)
        default = _SUMMED if is_sum else _AVERAGED
        l2, bias_l2 = self.regularization, self.bias_regularization
        return default if l2 is None else float(l2), default if bias_l2 is None else float(bias_l2)

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


def _unrated_as_average(model: FactorModel, rated: np.ndarray) -> FactorModel:
    """Return the model with items that nobody rated, which are where they started, as the average of the others."""
    factors, bias = model.item_factors.copy(), model.item_bias.copy()
    factors[~rated], bias[~rated] = factors[rated].mean(axis=0), bias[rated].mean()
    return FactorModel(model.user_factors, factors, bias)


class FactorRanker(FactorPreset):
    """A user's scores of items are s_ui = b_i + W_u · H_i, learned on any of Podium's losses: a user is a query.

    Minimizes Σ_u loss_u + ½ ``regularization`` (‖W‖² + ‖H‖²) + ½ ``bias_regularization`` ‖b‖². Truyen, Phung and
    Venkatesh (SDM 2011) do so for ordered partitions, without biases, without regularization and with five factors.

    Parameters
    ----------
    loss : Loss
        The loss of a user's list, from :mod:`podium.losses`; :class:`podium.losses.PMOPLoss` keeps ties as ties.

    Attributes
    ----------
    prior_weights_ : (n_priors,) array
        Weights of the priors' scores; their factors follow the learned ones in ``model_``.

    Examples
    --------
    >>> import podium
    >>> ratings = (["ann", "ann", "ann", "bob", "bob"], ["up", "brazil", "alien", "up", "alien"], [5, 5, 2, 4, 3])
    >>> ranker = podium.FactorRanker(podium.losses.PMOPLoss(), n_factors=2, random_state=0).fit(ratings)
    >>> ranker.recommend("bob", n=1).items.tolist()
    ['brazil']
    """

    loss: Loss

    def _loss(self) -> Loss:
        if not isinstance(self.loss, Loss):
            raise ValueError(f"loss must be one of podium.losses, such as PMOPLoss(); got {self.loss!r}")
        return self.loss


class PMOPFactors(FactorPreset):
    """Factors under the likelihood of ordered partitions: equal ratings are ties.

    Truyen, Phung, Venkatesh: Probabilistic models over ordered partitions with applications in document ranking and
    collaborative filtering. SDM 2011. As there: ``PMOPFactors(n_factors=5, regularization=0, biases=False,
    init="uniform")``.

    Parameters
    ----------
    potential : {"arithmetic", "geometric"}
        How scores combine within a group of ties, see :class:`podium.losses.PMOPLoss`.

    Examples
    --------
    >>> import podium
    >>> ranker = podium.PMOPFactors(n_factors=2, random_state=0).fit(podium.make_ratings(40, 30, 800))
    >>> ranker.model_.user_factors.shape, ranker.convergence_.converged
    ((40, 2), True)
    """

    potential: str = "arithmetic"

    def _loss(self) -> Loss:
        return PMOPLoss(self.potential)


class PlackettLuceFactors(FactorPreset):
    """Factors under the Plackett-Luce likelihood of the order of a user's ratings, ties being broken.

    Parameters
    ----------
    ties : {"random", "stable"}
        The order of equal ratings, see :class:`podium.losses.ListMLELoss`.

    Examples
    --------
    >>> import podium
    >>> ranker = podium.PlackettLuceFactors(n_factors=2, random_state=0).fit(podium.make_ratings(40, 30, 800))
    >>> ranker.predict(0, [0, 1, 2]).shape
    (3,)
    """

    ties: str = "random"

    def _loss(self) -> Loss:
        return ListMLELoss(self.ties, random_state=seed_of(self.random_state))


_TRUYEN = "Truyen et al., SDM 2011"
_SUM, _MEAN = LogUniform(0.3, 1.0, 3.0, 10.0, 30.0, 100.0), LogUniform(0.01, 0.03, 0.1, 0.3, 1.0, 3.0)
"""Regularization to try for losses that are sums over a user's list and for means, until only biases are left."""

for _name, _loss, _summary, _reference, _strengths in (
    ("pmop", PMOPLoss(), "the likelihood of ordered partitions, ties and all", _TRUYEN, _SUM),
    ("plackett-luce", ListMLELoss(), "the Plackett-Luce likelihood, ties broken at random", _TRUYEN, _SUM),
    ("listnet", ListNetLoss(), "ListNet's loss", "Cao et al., ICML 2007", _MEAN),
    ("ranknet", RankNetLoss(), "RankNet's loss", "Burges et al., ICML 2005", _MEAN),
    ("rao-kupper", RaoKupperLoss(), "Rao and Kupper's pairs with ties", "JASA 1967", _MEAN),
    ("davidson", DavidsonLoss(), "Davidson's pairs with ties", "JASA 1970", _MEAN),
):
    RATING_METHODS.add(
        f"{_name}-factors",
        partial(FactorRanker, _loss),
        f"factors under {_summary}",
        _reference,
        "factors",
        {"regularization": _strengths},
        variant=_strengths is _MEAN,
        kind="factors",
    )
RATING_METHODS.add(
    "pmop-mix",
    partial(FactorRanker, PMOPLoss(), n_factors=0, biases=False, priors="standard"),
    "ordered partitions on a mix of item means, popularity, least squares and taste",
    "Podium, docs/methods/factors.md",
    "factors",
    kind="factors",
)

"""Users and items as factors, learned on any loss of lists: collaborative filtering that keeps ties as ties."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import clone

from podium.core.arrays import Arrays, named_under, require_array
from podium.core.parameters import choice, count, number, require_choice
from podium.core.random_state import as_generator, seed_of
from podium.data.remote import RemoteQueries
from podium.losses import DavidsonLoss, ListMLELoss, ListNetLoss, Loss, PMOPLoss, RankNetLoss, RaoKupperLoss
from podium.metrics.definition import Metric
from podium.rankers.spaces import LogUniform
from podium.ratings.data import Ratings
from podium.ratings.estimator import RATING_METHODS, RatingRanker
from podium.ratings.factors.centers import item_lines, left_out_lines
from podium.ratings.factors.model import FactorModel, gather_rows, pair_scores
from podium.ratings.factors.noise import noise_level
from podium.ratings.factors.scorer import FactorParameters, Factors, as_queries
from podium.ratings.factors.sided import SidedParameters
from podium.ratings.priors import centered, combine, fitted_prior, out_of_fold, standard_priors
from podium.ratings.rankers.clicked import ClickedRatingRanker
from podium.ratings.splits import random_places
from podium.training import LBFGS, Fit, Problem, Stochastic, Trainer, Validation

__all__ = ["FactorRanker", "PMOPFactors", "PlackettLuceFactors"]

_SUMMED, _AVERAGED = 8.0, 0.4
"""Default penalties of biases, for losses that are sums over a list and for those that are means."""
_AROUND_LINES = 8.0
"""Times as much where biases are drawn to lines, which have most of what is to be known."""
_AROUND_FEATURES = 2.5
"""Times as much where they are drawn to what features say."""


class FactorPreset(ClickedRatingRanker):
    """Factors trained on the loss of a subclass.

    Parameters
    ----------
    n_factors : int
        With 0, only the biases and the priors are left.
    regularization : float, optional
        By default the smallest under which factors would vanish if the loss's derivatives on these ratings had random
        signs: with less they fit noise, whatever the loss and the number of ratings. ``regularization_`` is what was
        used.
    strength : float
        Times that default; it has no meaning where ``regularization`` is given.
    bias_regularization : float, optional
        That of the biases; by default 64 for PMOP and Plackett-Luce, which are sums over a list, and 3.2 for losses
        that are means; 20 and 1 where they are drawn to what features say, 8 and 0.4 where to zero. 0 is none.
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
    bias_center : {"items", "zero"}
        What the penalty draws biases to: a line in the items' damped means and in the logarithms of their
        numbers of ratings, whose slopes are learned; or 0, which a cluster needs. With priors or with
        features, it is 0.
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
    bias_center: str = choice("items", "zero")
    strength: float = number(1.0, at_least=0)

    regularization_: float
    prior_weights_: np.ndarray
    priors_: list[RatingRanker]

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
        if self.biases and self.bias_center != "zero":
            raise ValueError(
                f"{name} cannot be trained on a cluster with biases around the items' means, which are computed in one "
                'process: bias_center="zero" can, with biases around 0; or fit it in this process, on ratings.collect()'
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
        with_lines = self.biases and self.bias_center == "items" and not others and not self._matrices
        if with_lines:
            others, scores = item_lines(ratings), left_out_lines(ratings)
        spread = scores.std(axis=0)  # a penalty treats all weights alike, so they must be comparable
        scale = np.divide(1.0, spread, where=spread > 1e-12, out=np.zeros_like(spread))
        self.regularization_, bias_l2 = self._penalties(ratings, with_lines)
        n_users, n_items = ratings.n_users, ratings.n_items
        scorer = Factors(n_users, n_items, self.n_factors, self.regularization_, bias_l2, self.init)
        queries = as_queries(ratings, ratings.user, scores * scale) if beside is None else beside
        if validation is not None:
            validation = _with_prior_scores(validation, others, scale)
        watched = {"validation": validation, "callback": callback, "verbose": self.verbose}
        watched["scales_penalties"] = False  # a user's penalty weighs against all of that user's ratings
        problem = Problem(self._drawn(self._loss()), self._sided(scorer), queries, rng=rng, **watched)
        fit = self._trainer(validation is not None).fit(problem)
        assert isinstance(fit.model, FactorParameters | SidedParameters)
        weights = fit.model.mix * scale
        self.prior_weights_ = weights[len(weights) - len(self.priors_) :]
        return replace(fit, model=combine(self._with_unrated(fit.model, ratings), others, weights))

    def _with_unrated(self, fitted: FactorParameters | SidedParameters, ratings: Ratings) -> FactorModel:
        """Return the factors; items that nobody rated are where they started, so they are set by what is known."""
        model = self._of_features(fitted, ratings) if isinstance(fitted, SidedParameters) else fitted.factors()
        return model if "items" in self.encodings_ else _unrated_as_average(model, ratings.item_counts() > 0)

    @property
    def stops_by_ratings(self) -> bool:
        """Whether held-out ratings are to end a fit, in a search that judges its settings by the same ratings.

        Stopped where they are ranked best, fits with any penalty look alike, and little is known of which one is best
        on all ratings. L-BFGS with a penalty needs no such end.
        """
        return not isinstance(self._trainer(False), LBFGS) or self.regularization == 0

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
        rows, no_bias, l2 = np.arange(len(ratings)), np.zeros(len(items)), self.regularization_
        loss = self._loss()
        if not loss.has_gradient:  # a sampler; the likelihood that it samples has one
            loss = loss.likelihood() or loss
        bound = self._drawn(loss).bind(ratings.values, ratings.offsets)

        def objective(theta: np.ndarray) -> tuple[float, np.ndarray]:
            scores = given_scores + pair_scores((theta.reshape(shape), items, no_bias), ratings.user, ratings.item)
            result = bound.value_and_gradient(scores, parameters=self.loss_parameters_)
            gradient = n_users * gather_rows(items, result.d_scores, ratings.offsets, rows, ratings.item).ravel()
            return n_users * result.value + 0.5 * l2 * float(theta @ theta), gradient + l2 * theta

        options = {"ftol": 1e-12, "gtol": 1e-6}
        found = minimize(objective, np.zeros(n_users * n), jac=True, method="L-BFGS-B", options=options)
        factors[:, :n] = found.x.reshape(shape)
        return factors

    def _penalties(self, ratings: Ratings, with_lines: bool) -> tuple[float, float | None]:
        """Return the penalties of factors and of biases, the latter None if there are no biases."""
        loss, l2, bias_l2 = self._loss(), self.regularization, self.bias_regularization
        is_sum = loss.likelihood() is not None and not getattr(loss, "normalize", False)
        usual = _SUMMED if is_sum else _AVERAGED
        if l2 is None:
            smooth = loss if loss.has_gradient else loss.likelihood()
            l2 = self.strength * noise_level(self._drawn(smooth or RankNetLoss()), ratings) if self.n_factors else 0.0
        if bias_l2 is None:
            bias_l2 = usual * (_AROUND_LINES if with_lines else _AROUND_FEATURES if self._matrices else 1.0)
        return float(l2), float(bias_l2) if self.biases else None

    def _stored_fit(self) -> tuple[dict[str, Any], Arrays]:
        fitted, own = super()._stored_fit()
        arrays = {**own, "prior_weights": self.prior_weights_}
        fitted["regularization"], fitted["priors"] = self.regularization_, []
        for k, prior in enumerate(self.priors_):
            facts, of_prior = prior._stored_fit()
            fitted["priors"].append(facts)
            arrays.update({f"prior{k}.{name}": value for name, value in of_prior.items() if not _is_shared(name)})
        return fitted, arrays

    def _restore_fit(self, fitted: dict[str, Any], arrays: Arrays) -> None:
        super()._restore_fit(fitted, arrays)
        given = 2.0 if self.regularization is None else self.regularization  # in files from before it was stored
        self.regularization_ = float(fitted.get("regularization", given))
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
_STRENGTHS = {"strength": LogUniform(0.25, 0.5, 0.7, 1.0, 1.4, 3.0)}
"""Penalties to try, as multiples of the level of noise, until only biases are left."""

for _name, _loss, _summary, _reference, _is_variant in (
    ("pmop", PMOPLoss(), "the likelihood of ordered partitions, ties and all", _TRUYEN, False),
    ("plackett-luce", ListMLELoss(), "the Plackett-Luce likelihood, ties broken at random", _TRUYEN, False),
    ("listnet", ListNetLoss(), "ListNet's loss", "Cao et al., ICML 2007", True),
    ("ranknet", RankNetLoss(), "RankNet's loss", "Burges et al., ICML 2005", True),
    ("rao-kupper", RaoKupperLoss(), "Rao and Kupper's pairs with ties", "JASA 1967", True),
    ("davidson", DavidsonLoss(), "Davidson's pairs with ties", "JASA 1970", True),
):
    RATING_METHODS.add(
        f"{_name}-factors",
        partial(FactorRanker, _loss),
        f"factors under {_summary}",
        _reference,
        "factors",
        _STRENGTHS,
        variant=_is_variant,
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

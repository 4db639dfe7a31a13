"""CoFiRank: maximum-margin matrix factorisation for collaborative ranking."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from podium.core.parameters import require_choice, require_count, require_number
from podium.losses import CoFiRankLoss, Loss, RankSVMLoss, RegressionLoss
from podium.losses.base import BoundLoss
from podium.numerics.blas import quiet_blas
from podium.rankers.inputs import as_generator
from podium.ratings.estimator import FactorFit, RatingRanker, RatingValidation
from podium.ratings.factors.model import FactorModel
from podium.ratings.factors.rounds import Rounds
from podium.ratings.lists import RatingLists
from podium.training.base import Progress
from podium.training.threads import threads_for

LOSSES: dict[str, Loss] = {
    "ndcg": CoFiRankLoss(),
    "ordinal": RankSVMLoss(),
    "regression": RegressionLoss(normalize=False),
}


class CoFiRank(RatingRanker):
    """Factors under a convex loss of each user's list, users and items in turn.

    The objective is Σ_u L_u(b + W_u H) + λ/2 (‖W‖² + ‖H‖² + ‖b‖²): convex in the users' factors W with the items' fixed
    and the other way round, so that L-BFGS solves each half in turn. Weimer, Karatzoglou, Le and Smola, "CoFi Rank:
    maximum margin matrix factorization for collaborative ranking", NIPS 2007.

    Parameters
    ----------
    loss : {"ndcg", "ordinal", "regression"}
        The bound on 1 − NDCG (:class:`podium.losses.CoFiRankLoss`), the mean hinge loss of a user's pairs of unequal
        ratings, or half the squared errors, the mean of all ratings taken off.
    n_factors : int
    regularization : float
        λ > 0.
    biases : bool
        Give items a bias b; the paper has none.
    max_iter : int
        Most rounds, each over users and items; reaching it gives a ConvergenceWarning.
    tol : float
        Stop when a round improves the objective by less than this share of it.
    cold : {"average", "error"}
    random_state : int, optional
        Of the factors at the start.
    """

    def __init__(
        self,
        loss: str = "ndcg",
        n_factors: int = 10,
        regularization: float = 10.0,
        biases: bool = True,
        max_iter: int = 50,
        tol: float = 1e-3,
        cold: str = "average",
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.loss = loss
        self.n_factors = n_factors
        self.regularization = regularization
        self.biases = biases
        self.max_iter = max_iter
        self.tol = tol
        self.cold = cold
        self.random_state = random_state
        self.verbose = verbose

    def _train(
        self,
        lists: RatingLists,
        validation: RatingValidation | None,
        callback: Callable[[Progress], Any] | None,
    ) -> FactorFit:
        require_choice("loss", self.loss, tuple(LOSSES))
        require_count("n_factors", self.n_factors)
        require_count("max_iter", self.max_iter)
        require_number("regularization", self.regularization, above=0.0)
        require_number("tol", self.tol, at_least=0.0)
        rng = as_generator(self.random_state)
        model = FactorModel(
            START * rng.standard_normal((len(lists), self.n_factors)),
            START * rng.standard_normal((lists.n_items, self.n_factors)),
            np.zeros(lists.n_items),
        )
        halves = self._halves(lists, float(lists.values.mean()))
        rounds = Rounds(validation, callback, self.verbose, max_iter=self.max_iter, tol=self.tol)
        with quiet_blas(), threads_for(len(lists.values) * self.n_factors):
            while True:
                model = halves.solve_items(model, with_bias=self.biases)
                model, objective = halves.solve_users(model)
                if rounds.end(model, objective):
                    return FactorFit(*rounds.outcome())

    def _fold(self, lists: RatingLists) -> np.ndarray:
        known = lists.items >= 0
        offsets = np.concatenate(([0], np.cumsum(known)))[lists.offsets]
        kept = replace(lists, offsets=offsets, items=lists.items[known], values=lists.values[known])
        # From the average user on: from zero, all directions would look alike to a loss that knows ranks alone.
        start = np.repeat(self.model_.users[-1:], len(lists), axis=0)
        halves = self._halves(kept, float(self.seen_.values.mean()))
        with quiet_blas(), threads_for(len(kept.values) * self.n_factors):
            model, _ = halves.solve_users(replace(self.model_, user_factors=start))
        return model.user_factors

    def _halves(self, lists: RatingLists, mean: float) -> _Halves:
        labels = lists.values - mean if self.loss == "regression" else lists.values
        bound = LOSSES[self.loss].bind(labels, lists.offsets)
        return _Halves(lists, bound, float(self.regularization), self.tol / 10)


START = 0.3
"""Standard deviation of the factors at the start."""
STEPS = 30
"""Most iterations of L-BFGS on one half: the other half moves before more would pay."""


@dataclass(frozen=True)
class _Halves:
    """The two convex problems that take turns."""

    lists: RatingLists
    bound: BoundLoss
    regularization: float
    tol: float

    def solve_users(self, model: FactorModel) -> tuple[FactorModel, float]:
        """The best factors of the users with the items' fixed, and the whole objective there."""

        def risk(factors: np.ndarray) -> tuple[float, np.ndarray]:
            value, slopes = self._risk(replace(model, user_factors=factors))
            return value, slopes @ model.item_factors

        best, objective = self._minimize(risk, model.user_factors)
        size = float((model.item_factors**2).sum() + (model.item_bias**2).sum())
        return replace(model, user_factors=best), objective + 0.5 * self.regularization * size

    def solve_items(self, model: FactorModel, with_bias: bool) -> FactorModel:
        """The best factors and biases of the items with the users' fixed."""

        def risk(items: np.ndarray) -> tuple[float, np.ndarray]:
            value, slopes = self._risk(_with_items(model, items))
            d_factors = slopes.T @ model.user_factors
            if not with_bias:
                return value, d_factors
            return value, np.column_stack((d_factors, slopes.sum(axis=0)))

        start = np.column_stack((model.item_factors, model.item_bias)) if with_bias else model.item_factors
        return _with_items(model, self._minimize(risk, start)[0])

    def _risk(self, model: FactorModel) -> tuple[float, sparse.csr_array]:
        """The sum of the users' losses and, as a sparse users × items matrix, its slopes in the scores."""
        lists = self.lists
        loss = self.bound.value_and_gradient(model.scores(lists.users, lists.items))
        slopes = len(lists) * loss.d_scores
        shape = (len(lists), lists.n_items)
        return len(lists) * loss.value, sparse.csr_array((slopes, lists.items, lists.offsets), shape=shape)

    def _minimize(
        self, risk: Callable[[np.ndarray], tuple[float, np.ndarray]], start: np.ndarray
    ) -> tuple[np.ndarray, float]:
        from scipy.optimize import minimize

        def penalized(x: np.ndarray) -> tuple[float, np.ndarray]:
            value, gradient = risk(x.reshape(start.shape))
            return value + 0.5 * self.regularization * float(x @ x), gradient.ravel() + self.regularization * x

        options = {"maxiter": STEPS, "ftol": self.tol}
        result = minimize(penalized, start.ravel(), jac=True, method="L-BFGS-B", options=options)
        return result.x.reshape(start.shape), float(result.fun)


def _with_items(model: FactorModel, items: np.ndarray) -> FactorModel:
    """The model with other items: factors, and biases if there is a column more."""
    n_factors = model.user_factors.shape[1]
    bias = items[:, n_factors].copy() if items.shape[1] > n_factors else model.item_bias
    return replace(model, item_factors=np.ascontiguousarray(items[:, :n_factors]), item_bias=bias)

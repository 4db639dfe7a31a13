"""CoFiRank: maximum-margin matrix factorization for collaborative ranking."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

from podium.core.parameters import choice, count, number
from podium.core.random_state import as_generator
from podium.losses import BoundLoss, CoFiRankLoss, Loss, RankSVMLoss, RegressionLoss
from podium.numerics.blas import quiet_blas
from podium.rankers.spaces import LogUniform
from podium.ratings.data import Ratings
from podium.ratings.estimator import RATING_METHODS, IterativeRatingRanker
from podium.ratings.factors.alternating import Alternation
from podium.ratings.factors.model import FactorModel
from podium.training.base import Fit

__all__ = ["CoFiRank"]

LOSSES: dict[str, Loss] = {
    "ndcg": CoFiRankLoss(),
    "ordinal": RankSVMLoss(),
    "regression": RegressionLoss(normalize=False),
}


class CoFiRank(IterativeRatingRanker):
    """Factors under a convex loss of each user's list, users and items in turn.

    The objective Σ_u L_u(b + W_u H) + λ/2 (‖W‖² + ‖H‖² + ‖b‖²) is convex in the users' factors W with the items' fixed,
    and vice versa; L-BFGS solves each half in turn. Weimer, Karatzoglou, Le and Smola, "CoFi Rank: maximum margin
    matrix factorization for collaborative ranking", NIPS 2007.

    Parameters
    ----------
    loss : {"ndcg", "ordinal", "regression"}
        The bound on 1 − NDCG (:class:`podium.losses.CoFiRankLoss`), the mean hinge loss of a user's pairs of unequal
        ratings, or half the squared errors after subtracting the mean of all ratings.
    n_factors : int
        Length of the vectors of users and items.
    regularization : float
        Penalty λ > 0.
    biases : bool
        Give items a bias b; the paper has none.
    weights : {"discounts", "power"}
        Of the ranks of scores in the bound on NDCG: the metric's, or the paper's (1 + r)^−¼, which takes n³ for a user
        of n ratings. See :class:`podium.losses.CoFiRankLoss`.
    max_iter : int
        Maximum number of rounds, each over users and items; reaching it gives a ConvergenceWarning.
    tol : float
        Stop when a round improves the objective by less than this share of it.
    random_state : int, optional
        Seed of the initial factors.
    verbose : int
        1 shows the progress, in a terminal and in notebooks as a bar, elsewhere as lines; 2 prints lines.

    Examples
    --------
    >>> import podium
    >>> ranker = podium.CoFiRank("regression", n_factors=2, random_state=0).fit(podium.make_ratings(40, 30, 800))
    >>> ranker.model_.user_factors.shape, ranker.convergence_.converged
    ((40, 2), True)
    """

    loss: str = choice(*LOSSES)
    n_factors: int = count(10)
    regularization: float = number(10.0, above=0)
    biases: bool = True
    weights: str = "discounts"
    max_iter: int = count(50)
    tol: float = number(1e-3, at_least=0)

    def _train(self, ratings: Ratings, *watched: Any) -> Fit:
        alternation = Alternation(self.max_iter, self.tol, self.verbose, *watched)
        rng, sizes = as_generator(self.random_state), (ratings.n_users, ratings.n_items)
        users, items = (START * rng.standard_normal((n, self.n_factors)) for n in sizes)
        model = FactorModel(users, items, np.zeros(ratings.n_items))
        halves = self._halves(ratings, float(ratings.values.mean()))
        with quiet_blas():
            while True:
                model = halves.solve_items(model, with_bias=self.biases)
                model, objective = halves.solve_users(model)
                if alternation.ends_with(model, objective):
                    return alternation.fit()

    def _fold(self, ratings: Ratings) -> np.ndarray:
        # From the average user: at zero, all directions are alike to a loss that depends on ranks alone.
        start = np.repeat(self.model_.users[-1:], ratings.n_users, axis=0)
        halves = self._halves(ratings.known(), float(self.seen_.values.mean()))
        with quiet_blas():
            model, _ = halves.solve_users(replace(self.model_, user_factors=start))
        return model.user_factors

    def _halves(self, ratings: Ratings, mean: float) -> _Halves:
        labels = ratings.values - mean if self.loss == "regression" else ratings.values
        loss = CoFiRankLoss(weights=self.weights) if self.loss == "ndcg" else LOSSES[self.loss]
        bound = loss.bind(labels, ratings.offsets)
        return _Halves(ratings, bound, float(self.regularization), self.tol / 10)


START = 0.3
"""Standard deviation of the initial factors."""
MAX_HALF_ITERATIONS = 30
"""Maximum number of L-BFGS iterations on one half: more do not pay before the other half has moved."""


@dataclass(frozen=True)
class _Halves:
    """The two convex problems that are solved in turn."""

    ratings: Ratings
    bound: BoundLoss
    regularization: float
    tol: float

    def solve_users(self, model: FactorModel) -> tuple[FactorModel, float]:
        """Return the best factors of the users with the items' fixed, and the whole objective there."""

        def risk(factors: np.ndarray) -> tuple[float, np.ndarray]:
            value, slopes = self._risk(replace(model, user_factors=factors))
            return value, slopes @ model.item_factors

        best, objective = self._minimize(risk, model.user_factors)
        size = float((model.item_factors**2).sum() + (model.item_bias**2).sum())
        return replace(model, user_factors=best), objective + 0.5 * self.regularization * size

    def solve_items(self, model: FactorModel, with_bias: bool) -> FactorModel:
        """Return the best factors and biases of the items with the users' fixed."""

        def risk(items: np.ndarray) -> tuple[float, np.ndarray]:
            value, slopes = self._risk(_with_items(model, items))
            d_factors = slopes.T @ model.user_factors
            if not with_bias:
                return value, d_factors
            return value, np.column_stack((d_factors, np.ravel(slopes.sum(axis=0))))

        start = np.column_stack((model.item_factors, model.item_bias)) if with_bias else model.item_factors
        return _with_items(model, self._minimize(risk, start)[0])

    def _risk(self, model: FactorModel) -> tuple[float, csr_matrix]:
        """Return the sum of the users' losses and its gradient in the scores, a sparse users × items matrix."""
        ratings, n = self.ratings, self.ratings.n_users
        loss = self.bound.value_and_gradient(model.pairs(ratings.user, ratings.item))
        return n * loss.value, ratings.to_csr(n * loss.d_scores)

    def _minimize(
        self, risk: Callable[[np.ndarray], tuple[float, np.ndarray]], start: np.ndarray
    ) -> tuple[np.ndarray, float]:
        from scipy.optimize import minimize

        def penalized(x: np.ndarray) -> tuple[float, np.ndarray]:
            value, gradient = risk(x.reshape(start.shape))
            return value + 0.5 * self.regularization * float(x @ x), gradient.ravel() + self.regularization * x

        options = {"maxiter": MAX_HALF_ITERATIONS, "ftol": self.tol}
        result = minimize(penalized, start.ravel(), jac=True, method="L-BFGS-B", options=options)
        return result.x.reshape(start.shape), float(result.fun)


def _with_items(model: FactorModel, items: np.ndarray) -> FactorModel:
    """Return the model with other items: factors, and biases if there is one more column."""
    n_factors = model.user_factors.shape[1]
    bias = items[:, n_factors].copy() if items.shape[1] > n_factors else model.item_bias
    return replace(model, item_factors=np.ascontiguousarray(items[:, :n_factors]), item_bias=bias)


_WEAK, _STRONG = LogUniform(0.1, 0.3, 1.0, 3.0, 10.0, 30.0), LogUniform(1.0, 3.0, 10.0, 30.0, 100.0, 300.0)
for _name, _parameters, _summary, _strengths in (
    ("cofirank", {}, "factors under a convex bound on NDCG", _STRONG),
    ("cofirank-bare", {"biases": False}, "the same without biases, as in the paper", _WEAK),
    (
        "cofirank-published",
        {"biases": False, "weights": "power"},
        "the same with the weights of ranks that the paper has, too",
        _WEAK,
    ),
    ("cofirank-ordinal", {"loss": "ordinal"}, "the same with the hinge loss on pairs", _WEAK),
    ("cofirank-regression", {"loss": "regression"}, "the same with the squared error", _STRONG),
):
    RATING_METHODS.add(
        _name,
        partial(CoFiRank, **_parameters),
        _summary,
        "Weimer et al., NIPS 2007",
        "factors",
        {"regularization": _strengths},
        variant=bool(_parameters),
        kind="factors",
    )

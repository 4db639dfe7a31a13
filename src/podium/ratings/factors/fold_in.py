"""Factors of new users with the items held fixed, a convex problem for most losses."""

from __future__ import annotations

import numpy as np

from podium.losses.base import BoundLoss
from podium.ratings.factors.kernels import gather_rows, pair_scores
from podium.ratings.lists import RatingLists


def fold_users(
    bound: BoundLoss,
    loss_parameters: np.ndarray,
    item_factors: np.ndarray,
    lists: RatingLists,
    base_scores: np.ndarray,
    l2: float,
) -> np.ndarray:
    """(n_users, n_factors) minimizers of each user's loss + ``l2``/2 · ‖W_u‖², for scores ``base_scores`` + W_u · H_i.

    The last row of ``item_factors`` stands for unknown items, numbered −1.
    """
    from scipy.optimize import minimize

    shape = (len(lists), item_factors.shape[1])
    if 0 in shape:
        return np.zeros(shape)
    rows, no_bias = np.arange(len(lists.items)), np.zeros(len(item_factors))

    def objective(theta: np.ndarray) -> tuple[float, np.ndarray]:
        matrices = (theta.reshape(shape), item_factors, no_bias)
        scores = base_scores + pair_scores(matrices, lists.users, lists.items)
        result = bound.value_and_gradient(scores, parameters=loss_parameters)
        gradient = len(lists) * gather_rows(item_factors, result.d_scores, lists.offsets, rows, lists.items).ravel()
        return len(lists) * result.value + 0.5 * l2 * float(theta @ theta), gradient + l2 * theta

    options = {"ftol": 1e-12, "gtol": 1e-6}
    found = minimize(objective, np.zeros(shape).ravel(), jac=True, method="L-BFGS-B", options=options)
    return np.asarray(found.x).reshape(shape)

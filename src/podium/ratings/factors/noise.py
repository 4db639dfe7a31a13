"""How large factors would grow on noise alone, which is how much to penalize them by default."""

from typing import Any

import numpy as np

from podium.losses.base import Loss
from podium.ratings.data import Ratings


def noise_level(loss: Loss, ratings: Ratings) -> float:
    """Return the largest singular value of the loss's derivatives at equal scores, each with a random sign.

    Under a penalty l2 on the factors of users and of items, factors stay 0 in directions in which the users × items
    matrix of derivatives has a singular value below l2. Random signs leave the sizes of the derivatives as they are and
    destroy what they have in common: a penalty of about this size removes what could be noise, whatever the scale of
    the loss, the number of ratings, and their distribution over users and items.
    """
    bound = loss.bind(ratings.values, ratings.offsets)
    slopes = ratings.n_users * bound.value_and_gradient(np.zeros(len(ratings))).d_scores
    return _largest(ratings.to_csr(slopes * _signs(len(ratings))))


def noise_over_taste(seen: Ratings) -> float:
    """Return the squared level of noise over the level of taste in what users have seen, as a penalty of factors.

    If all users drew items by popularity, user u's n_u draws would be n_u p_i of item i. The largest singular value of
    the differences is how much tastes stand out; that of the seen ones with random signs, how much noise would. The
    ratio is small where the former is large, and the level of noise itself where there is nothing else.
    """
    from scipy.sparse.linalg import LinearOperator

    matrix = seen.to_csr(np.ones(len(seen)))
    n, share = seen.sizes.astype(np.float64), seen.item_counts() / len(seen)
    differences = LinearOperator(
        matrix.shape,
        matvec=lambda v: n * (share @ v.ravel()) - matrix @ v.ravel(),
        rmatvec=lambda v: share * (n @ v.ravel()) - matrix.T @ v.ravel(),
        dtype=np.float64,
    )
    noise = _largest(seen.to_csr((1.0 - n[seen.user] * share[seen.item]) * _signs(len(seen))))
    start = np.random.default_rng(0).normal(size=min(matrix.shape))  # not ones, of which there are no differences
    taste = _largest(differences, start) if min(matrix.shape) > 1 else 0.0
    return noise**2 / max(taste, noise) if noise > 0 else 0.0


def _signs(n: int) -> np.ndarray:
    return np.random.default_rng(0).choice([-1.0, 1.0], n)


def _largest(matrix: Any, start: np.ndarray | None = None) -> float:
    """Return the largest singular value."""
    from scipy.sparse.linalg import svds

    n = min(matrix.shape)
    if n == 1:
        return float(np.sqrt((matrix.data**2).sum()))
    start = np.ones(n) if start is None else start
    return float(svds(matrix, 1, tol=1e-2, v0=start, return_singular_vectors=False)[0])

"""Synthetic ratings with ties and with the usual skew: few items have most ratings, few users give most of them."""

import numpy as np

from podium.core.parameters import require_count, require_number
from podium.core.random_state import RandomState, as_generator
from podium.ratings.data import Ratings

__all__ = ["make_ratings"]

_SHARES = np.array([0.06, 0.11, 0.27, 0.34, 0.22])
"""Shares of one to five stars, interpolated for other numbers of grades."""
_BLOCK = 1 << 22  # users × items drawn at once


def make_ratings(
    n_users: int = 200,
    n_items: int = 100,
    n_ratings: int | None = None,
    n_grades: int = 5,
    random_state: RandomState = 0,
    *,
    n_factors: int = 3,
    taste: float = 0.7,
    noise: float = 0.7,
    min_ratings: int = 20,
) -> Ratings:
    """Return ratings that depend on an item's quality, a user's mood and taste (factors), and noise.

    Popular items are rated more often, and are better on average. A user's ratings are in order of time, spread over
    the whole period.

    Parameters
    ----------
    n_users, n_items : int
        How many there are.
    n_ratings : int, optional
        The exact total, by default 30 per user. Users give widely varying numbers of them, at least ``min_ratings``.
    n_grades : int
        Ratings are 1, 2 and so on up to this.
    random_state : int, numpy.random.Generator or None
        The same number gives the same ratings.
    n_factors : int
        Directions in which tastes differ.
    taste, noise : float
        Standard deviations of personal taste and of noise; the items' quality has 1.
    min_ratings : int
        Ratings of each user, at least.

    Returns
    -------
    Ratings
        With times.

    Examples
    --------
    >>> make_ratings(50, 40, 1500)
    Ratings(1500 ratings, 50 users, 40 items)
    """
    for name, count in (("n_users", n_users), ("n_items", n_items), ("n_grades", n_grades), ("n_factors", n_factors)):
        require_count(name, count)
    require_number("taste", taste, at_least=0)
    require_number("noise", noise, at_least=0)
    rng = as_generator(random_state)
    n = 30 * n_users if n_ratings is None else n_ratings
    sizes = _sizes(rng, n_users, n_items, n, min(min_ratings, n_items))
    quality = rng.standard_normal(n_items)
    popularity = 0.5 * quality + 1.5 * rng.standard_normal(n_items)
    user = np.repeat(np.arange(n_users), sizes)
    item = _draw_items(rng, popularity, sizes)

    users, items = (rng.standard_normal((count, n_factors)) for count in (n_users, n_items))
    liking = quality[item] + 0.5 * rng.standard_normal(n_users)[user] + noise * rng.standard_normal(n)
    liking += taste / np.sqrt(n_factors) * np.einsum("ij,ij->i", users[user], items[item])
    share = np.interp(np.arange(1, n_grades) / n_grades, np.arange(6) / 5, np.concatenate(([0], np.cumsum(_SHARES))))
    values = 1 + np.searchsorted(np.quantile(liking, share), liking)
    arrivals = rng.integers(0, 10**6, n)
    arrivals = arrivals[np.lexsort((arrivals, user))]
    return Ratings.from_numbers(user, item, values, arrivals, user_ids=np.arange(n_users), item_ids=np.arange(n_items))


def _sizes(rng: np.random.Generator, n_users: int, n_items: int, n: int, at_least: int) -> np.ndarray:
    """Return how many ratings each user gives: log-normal above ``at_least``, at most all items, ``n`` in total."""
    if not at_least * n_users <= n <= n_items * n_users:
        raise ValueError(
            f"{n_users} users with {at_least} to {n_items} ratings each cannot give {n} ratings in total: "
            "change n_ratings or min_ratings"
        )
    eagerness = np.exp(rng.standard_normal(n_users))
    sizes = np.full(n_users, at_least)
    while (left := n - int(sizes.sum())) > 0:
        weights = eagerness * (sizes < n_items)
        share = np.floor(left * weights / weights.sum()).astype(np.int64)
        if not share.any():  # the remainder of rounding goes to the most eager
            share[np.argsort(-weights, kind="stable")[: min(left, int((weights > 0).sum()))]] = 1
        sizes = np.minimum(sizes + share, n_items)
    return sizes


def _draw_items(rng: np.random.Generator, popularity: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Draw each user's items without repetition, by popularity: the largest perturbed log-weights (Gumbel's trick)."""
    step = max(1, _BLOCK // len(popularity))
    drawn = []
    for start in range(0, len(sizes), step):
        block = sizes[start : start + step]
        keys = popularity + rng.gumbel(size=(len(block), len(popularity)))
        best_first = np.argsort(-keys, axis=1)
        drawn.append(best_first[np.arange(len(popularity)) < block[:, None]])
    return np.concatenate(drawn)

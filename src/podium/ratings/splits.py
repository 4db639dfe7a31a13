"""Protocols that divide ratings into a training and a test part.

Every protocol draws with a seed, counts the users that it has to leave out, and numbers items as in the ratings it
divides.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from podium.core.parameters import require_choice, require_count
from podium.core.random_state import RandomState, as_generator
from podium.data.grouping import places_within
from podium.ratings.data import Ratings

__all__ = ["given_n", "held_out_users", "leave_last_out", "leave_one_out", "random_split", "time_split"]

Seed = RandomState | Sequence[int]
"""A seed of :func:`numpy.random.default_rng`."""


@dataclass(frozen=True, slots=True)
class RatingSplit:
    """Training and test ratings; ``train, test = split`` unpacks them (``train, given, test`` with held-out users)."""

    train: Ratings
    test: Ratings
    given: Ratings | None = None
    """With held-out users: the test users' ratings from which they are folded in."""
    n_dropped_users: int = 0
    """Users left out because they have too few ratings for the protocol."""

    def __iter__(self) -> Iterator[Ratings]:
        yield self.train
        if self.given is not None:
            yield self.given
        yield self.test


def given_n(ratings: Ratings, n: int = 10, random_state: Seed = 0, min_test: int = 10) -> RatingSplit:
    """Train on ``n`` ratings of each user, drawn at random, and test on the others (weak generalization).

    Users with fewer than ``n + min_test`` ratings are left out. Training and test ratings have the same users in the
    same order.

    Parameters
    ----------
    ratings : Ratings
        What to divide.
    n : int
        Ratings of each user to train on.
    random_state : int or numpy.random.Generator
        The same number gives the same parts.
    min_test : int
        Ratings of each user to test on, at least.

    Returns
    -------
    RatingSplit
        ``train``, ``test`` and ``n_dropped_users``.

    Examples
    --------
    >>> ratings = Ratings([1] * 5 + [2] * 2, [1, 2, 3, 4, 5, 1, 2], [1, 2, 3, 4, 5, 1, 2])
    >>> split = given_n(ratings, 2, min_test=3)
    >>> split.train, split.test, split.n_dropped_users
    (Ratings(2 ratings, 1 users, 5 items), Ratings(3 ratings, 1 users, 5 items), 1)
    """
    require_count("n", n)
    require_count("min_test", min_test)
    split, n_dropped = _long_enough(ratings, n + min_test, f"given-{n} needs {n} + {min_test} ratings per user")
    is_train = random_places(split.offsets, random_state) < n
    return RatingSplit(split.take(is_train), split.take(~is_train), n_dropped_users=n_dropped)


def held_out_users(
    ratings: Ratings, n: int = 10, random_state: Seed = 0, *, test_size: float = 0.1, min_test: int = 10
) -> RatingSplit:
    """Test on users not trained on, of whom ``n`` ratings each are given (strong generalization).

    A share ``test_size`` of the users with at least ``n + min_test`` ratings is held out; all others are trained on.

    Parameters
    ----------
    ratings : Ratings
        What to divide.
    n : int
        Ratings of each test user that are given.
    random_state : int or numpy.random.Generator
        The same number gives the same parts.
    test_size : float
        Share of the users to hold out.
    min_test : int
        Ratings of each test user to test on, at least.

    Returns
    -------
    RatingSplit
        ``train``, ``test`` and, of the users tested, the ratings ``given``.

    Examples
    --------
    >>> import podium
    >>> split = podium.held_out_users(podium.make_ratings(40, 50, 1200), 5, test_size=0.25)
    >>> split.train.n_users, split.test.n_users, len(split.given)
    (30, 10, 50)
    """
    require_count("n", n)
    require_count("min_test", min_test)
    _require_share("test_size", test_size)
    eligible = np.flatnonzero(ratings.sizes >= n + min_test)
    n_test = round(test_size * len(eligible))
    if not 0 < n_test < ratings.n_users:
        raise ValueError(
            f"a share of {test_size} of the {len(eligible)} users with at least {n} + {min_test} ratings is {n_test} "
            f"users to hold out of {ratings.n_users}: choose a smaller n or min_test, or another test_size"
        )
    rng = as_generator(random_state)
    is_test = np.zeros(ratings.n_users, bool)
    is_test[rng.permutation(eligible)[:n_test]] = True
    tested = ratings.take_users(is_test)
    is_given = random_places(tested.offsets, rng) < n
    return RatingSplit(ratings.take_users(~is_test), tested.take(~is_given), tested.take(is_given))


def leave_last_out(ratings: Ratings, n: int = 1, random_state: Seed = 0, *, min_train: int = 1) -> RatingSplit:
    """Test on the last ``n`` ratings of each user by time, and train on all earlier ones.

    Ratings given at the same time are ordered at random: the order of rows says nothing about what came last. Users
    with fewer than ``n + min_train`` ratings are left out.

    Parameters
    ----------
    ratings : Ratings
        What to divide; with times.
    n : int
        Ratings of each user to test on.
    random_state : int or numpy.random.Generator
        Draws among ratings of the same time; the same number gives the same parts.
    min_train : int
        Ratings of each user to train on, at least.

    Returns
    -------
    RatingSplit
        ``train``, ``test`` and ``n_dropped_users``.

    Examples
    --------
    >>> import podium
    >>> ratings = podium.Ratings(["a", "a", "a", "b"], ["x", "y", "z", "x"], [1, 5, 3, 4], times=[2, 9, 4, 1])
    >>> split = podium.leave_last_out(ratings, 2)
    >>> split.train.items.tolist(), split.test.items.tolist(), split.n_dropped_users
    (['x'], ['y', 'z'], 1)
    """
    require_count("n", n)
    require_count("min_train", min_train)
    if ratings.times is None:
        raise ValueError("these ratings have no times, which say what came last: random_split needs none")
    need = f"the last {n} for testing and {min_train} for training need {n + min_train} ratings per user"
    split, n_dropped = _long_enough(ratings, n + min_train, need)
    assert split.times is not None
    when = np.unique(split.times, return_inverse=True)[1]
    draw = as_generator(random_state).random(len(split))
    is_test = split.sizes[split.user] - places_within(split.offsets, when, draw) <= n
    return RatingSplit(split.take(~is_test), split.take(is_test), n_dropped_users=n_dropped)


def leave_one_out(ratings: Ratings, random_state: Seed = 0, *, by: str | None = None) -> RatingSplit:
    """Test on one rating of each user: the last by time, or one drawn at random.

    Users with a single rating are left out.

    Parameters
    ----------
    ratings : Ratings
        What to divide.
    random_state : int or numpy.random.Generator
        Draws the ratings to test on, where time does not decide: of equally late ones, any may be tested.
    by : {"time", "random"}, optional
        By default time, if the ratings have times.

    Returns
    -------
    RatingSplit
        ``train``, ``test`` and ``n_dropped_users``.

    Examples
    --------
    >>> import podium
    >>> split = podium.leave_one_out(podium.Ratings(["a", "a", "a"], ["x", "y", "z"], [1, 5, 3], times=[2, 9, 4]))
    >>> split.test.items.tolist(), len(split.train)
    (['y'], 2)
    """
    by = by or ("random" if ratings.times is None else "time")
    require_choice("by", by, ("time", "random"))
    if by == "time" and ratings.times is None:
        raise ValueError("these ratings have no times: use by='random'")
    if by == "time":
        return leave_last_out(ratings, 1, random_state)
    split, n_dropped = _long_enough(ratings, 2, "leave-one-out needs two ratings per user")
    is_test = random_places(split.offsets, random_state) == 0
    return RatingSplit(split.take(~is_test), split.take(is_test), n_dropped_users=n_dropped)


def random_split(ratings: Ratings, test_size: float = 0.2, random_state: Seed = 0) -> RatingSplit:
    """Test on a share of each user's ratings, drawn at random, and train on the others.

    The share is rounded to the nearest number, but every user has at least one rating in each part. Users with a single
    rating are left out.

    Parameters
    ----------
    ratings : Ratings
        What to divide.
    test_size : float
        Share of each user's ratings to test on.
    random_state : int or numpy.random.Generator
        The same number gives the same parts.

    Returns
    -------
    RatingSplit
        ``train``, ``test`` and ``n_dropped_users``.

    Examples
    --------
    >>> import podium
    >>> split = podium.random_split(podium.make_ratings(40, 50, 1200), 0.25)
    >>> len(split.train), len(split.test), int(split.test.sizes.min())
    (901, 299, 5)
    """
    split, n_dropped = _long_enough(ratings, 2, "a training and a test part need two ratings per user")
    return RatingSplit(*hold_out(split, test_size, random_state), n_dropped_users=n_dropped)


def time_split(ratings: Ratings, test_size: float = 0.2, *, at: Any = None) -> RatingSplit:
    """Train on all users' earlier ratings and test on the later ones.

    The test part has only users that also have training ratings; ``n_dropped_users`` counts the others.

    Parameters
    ----------
    ratings : Ratings
        What to divide; with times.
    test_size : float
        Share of the ratings to test on; more if ratings of the same time straddle the border.
    at : Any, optional
        The first time of the test part, instead of a share.

    Returns
    -------
    RatingSplit
        ``train``, ``test`` and ``n_dropped_users``.

    Examples
    --------
    >>> import podium
    >>> ratings = podium.Ratings(["a", "a", "b", "b"], ["x", "y", "x", "z"], [1, 5, 3, 2], times=[1, 4, 2, 3])
    >>> split = podium.time_split(ratings, at=3)
    >>> split.train.items.tolist(), split.test.items.tolist()
    (['x', 'x'], ['y', 'z'])
    """
    if ratings.times is None:
        raise ValueError("these ratings have no times, which a split by time needs")
    if at is None:
        _require_share("test_size", test_size)
        at = np.sort(ratings.times)[int((1 - test_size) * len(ratings))] if len(ratings) else 0
    is_train = ratings.times < at
    train, test = ratings.take(is_train), ratings.take(~is_train)
    known, tested = train.sizes > 0, test.sizes > 0
    if not (known & tested).any():
        raise ValueError(f"no user has ratings both before and from {at} on")
    n_dropped = int((tested & ~known).sum())
    return RatingSplit(train.take_users(known), test.take_users(known & tested), n_dropped_users=n_dropped)


def hold_out(ratings: Ratings, share: float = 0.2, random_state: Seed = 0) -> tuple[Ratings, Ratings]:
    """Return (the rest, a share) of each user's ratings, to choose hyper-parameters or a stopping point.

    The share is rounded to the nearest number, but users with two or more ratings have at least one in each part; a
    single rating is in the rest. Both parts have all users.
    """
    _require_share("share", share)
    sizes = ratings.sizes
    n_aside = np.clip(np.rint(share * sizes), np.minimum(1, sizes // 2), np.maximum(sizes - 1, 0)).astype(np.int64)
    is_aside = random_places(ratings.offsets, random_state) < n_aside[ratings.user]
    return ratings.take(~is_aside), ratings.take(is_aside)


def _require_share(name: str, value: float) -> None:
    if not 0 < value < 1:
        raise ValueError(f"{name} must lie between 0 and 1; got {value}")


def _long_enough(ratings: Ratings, at_least: int, need: str) -> tuple[Ratings, int]:
    """Return the users with at least so many ratings, and the number of the others."""
    enough = ratings.sizes >= at_least
    if not enough.any():
        longest = int(ratings.sizes.max(initial=0))
        raise ValueError(f"{need}; none of the {ratings.n_users} users has more than {longest}")
    return ratings.take_users(enough), int((~enough).sum())


def random_places(offsets: np.ndarray, random_state: Seed) -> np.ndarray:
    """(n_ratings,) place, from 0, of each rating in a random order of its user's ratings."""
    return places_within(offsets, as_generator(random_state).random(offsets[-1]))

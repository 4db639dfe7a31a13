"""Protocols that divide ratings into what a model learns from and what it is tested on.

Every protocol draws with a seed, counts the users that it has to leave out, and keeps the numbers of items: those of
training and test ratings mean the same items.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from podium.core.parameters import require_choice, require_count
from podium.data.grouping import places_within
from podium.ratings.data import Ratings

Seed = int | Sequence[int]
"""What :func:`numpy.random.default_rng` takes."""


@dataclass(frozen=True, slots=True)
class RatingSplit:
    """Training and test ratings; ``train, test = split`` unpacks them (``train, given, test`` with held-out users)."""

    train: Ratings
    test: Ratings
    given: Ratings | None = None
    """With held-out users: those of the test users' ratings that the model may see, to fold them in."""
    n_dropped_users: int = 0
    """Users left out, with all their ratings, because they have too few for the protocol."""

    def __iter__(self) -> Iterator[Ratings]:
        yield self.train
        if self.given is not None:
            yield self.given
        yield self.test


def given_n(ratings: Ratings, n: int = 10, random_state: Seed = 0, min_test: int = 10) -> RatingSplit:
    """``n`` ratings of each user, drawn at random, to train on; the others to test on (weak generalisation).

    Users with fewer than ``n + min_test`` ratings are left out. Training and test ratings have the same users, in the
    same order.

    Examples
    --------
    >>> ratings = Ratings([1] * 5 + [2] * 2, [1, 2, 3, 4, 5, 1, 2], [1, 2, 3, 4, 5, 1, 2])
    >>> split = given_n(ratings, 2, min_test=3)
    >>> split.train, split.test, split.n_dropped_users
    (Ratings(2 ratings, 1 users, 5 items), Ratings(3 ratings, 1 users, 5 items), 1)
    """
    require_count("n", n)
    require_count("min_test", min_test)
    kept, n_dropped = _long_enough(ratings, n + min_test, f"given-{n} needs {n} + {min_test} ratings of a user")
    is_train = _draw_order(kept, random_state) < n
    return RatingSplit(kept.take(is_train), kept.take(~is_train), n_dropped_users=n_dropped)


def held_out_users(
    ratings: Ratings, n: int = 10, random_state: Seed = 0, *, test_size: float = 0.1, min_test: int = 10
) -> RatingSplit:
    """Test on users that training has not seen, ``n`` ratings of each being given (strong generalisation).

    A share ``test_size`` of the users with at least ``n + min_test`` ratings is held out; all other users, short or
    long, are trained on.
    """
    require_count("n", n)
    require_count("min_test", min_test)
    if not 0 < test_size < 1:
        raise ValueError(f"test_size is the share of users held out, between 0 and 1; got {test_size}")
    eligible = np.flatnonzero(ratings.sizes >= n + min_test)
    n_test = round(test_size * len(eligible))
    if not 0 < n_test < ratings.n_users:
        raise ValueError(
            f"a share of {test_size} of the {len(eligible)} users with at least {n} + {min_test} ratings is {n_test} "
            f"users to hold out of {ratings.n_users}: give smaller n or min_test, or another test_size"
        )
    rng = np.random.default_rng(random_state)
    is_test = np.zeros(ratings.n_users, bool)
    is_test[rng.permutation(eligible)[:n_test]] = True
    tested = ratings.take_users(is_test)
    is_given = _draw_order(tested, rng) < n
    return RatingSplit(ratings.take_users(~is_test), tested.take(~is_given), tested.take(is_given))


def leave_one_out(ratings: Ratings, random_state: Seed = 0, *, by: str | None = None) -> RatingSplit:
    """One rating of each user to test on: the last by time, or one drawn at random.

    Users with a single rating are left out.

    Parameters
    ----------
    by : {"time", "random"}, optional
        By default time, if the ratings have times. Of equally late ratings, the one in the later row.
    """
    by = by or ("random" if ratings.times is None else "time")
    require_choice("by", by, ("time", "random"))
    if by == "time" and ratings.times is None:
        raise ValueError("these ratings have no times: use by='random'")
    kept, n_dropped = _long_enough(ratings, 2, "leave-one-out needs two ratings of a user")
    # Counted from a user's last rating backwards, or in the order drawn, number 0 is the one to test on.
    if by == "time":
        assert kept.times is not None
        place = kept.sizes[kept.user] - 1 - places_within(kept.offsets, kept.times)
    else:
        place = _draw_order(kept, random_state)
    return RatingSplit(kept.take(place > 0), kept.take(place == 0), n_dropped_users=n_dropped)


def time_split(ratings: Ratings, test_size: float = 0.2, *, at: Any = None) -> RatingSplit:
    """Train on what was rated first, test on what was rated later, by all users together.

    The test part has only users that are also in the training part; ``n_dropped_users`` counts the others.

    Parameters
    ----------
    test_size : float
        Share of the ratings to test on; more where ratings of the same time straddle the border.
    at : optional
        Instead of a share: the first moment of the test part.
    """
    if ratings.times is None:
        raise ValueError("these ratings have no times: a split by time needs them")
    if at is None:
        if not 0 < test_size < 1:
            raise ValueError(f"test_size is the share of ratings, between 0 and 1; got {test_size}")
        at = np.sort(ratings.times)[int((1 - test_size) * len(ratings))] if len(ratings) else 0
    is_train = ratings.times < at
    train, test = ratings.take(is_train), ratings.take(~is_train)
    known, asked = train.sizes > 0, test.sizes > 0
    if not (known & asked).any():
        raise ValueError(f"no user has ratings both before and from {at} on")
    return RatingSplit(
        train.take_users(known), test.take_users(known & asked), n_dropped_users=int((asked & ~known).sum())
    )


PROTOCOLS: dict[str, Callable[..., RatingSplit]] = {
    "given-n": given_n,
    "held-out-users": held_out_users,
    "leave-one-out": leave_one_out,
    "time": time_split,
}


def replicates(
    ratings: Ratings,
    protocol: str | Callable[..., RatingSplit] = "given-n",
    n_replicates: int = 10,
    random_state: int = 0,
    **options: Any,
) -> Iterator[RatingSplit]:
    """The same protocol again and again, each time with a seed of its own: number i is seeded by (random_state, i)."""
    require_count("n_replicates", n_replicates)
    if isinstance(protocol, str):
        require_choice("protocol", protocol, tuple(PROTOCOLS))
        protocol = PROTOCOLS[protocol]
    if protocol is time_split and n_replicates > 1:
        raise ValueError("a split by time has nothing random: one replicate is all there is")
    for i in range(n_replicates):
        seeded = {} if protocol is time_split else {"random_state": (random_state, i)}
        yield protocol(ratings, **seeded, **options)


def hold_out(ratings: Ratings, share: float = 0.2, random_state: Seed = 0) -> tuple[Ratings, Ratings]:
    """A share of each user's ratings set aside, to choose hyper-parameters or to stop on: (the rest, the share).

    It is rounded to the nearest number, but users with two or more ratings give at least one and keep at least one;
    those with a single rating keep it. Both parts have all users.
    """
    if not 0 < share < 1:
        raise ValueError(f"share is a part of each user's ratings, between 0 and 1; got {share}")
    sizes = ratings.sizes
    aside = np.clip(np.rint(share * sizes), np.minimum(1, sizes // 2), np.maximum(sizes - 1, 0)).astype(np.int64)
    is_aside = _draw_order(ratings, random_state) < aside[ratings.user]
    return ratings.take(~is_aside), ratings.take(is_aside)


def _long_enough(ratings: Ratings, at_least: int, need: str) -> tuple[Ratings, int]:
    """The users that have so many ratings, and the number of those that have not."""
    enough = ratings.sizes >= at_least
    if not enough.any():
        longest = int(ratings.sizes.max(initial=0))
        raise ValueError(f"{need}; the longest of {ratings.n_users} users has {longest}")
    return ratings.take_users(enough), int((~enough).sum())


def _draw_order(ratings: Ratings, random_state: Any) -> np.ndarray:
    """(n_ratings,) the place of each rating, from 0 on, in a random order of its user's ratings."""
    return places_within(ratings.offsets, np.random.default_rng(random_state).random(len(ratings)))

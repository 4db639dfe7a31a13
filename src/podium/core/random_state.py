"""Random generators and seeds from the ``random_state`` that a user gives."""

from collections.abc import Sequence

import numpy as np

RandomState = int | np.random.Generator | np.random.RandomState | None


def as_generator(random_state: RandomState | Sequence[int]) -> np.random.Generator:
    """Return a random generator from None, an integer or either kind of NumPy generator."""
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(2**31 - 1))
    try:
        return np.random.default_rng(random_state)
    except (TypeError, ValueError):
        raise ValueError(f"random_state must be None, an integer or a generator; got {random_state!r}") from None


def seed_of(random_state: RandomState) -> int:
    """Return a seed, for what keys its random numbers by one: an integer as it is; from None or a generator, drawn."""
    if isinstance(random_state, int | np.integer) and not isinstance(random_state, bool):
        return int(random_state)
    return int(as_generator(random_state).integers(2**31))


def consecutive_seeds(random_state: RandomState, n: int) -> range:
    """Return the seeds of ``n`` repetitions: from the given integer on, or from one drawn from a generator."""
    first = seed_of(random_state)
    return range(first, first + n)

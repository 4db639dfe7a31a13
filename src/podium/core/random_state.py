"""Random generators and seeds from the ``random_state`` that a user gives."""

import numpy as np

RandomState = int | np.random.Generator | np.random.RandomState | None


def as_generator(random_state: RandomState) -> np.random.Generator:
    """Return a random generator from None, an integer or either kind of NumPy generator."""
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(2**31 - 1))
    try:
        return np.random.default_rng(random_state)
    except (TypeError, ValueError):
        raise ValueError(f"random_state must be None, an integer or a generator; got {random_state!r}") from None


def seed_of(random_state: RandomState) -> int:
    """Return the seed for a loss that draws numbers: the ranker's own if that is an integer, else 0."""
    return int(random_state) if isinstance(random_state, int | np.integer) else 0

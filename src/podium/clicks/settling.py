"""Where repeating a step no longer changes anything, with extrapolation."""

import warnings
from collections.abc import Callable

import numpy as np

_LARGEST_LOG = 25.0
_LONGEST = 32.0


def settled(
    step: Callable[[np.ndarray], np.ndarray], start: np.ndarray, *, tolerance: float, most: int, what: str = ""
) -> np.ndarray:
    """Return the fixed point of a step from positive numbers to positive numbers.

    Repeats it with the extrapolation of Varadhan and Roland (*Simple and globally convergent methods for accelerating
    the convergence of any EM algorithm*, 2008) on logarithms, until these change by less than ``tolerance``. After
    ``most`` steps it warns, saying ``what`` has not settled, if that is named.
    """

    def logs_after(logs: np.ndarray) -> np.ndarray:
        return np.clip(np.log(np.maximum(step(np.exp(logs)), 1e-300)), -_LARGEST_LOG, _LARGEST_LOG)

    here = np.log(start)
    change = np.inf
    for _ in range(max(1, most // 3)):
        one = logs_after(here)
        two = logs_after(one)
        change = float(np.abs(two - one).max())
        if change < tolerance:
            return np.exp(two)
        first, second = one - here, two - 2 * one + here
        length = float(np.linalg.norm(first)) / max(float(np.linalg.norm(second)), 1e-300)
        length = min(max(1.0, length), _LONGEST)
        here = logs_after(np.clip(here + 2 * length * first + length**2 * second, -_LARGEST_LOG, _LARGEST_LOG))
    if what:
        warnings.warn(f"{what} still change by {change:.2g} of their value in a step after {most} steps", stacklevel=6)
    return np.exp(here)

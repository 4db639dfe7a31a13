"""Exponentials for loops over the pairs of a sorted list: one per document, not one per pair.

Of documents in the order of their scores, best first, e^{s_t − s_r} = worth_t / worth_r with worth_t = e^{s_t −
reference}. The reference is renewed where a row's score has fallen :data:`REACH` below it, so nothing overflows,
and what underflows to 0 is too small to be seen. Arrays are padded to whole vectors of :data:`LANES`.
"""

import numpy as np

from podium.numerics.compiling import Array, njit
from podium.numerics.elementary import FAST, exp

LANES = 8
"""Lists are padded to run in multiples of this, so that loops have no remainder."""
REACH = 20.0
"""e^(s − reference) is computed anew when scores have fallen this far below the reference."""


@njit(error_model="numpy")
def padded(n: int, like: Array) -> Array:
    """Return zeros for n documents and the padding, in the type of ``like``."""
    return np.zeros(n + LANES, like.dtype)


@njit(error_model="numpy", inline="always")
def padded_stop(first: int, n: int) -> int:
    """Return where a loop from ``first`` ends that covers n documents in whole vectors."""
    return first + (n - first + LANES - 1) // LANES * LANES


@njit(fastmath=FAST, error_model="numpy")
def fill_worth(s: Array, reference: float, steepness: float, worth: Array) -> None:
    """Write e^(steepness (s − reference)), or 0 where no row within REACH of the reference could tell it from that."""
    for t in range(len(s)):
        x = steepness * (s[t] - reference)
        e = exp(x)
        worth[t] = e if x > -80.0 else worth.dtype.type(0)

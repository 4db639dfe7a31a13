"""Stable order of one query's scores or labels, best first."""

from __future__ import annotations

import numpy as np
from numba import njit

COUNTING = 200
"""Up to this length, counting each entry's betters, which vectorises, beats merging."""


@njit(error_model="numpy")
def descending(x: np.ndarray, order: np.ndarray) -> None:
    """Write to ``order`` the positions of ``x``, largest entry first, equal ones in their given order."""
    if len(x) <= COUNTING:
        _by_counting(x, order)
    else:
        _by_merging(x, order)


@njit(error_model="numpy")
def _by_counting(x: np.ndarray, order: np.ndarray) -> None:
    n = len(x)
    place = np.zeros(n, np.uint32)
    for i in range(n):
        # One comparison places two documents: a later one goes before this one only if it is strictly larger.
        later, place_of_later = x[i + 1 :], place[i + 1 :]
        larger = np.uint32(0)
        for j in range(len(later)):
            is_larger = np.uint32(later[j] > x[i])
            larger += is_larger
            place_of_later[j] += np.uint32(1) - is_larger
        place[i] += larger
    for i in range(n):
        order[place[i]] = i


@njit(error_model="numpy")
def _by_merging(x: np.ndarray, order: np.ndarray) -> None:
    n = len(x)
    for first in range(0, n, COUNTING):
        run = order[first : first + COUNTING]
        _by_counting(x[first : first + COUNTING], run)
        for i in range(len(run)):
            run[i] += first
    merged = np.empty(n, order.dtype)
    width = COUNTING
    while width < n:
        for first in range(0, n, 2 * width):
            middle, stop = min(first + width, n), min(first + 2 * width, n)
            i, j = first, middle
            for k in range(first, stop):
                # The right run goes first only where it is strictly larger: equal entries keep their order.
                if i == middle or (j < stop and x[order[j]] > x[order[i]]):
                    merged[k] = order[j]
                    j += 1
                else:
                    merged[k] = order[i]
                    i += 1
        for k in range(n):  # Numba takes seconds to compile order[:] = merged
            order[k] = merged[k]
        width *= 2

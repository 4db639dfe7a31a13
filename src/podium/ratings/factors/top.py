"""The best items of many users: scores of blocks of users by one matrix product each, then the exact order.

The products are in single precision, which takes half the time. A bound on their error tells which items could be among
the best n; the scores of these few are computed again in double precision, as
:func:`podium.ratings.factors.model.pair_scores` does, and decide. So the result is that of computing all scores in
double precision, whatever the number of threads and the size of the blocks.
"""

from typing import Any

import numpy as np

from podium.core.arrays import Array
from podium.numerics.blas import quiet_blas
from podium.numerics.compiling import njit
from podium.numerics.pool import each, n_threads
from podium.ratings.factors.model import Matrices, dot

_BLOCK = 1 << 21
"""Scores computed at once by one thread: 8 MB of them, in single precision."""
_LARGEST = 1e15
"""Norms beyond this leave single precision, which ends at 3e38, no room for products."""
_STRIDE = 64  # items looked at together
_LOWEST = float(np.finfo(np.float32).min)


def top_items(matrices: Matrices, seen: Array, seen_offsets: Array, n: int) -> tuple[Array, Array]:
    """(n_users, n) numbers and scores of each user's best items outside the user's slice of ``seen``.

    Best first, the lower number first among equals; −1 where there are fewer than n.
    """
    users, items, bias = matrices
    n_users, n_items = len(users), len(bias)
    numbers, scores = np.full((n_users, n), -1, np.int64), np.full((n_users, n), -np.inf)
    if 0 in (n_users, n_items, n):
        return numbers, scores
    # The bias is the factor of a user who is 1 there.
    wide = np.column_stack((items, bias))
    length = float(np.sqrt((wide**2).sum(axis=1).max()))
    lengths = np.sqrt((users**2).sum(axis=1) + 1.0)
    # Rounding two factors, multiplying, adding up d + 1 products and rounding the threshold: each errs by at most one
    # unit of 2^-24, all by (d + 5).
    errors = 1.01 * (wide.shape[1] + 5) * 2.0**-24 * length * lengths + 1e-30
    exact = not (length < _LARGEST and lengths.max() < _LARGEST)  # also where a factor is not finite
    if exact:
        errors[:] = np.inf
    turned = np.zeros((wide.shape[1], n_items), np.float32) if exact else wide.T.astype(np.float32)
    step = max(1, min(_BLOCK // n_items, -(-n_users // n_threads())))

    def of_block(first: int) -> None:
        stop = min(first + step, n_users)
        block = np.ones((stop - first, wide.shape[1]), np.float32)
        if not exact:
            block[:, :-1] = users[first:stop]
        _best(first, block @ turned, errors, users, items, bias, seen, seen_offsets, numbers, scores)

    with quiet_blas():
        each(of_block, [(first,) for first in range(0, n_users, step)])
    return numbers, scores


@njit(cache=True, nogil=True, error_model="numpy")
def _best(
    first: int,
    screen: Array,
    errors: Array,
    w: Array,
    h: Array,
    b: Array,
    seen: Array,
    offsets: Array,
    numbers: Array,
    scores: Array,
) -> None:
    """Choose the best items of the users from ``first`` on by their rows of ``screen``, scores with errors."""
    highest = np.empty(numbers.shape[1], np.float32)
    for k in range(len(screen)):
        u, row = first + k, screen[k]
        for item in seen[offsets[u] : offsets[u + 1]]:
            if item >= 0:
                row[item] = -np.inf
        # An item among the best has at most one error less than the n-th best score, which has at most one too many.
        low = np.float32(max(_nth_highest(row, highest) - 2.0 * errors[u], _LOWEST))
        n_found = 0
        for start in range(0, len(row), _STRIDE):
            if _n_above(row[start : start + _STRIDE], low) == 0:
                continue
            for item in range(start, min(start + _STRIDE, len(row))):
                if row[item] >= low:
                    n_found = _insert(item, b[item] + dot(w[u], h[item]), n_found, numbers[u], scores[u])


@njit(cache=True, nogil=True, error_model="numpy")
def _nth_highest(row: Array, highest: Array) -> float:
    """Return the ``len(highest)``-th highest number of a row, or −∞; ``highest`` is scratch space."""
    n = len(highest)
    highest[:] = -np.inf
    for start in range(0, len(row), _STRIDE):
        part = row[start : start + _STRIDE]
        if _n_above(part, highest[n - 1]) == 0:
            continue
        for j in range(len(part)):
            score, place = part[j], n - 1
            if not score > highest[place]:
                continue
            while place > 0 and score > highest[place - 1]:
                highest[place] = highest[place - 1]
                place -= 1
            highest[place] = score
    return float(highest[n - 1])


@njit(cache=True, nogil=True, error_model="numpy")
def _n_above(part: Array, low: Any) -> int:
    """Return how many numbers are not below ``low``, without branches: most often none is."""
    n = 0
    for j in range(len(part)):
        n += part[j] >= low
    return n


@njit(cache=True, nogil=True, error_model="numpy")
def _insert(item: int, score: float, n_found: int, best: Array, best_scores: Array) -> int:
    """Insert an item into the best so far, behind those with an equal score; return how many these are now."""
    n = len(best)
    if n_found == n and not score > best_scores[n - 1]:
        return n_found
    place = n_found if n_found < n else n - 1
    while place > 0 and score > best_scores[place - 1]:
        best[place], best_scores[place] = best[place - 1], best_scores[place - 1]
        place -= 1
    best[place], best_scores[place] = item, score
    return min(n_found + 1, n)

"""Sums over all pairs of unequal grade in one query, for any function of the gap between their scores."""

from collections.abc import Callable

import numpy as np

from podium.numerics.compiling import Kernel, njit, unbound, with_globals
from podium.numerics.elementary import FAST


def over_pairs(pair: Kernel) -> Callable[..., float]:
    """Return :func:`_over_pairs` compiled for a function of the gap: ``pair(gap, settings)`` gives f, f' and f''.

    Compile ``pair`` with ``forceinline=True`` and write it without branches: then the loop over the worse documents,
    which lie side by side in label order, vectorizes.
    """
    loop = with_globals(_over_pairs, pair=pair)
    return njit(fastmath=FAST, error_model="numpy")(loop)


pair: Kernel = unbound


def _over_pairs(
    settings: tuple[float, ...],
    scale: float,
    scores: np.ndarray,
    order: np.ndarray,
    bounds: np.ndarray,
    gradient: np.ndarray,
    curvature: np.ndarray,
) -> float:
    """Return ``scale`` times the sum of f(s_i − s_j) over the pairs in which i has the better grade; write derivatives.

    ``settings`` are handed on to the function of the gap; they must have the type of the scores. ``order`` and
    ``bounds`` are this query's (see :mod:`podium.numerics.grades`).
    """
    n = len(scores)
    number = scores.dtype.type
    wanted = len(curvature) > 0
    s, slopes, bends = np.empty(n, scores.dtype), np.zeros(n, scores.dtype), np.zeros(n, scores.dtype)
    for i in range(n):
        s[i] = scores[order[i]]
    value = 0.0
    for g in range(len(bounds) - 2):
        worse, slopes_of_worse, bends_of_worse = s[bounds[g + 1] :], slopes[bounds[g + 1] :], bends[bounds[g + 1] :]
        for i in range(bounds[g], bounds[g + 1]):
            s_i = s[i]
            sum_f = sum_slope = sum_bend = number(0)
            for j in range(len(worse)):
                f, slope, bend = pair(s_i - worse[j], settings)
                sum_f += f
                sum_slope += slope
                slopes_of_worse[j] -= slope
                if wanted:
                    sum_bend += bend
                    bends_of_worse[j] += bend
            value += sum_f
            slopes[i] += sum_slope
            bends[i] += sum_bend
    for i in range(n):
        gradient[order[i]] = slopes[i] * number(scale)
    for i in range(len(curvature)):
        curvature[order[i]] = bends[i] * number(scale)
    return scale * value

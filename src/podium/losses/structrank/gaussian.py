"""Gaussian functions of StructRank's network: −log of the distribution function of two correlated normal variables.

    φ(r, r′) = P(Z ≤ w1 r, Z′ ≤ w2 r′),        Z and Z′ standard normal with correlation ρ

Given their common part z, the two are independent, so that with c = √ρ and d = √(1 − ρ)

    φ = ∫ N(z) Φ((x − c z)/d) Φ((y − c z)/d) dz,        x = w1 r,  y = w2 r′.

The logarithm of the integrand is concave in z. Equal steps around its mode, found by Newton's method, add it up to
1e-10 for any x and y, also where φ itself would underflow. Such functions are log-concave: the loss stays convex.

Huang & Frey, NIPS 2008, name them in their section 6.2 as a generalization and do not try them.
"""

import math
from functools import cache
from typing import Any

import numpy as np

from podium.losses.structrank.sums import listed_terms
from podium.numerics.calls import routine
from podium.numerics.compiling import Array, njit

_HALF_LOG_2PI = 0.5 * math.log(2.0 * math.pi)
_FAR = 40.0  # Φ is 1 there, to rounding
_REACH = 7.5  # deviations of z on either side of the mode


@njit(error_model="numpy")
def log_normal(x: float) -> float:
    """Return log Φ(x), of the standard normal distribution function, also where Φ underflows."""
    if x > -37.0:
        return math.log(0.5 * math.erfc(-x * math.sqrt(0.5)))
    s = 1.0 / (x * x)
    series = 1.0 - s * (1.0 - 3.0 * s * (1.0 - 5.0 * s * (1.0 - 7.0 * s)))
    return -0.5 * x * x - math.log(-x) - _HALF_LOG_2PI + math.log(series)


@njit(error_model="numpy")
def _mills(u: float) -> float:
    """Return the slope of log Φ."""
    return math.exp(-0.5 * u * u - _HALF_LOG_2PI - log_normal(u))


@njit(error_model="numpy")
def log_both(x: float, y: float, correlation: float) -> float:
    """Return log P(Z ≤ x, Z′ ≤ y); x and y may be infinite."""
    x, y = min(x, _FAR), min(y, _FAR)
    c, d = math.sqrt(correlation), math.sqrt(1.0 - correlation)
    z = 0.0
    for _ in range(20):  # from the right of the mode, whence Newton's steps never pass it
        u, v = (x - c * z) / d, (y - c * z) / d
        m, k = _mills(u), _mills(v)
        slope = -z - c / d * (m + k)
        step = slope / (1.0 + (c / d) ** 2 * (m * (u + m) + k * (v + k)))
        z += step
        if abs(step) < 0.01:
            break
    highest = -0.5 * z * z + log_normal((x - c * z) / d) + log_normal((y - c * z) / d)
    h = 0.9 * math.sqrt((1.0 - correlation) / (1.0 + correlation))  # of the narrowest peak's deviation
    n = int(_REACH / h) + 1
    total = 0.0
    for i in range(-n, n + 1):
        t = z + i * h
        total += math.exp(-0.5 * t * t + log_normal((x - c * t) / d) + log_normal((y - c * t) / d) - highest)
    return highest + math.log(total * h) - _HALF_LOG_2PI


@njit(error_model="numpy")
def gaussian_term(x: float, y: float, correlation: float) -> tuple[float, float, float]:
    """Return −log P(Z ≤ x, Z′ ≤ y) and its two derivatives; with y infinite, those of one variable."""
    if y == np.inf:
        f = log_normal(x)
        return -f, -_mills(x), 0.0
    f = log_both(x, y, correlation)
    rest = math.sqrt(1.0 - correlation * correlation)
    of_x = math.exp(-0.5 * x * x - _HALF_LOG_2PI + log_normal((y - correlation * x) / rest) - f)
    of_y = math.exp(-0.5 * y * y - _HALF_LOG_2PI + log_normal((x - correlation * y) / rest) - f)
    return -f, -of_x, -of_y


@njit(error_model="numpy")
def _sum_distinct_gaussian(model: Any, start: int, stop: int, block: int, sums: Array) -> None:
    """Do what :func:`podium.losses.structrank.sums.distinct_pairs_address` stands for: pair by pair of margins."""
    r, count, squared, weights, slope, own_slope, d_weights, work = model
    w1, w2, correlation = weights[0], weights[1], weights[2]
    work[0] += len(r) * len(r)
    value = 0.0
    slope[:] = 0.0
    for k in range(len(r)):
        for l in range(len(r)):  # noqa: E741
            f, of_x, of_y = gaussian_term(w1 * r[k], w2 * r[l], correlation)
            weight = count[k] * count[l]
            if k == l:
                weight -= squared[k]
                own_slope[k] = w1 * of_x + w2 * of_y
            value += weight * f
            slope[k] += count[l] * w1 * of_x
            slope[l] += count[k] * w2 * of_y
            d_weights[0] += weight * r[k] * of_x
            d_weights[1] += weight * r[l] * of_y
    sums[0] = value


@cache
def gaussian_pairs_address() -> int:
    """Return where the sum over pairs of edges is."""
    return routine(_sum_distinct_gaussian, (np.empty(0),) * 8).call.function


_sum_listed_gaussian = listed_terms(gaussian_term, "gaussian")


@cache
def gaussian_terms_address() -> int:
    """Return where the sum over listed terms is."""
    return routine(_sum_listed_gaussian, (np.empty(0),) * 7).call.function

"""ListNet with another positive, increasing function φ in place of exp, and with other divergences than cross entropy.

    P_y(j) = φ(y_j) / Σ φ(y)        P_s(j) = φ(s_j) / Σ φ(s)        L = D(P_y, P_s)

The slides that introduce ListNet allow "an increasing and strictly positive function φ" and "any metric" between the
two distributions; its experiments take exp and cross entropy.
"""

import math
from typing import Any

import numpy as np

from podium.numerics.compiling import njit
from podium.numerics.kernels import Derivatives, OneList, own

PHIS = ("exp", "softplus", "sigmoid")
DIVERGENCES = ("cross-entropy", "reverse-kl", "squared", "hellinger", "jensen-shannon")
_SMALLEST = 1e-300


@njit(error_model="numpy")
def log_phi(x: float, phi: int) -> tuple[float, float]:
    """Return log φ(x) and its derivative."""
    if phi == 0:
        return x, 1.0
    if phi == 1:  # softplus is e^x far to the left
        if x < -30.0:
            return x, 1.0
        value = max(x, 0.0) + math.log1p(math.exp(-abs(x)))
        return math.log(value), 1.0 / ((1.0 + math.exp(-x)) * value)
    e = math.exp(-abs(x))
    return min(x, 0.0) - math.log1p(e), (e if x >= 0.0 else 1.0) / (1.0 + e)


@njit(cache=True, error_model="numpy")
def log_phis(x: np.ndarray, phi: int) -> np.ndarray:
    """Return log φ of all entries."""
    result = np.empty(len(x))
    for i in range(len(x)):
        result[i] = log_phi(x[i], phi)[0]
    return result


@njit(error_model="numpy")
def _compared(p: float, log_p: float, t: float, divergence: int) -> tuple[float, float]:
    """Return one document's part of the divergence, and its derivative in p times p, but for a constant times p."""
    if divergence == 0:
        return -t * log_p, -t
    if divergence == 1:
        ratio = log_p - math.log(t)
        return p * ratio, p * ratio
    if divergence == 2:
        return (p - t) ** 2, 2.0 * p * (p - t)
    if divergence == 3:
        root = math.sqrt(p * t)
        return 0.5 * (p + t) - root, -0.5 * root
    log_mean = math.log(0.5 * (p + t))
    of_p = log_p - log_mean if p > _SMALLEST else 0.0
    return 0.5 * (t * (math.log(t) - log_mean) + p * of_p), 0.5 * p * of_p


@njit(error_model="numpy")
def listnet_divergence(given: OneList, prepared: Any, out: Derivatives) -> float:
    """Compare the first place. With u = log φ(s), P_s is the softmax of u."""
    scores, gradient, n = given.scores, out.gradient, len(given.scores)
    target, phi, divergence = own(prepared[0], given), prepared[1], prepared[2]
    u, slope = np.empty(n), np.empty(n)
    top = -np.inf
    for i in range(n):
        u[i], slope[i] = log_phi(scores[i], phi)
        top = max(top, u[i])
    total = 0.0
    for i in range(n):
        total += math.exp(u[i] - top)
    log_total = top + math.log(total)
    value, pull = 0.0, 0.0
    for i in range(n):
        log_p = u[i] - log_total
        part, gradient[i] = _compared(math.exp(log_p), log_p, max(target[i], _SMALLEST), divergence)
        value += part
        pull += gradient[i]
    for i in range(n):
        gradient[i] = (gradient[i] - math.exp(u[i] - log_total) * pull) * slope[i]
    return value

"""How badly a ranking fits a list's scores: a sum over pairs of documents that takes linear time.

A ranking R gives document j the rank r_j = 1 … m. Its energy, low where higher scores come first, is

    E(R | s) = 2/(m(m − 1)) Σ_{r_j > r_k} g(r_j − r_k) (s_j − s_k).

All other ranks occur exactly once, so what document j adds depends on nothing but its own rank, whatever g is:

    E(R | s) = Σ_j h(r_j) s_j,        h(r) = 2/(m(m − 1)) [ Σ_{x < r} g(x) − Σ_{x ≤ m − r} g(x) ].

With g(x) = 2x/(m − 1) this is h(r) = 4/(m − 1)² (r − (m + 1)/2), and g(x) = sign(x) gives the same up to a constant.
"""

from collections.abc import Callable

import numpy as np

PairWeight = Callable[[np.ndarray, int], np.ndarray]
"""g(x, m): the weight of pairs that stand x = 1, 2, … ranks apart in a list of m; positive."""

PAIR_WEIGHTS: dict[str, PairWeight] = {
    "linear": lambda x, m: 2.0 * x / (m - 1),
    "sign": lambda x, m: np.ones(len(x)),
    "logistic": lambda x, m: np.tanh(0.5 * x),  # 2 / (1 + exp(−x)) − 1: odd, as a weight of differences must be
}


def rank_weights(m: int, g: PairWeight) -> np.ndarray:
    """Return (m,) h of the ranks 1 … m, rising and adding up to 0; zeros for a single document."""
    if m < 2:
        return np.zeros(m)
    sums = np.concatenate(([0.0], np.cumsum(g(np.arange(1.0, m), m))))
    return 2.0 / (m * (m - 1.0)) * (sums - sums[::-1])

"""Many small ridge regressions at once, one for each row of a sparse matrix: a half of alternating least squares."""

from __future__ import annotations

import math

import numpy as np
from numba import njit, prange

from podium.numerics.compiling import ONLY_PRANGE


@njit(cache=True, parallel=ONLY_PRANGE, error_model="numpy")
def ridge_rows(
    offsets: np.ndarray, columns: np.ndarray, targets: np.ndarray, design: np.ndarray, penalty: np.ndarray
) -> np.ndarray:
    """(n_rows, n_features): row r minimises Σ_k (targets_k − x · design[columns_k])² + Σ_d penalty_d x_d² over its k.

    Row r owns the slice ``offsets[r]:offsets[r + 1]`` of ``columns`` and ``targets``. Penalties are positive, so a row
    without entries is zero.
    """
    solution = np.zeros((len(offsets) - 1, design.shape[1]))
    for r in prange(len(offsets) - 1):
        start, stop = offsets[r], offsets[r + 1]
        if stop > start:
            _ridge(columns[start:stop], targets[start:stop], design, penalty, solution[r])
    return solution


@njit(cache=True, error_model="numpy")
def _ridge(
    columns: np.ndarray, targets: np.ndarray, design: np.ndarray, penalty: np.ndarray, solution: np.ndarray
) -> None:
    """Normal equations by Cholesky's method, which positive penalties make safe."""
    n = len(penalty)
    gram = np.zeros((n, n))
    for k in range(len(columns)):
        x = design[columns[k]]
        for i in range(n):
            solution[i] += targets[k] * x[i]
            for j in range(i + 1):
                gram[i, j] += x[i] * x[j]
    for i in range(n):
        gram[i, i] += penalty[i]
    for i in range(n):  # gram becomes its factor, forward substitution on the way
        for j in range(i + 1):
            rest = gram[i, j]
            for d in range(j):
                rest -= gram[i, d] * gram[j, d]
            gram[i, j] = math.sqrt(rest) if i == j else rest / gram[j, j]
        for d in range(i):
            solution[i] -= gram[i, d] * solution[d]
        solution[i] /= gram[i, i]
    for i in range(n - 1, -1, -1):
        for d in range(i + 1, n):
            solution[i] -= gram[d, i] * solution[d]
        solution[i] /= gram[i, i]

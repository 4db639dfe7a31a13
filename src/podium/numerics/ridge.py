"""Many small ridge regressions at once, one per row of a sparse matrix: half a step of alternating least squares."""

import math

import numpy as np

from podium.numerics.compiling import Array, njit
from podium.numerics.pool import share


def ridge_rows(offsets: Array, columns: Array, targets: Array, design: Array, penalty: Array) -> Array:
    """Return (n_rows, n_features) solutions.

    Row r minimizes Σ_k (targets_k − x · design[columns_k])² + Σ_d penalty_d x_d² over its k,
    the slice ``offsets[r]:offsets[r + 1]`` of ``columns`` and ``targets``. Penalties are positive, so a row without
    entries is zero.
    """
    solution = np.zeros((len(offsets) - 1, design.shape[1]))
    work = float(len(columns)) * design.shape[1] ** 2
    share(_solve_rows, offsets, offsets, columns, targets, design, penalty, solution, work=work)
    return solution


@njit(cache=True, nogil=True, error_model="numpy")
def _solve_rows(
    first: int,
    stop: int,
    offsets: Array,
    columns: Array,
    targets: Array,
    design: Array,
    penalty: Array,
    solution: Array,
) -> None:
    for r in range(first, stop):
        here = slice(offsets[r], offsets[r + 1])
        if len(columns[here]) > 0:
            _ridge(columns[here], targets[here], design, penalty, solution[r])


@njit(cache=True, error_model="numpy")
def _ridge(columns: Array, targets: Array, design: Array, penalty: Array, solution: Array) -> None:
    """Solve the normal equations by Cholesky's method, which positive penalties make safe."""
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

"""Ordered partitions with the geometric potential, Φ(X) = exp(mean of s over X): the exact likelihood.

    −log p = Σ_k [ log Σ_{∅≠S⊆R_k} exp(mean_S s) − mean_{X_k} s ]

The sum over subsets, which the paper samples, is exact here (:mod:`podium.numerics.subsets.sums`): O(N³) for a stage
with N documents left. On two documents the model is Davidson's with ν = 1.
"""

from typing import Any

import numpy as np

from podium.numerics.compiling import njit
from podium.numerics.elementary import all_finite
from podium.numerics.grades import own_groups
from podium.numerics.kernels import Derivatives, OneList
from podium.numerics.subsets.sums import log_subset_sum


@njit(error_model="numpy")
def pmop_geometric(given: OneList, prepared: Any, out: Derivatives) -> float:
    scores, n = given.scores, len(given.scores)
    if not all_finite(scores):
        return np.nan  # the caller says which query it is
    order, bounds = own_groups(prepared[0], given)
    by_grade, result = scores[order].astype(np.float64), np.zeros(n)
    derivative, membership = np.empty(n), np.empty(n)
    value = 0.0
    for k in range(len(bounds) - 1):
        first_left, size = bounds[k], bounds[k + 1] - bounds[k]
        left = by_grade[first_left:]
        value += log_subset_sum(left, derivative[first_left:], membership[first_left:])
        result[first_left:] += derivative[first_left:]
        for i in range(first_left, bounds[k + 1]):
            value -= by_grade[i] / size
            result[i] -= 1.0 / size
    out.gradient[order] = result
    return value

"""The loop over queries and the way it calls a loss's kernel."""

from __future__ import annotations

import numpy as np
import pytest
from numba import njit

from podium.losses import RankRegressLoss
from podium.numerics.calls import pack, prepare_call
from podium.numerics.loop import over_queries


@njit(error_model="numpy")
def _echo(scores, prepared, q, start, parameters, gradient, curvature, d_parameters):
    """A kernel that shows all it was given."""
    by_document, by_query, table, whole, real, yes = prepared
    for i in range(len(scores)):
        gradient[i] = scores[i] + by_document[start + i]
    for i in range(len(curvature)):
        curvature[i] = q
    d_parameters[0] = parameters[0] * by_query[q]
    d_parameters[1] = table[q, 1] + len(curvature)
    return real if yes else whole


@pytest.mark.parametrize("curved", [False, True])
@pytest.mark.parametrize("yes", [False, True])
def test_a_kernel_sees_what_was_prepared(curved: bool, yes: bool) -> None:
    offsets = np.array([0, 2, 2, 5])
    scores, gradient = np.arange(5.0), np.empty(5)
    curvature = np.empty(5 if curved else 0)
    by_document = np.arange(10, 15, dtype=np.uint16)
    table = np.asfortranarray(np.arange(6, dtype=np.int32).reshape(3, 2))  # entries are given C order
    packed = pack((by_document, np.array([1.0, 2.0, 3.0]), table, -7, 0.25, yes))
    parameters = np.array([5.0, 0.0])
    values, d_parameters = np.empty(2), np.empty((2, 2))
    call = prepare_call(_echo, packed, scores, gradient, parameters, curvature)
    queries = np.array([2, 0])
    weights = np.array([1.0, 1.0, 2.0])
    over_queries(call.entry, call.address, offsets, weights, queries, gradient, curvature, values, d_parameters)
    value = 0.25 if yes else -7.0
    np.testing.assert_array_equal(values, [2 * value, value])
    np.testing.assert_array_equal(gradient, [10, 12, 28, 32, 36])
    np.testing.assert_array_equal(d_parameters, [[30, 2 * (5 + 3 * curved)], [5, 1 + 2 * curved]])
    np.testing.assert_array_equal(curvature, [0, 0, 4, 4, 4] if curved else [])


def test_a_loss_that_overflows_says_where() -> None:
    scores = np.array([0.0, 1.0, 1e200, -1e200])
    with pytest.raises(ValueError, match="RankRegressLoss is nan on query number 1, whose scores reach from -1e"):
        RankRegressLoss().value_and_gradient(scores, [1, 0, 0, 1], [0, 2, 4])

"""Stable descending order: NumPy's as oracle."""

from __future__ import annotations

import numpy as np
import pytest

from podium.numerics.sorting import COUNTING, descending


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", [0, 1, 2, 7, 8, 9, COUNTING - 1, COUNTING, COUNTING + 1, 2 * COUNTING, 5 * COUNTING + 3])
def test_order(dtype: type, n: int) -> None:
    rng = np.random.default_rng(n)
    for x in (
        rng.normal(size=n),
        rng.integers(-3, 3, n),
        np.zeros(n),
        np.arange(n),
        -np.arange(n),
        rng.choice([-0.0, 0.0, 1e-30, -1e30, np.inf, -np.inf], n),
    ):
        order = np.empty(n, np.uint32)
        descending(x.astype(dtype), order)
        np.testing.assert_array_equal(order, np.argsort(-x, kind="stable"))


@pytest.mark.parametrize("n", [5, 100, COUNTING, COUNTING + 1])
def test_numbers_that_are_none_leave_numbers_of_entries(n: int) -> None:
    """Who sorts NaN gets some order, but never an index outside of the array."""
    x = np.random.default_rng(n).normal(size=n)
    x[[1, n - 1]] = np.nan
    order = np.full(n, np.iinfo(np.uint32).max, np.uint32)
    descending(x, order)
    assert (order < n).all()

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

"""Error of the polynomial functions, in units in the last place against NumPy's extended precision."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from numba import njit

from podium.numerics.elementary import FAST, all_finite, exp, extent, largest, log, log1p, log1p_unit, split

every_type = pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=["float32", "float64"])


def over(function: Callable[[float], float]) -> Callable[[np.ndarray], np.ndarray]:
    """The function over an array, compiled as kernels do."""

    @njit(fastmath=FAST, error_model="numpy")
    def loop(x: np.ndarray) -> np.ndarray:
        y = np.empty_like(x)
        for i in range(len(x)):
            y[i] = function(x[i])
        return y

    return loop


def units_off(result: np.ndarray, exact: np.ndarray) -> float:
    return float((np.abs(result - exact) / np.spacing(np.abs(exact).astype(result.dtype))).max())


@every_type
def test_exp(dtype: type) -> None:
    low, high = (-87.0, 88.0) if dtype == np.float32 else (-708.0, 709.0)
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.uniform(low, high, 400_000), rng.uniform(-2, 2, 400_000), [0.0, low, high]]).astype(dtype)
    y = over(exp)(x)
    assert y.dtype == dtype
    assert units_off(y, np.exp(x.astype(np.longdouble))) < 1.1
    assert over(exp)(np.zeros(1, dtype))[0] == 1


@every_type
def test_exp_beyond_its_range_is_neither_zero_nor_infinite(dtype: type) -> None:
    smallest, largest = over(exp)(np.array([-np.inf, np.inf], dtype))
    assert 0 < smallest < 1e-37
    assert 1e37 < largest < np.inf


@every_type
def test_log(dtype: type) -> None:
    reach = 37 if dtype == np.float32 else 300
    rng = np.random.default_rng(1)
    x = np.concatenate([10 ** rng.uniform(-reach, reach, 400_000), rng.uniform(0.5, 2, 400_000), [1.0]]).astype(dtype)
    assert units_off(over(log)(x), np.log(x.astype(np.longdouble))) < 1.1
    assert over(log)(np.ones(1, dtype))[0] == 0


@every_type
def test_log1p(dtype: type) -> None:
    rng = np.random.default_rng(2)
    u = np.concatenate([10 ** rng.uniform(-30, 20, 400_000), rng.random(400_000), [0.0]]).astype(dtype)
    assert units_off(over(log1p)(u), np.log1p(u.astype(np.longdouble))) < 1.5


@every_type
def test_log1p_of_at_most_one(dtype: type) -> None:
    rng = np.random.default_rng(3)
    u = np.concatenate([10 ** rng.uniform(-30, 0, 400_000), rng.random(400_000), [0.0, 1.0]]).astype(dtype)
    assert units_off(over(log1p_unit)(u), np.log1p(u.astype(np.longdouble))) < 3.5


@every_type
def test_split(dtype: type) -> None:
    @njit(error_model="numpy")
    def loop(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        mantissas, exponents = np.empty_like(x), np.empty(len(x), np.int64)
        for i in range(len(x)):
            mantissas[i], exponents[i] = split(x[i])
        return mantissas, exponents

    x = (10 ** np.random.default_rng(4).uniform(-37, 37, 10_000)).astype(dtype)
    mantissas, exponents = loop(x)
    assert ((mantissas >= 1) & (mantissas < 2)).all()
    np.testing.assert_array_equal(np.ldexp(mantissas, exponents.astype(np.int32)), x)


def test_outside_compiled_code_they_are_those_of_math() -> None:
    assert exp(0.3) == math.exp(0.3)
    assert log(0.3) == math.log(0.3)
    assert log1p(0.3) == log1p_unit(0.3) == math.log1p(0.3)
    assert split(12.0) == (1.5, 3)


@every_type
def test_extent_and_finiteness(dtype: type) -> None:
    x = np.random.default_rng(5).normal(size=1003).astype(dtype)
    assert extent(x) == (x.min(), x.max())
    assert extent(x[:1]) == (x[0], x[0])
    assert largest(x) == x.max()
    for few in ([-3.0, -1.0, -2.0], [-0.0, -5.0], [0.0, 1e-40, -1e-40], [-np.inf, -1.0], [2.0, np.inf]):
        y = np.array(few, dtype)
        assert (*extent(y), largest(y)) == (y.min(), y.max(), y.max())
    assert np.isnan(largest(np.array([1.0, np.nan, 3.0], dtype)))
    assert all_finite(x)
    for bad in (np.nan, np.inf, -np.inf):
        for place in (0, 500, 1002):
            y = x.copy()
            y[place] = bad
            assert not all_finite(y)

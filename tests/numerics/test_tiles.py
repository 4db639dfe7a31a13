"""Vectors and tiles: NumPy's arithmetic as oracle, over whole arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numba import njit

from podium.numerics.elementary import log1p_unit
from podium.numerics.tiles import (
    MOST,
    add_over_columns,
    beyond,
    exceeds,
    four_before,
    four_of,
    keep,
    load,
    over_rows,
    reaches,
    rounded_up,
    rows,
    store,
    unowned,
    width,
)

every_type = pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=["float32", "float64"])


@njit
def _arithmetic(x: np.ndarray, y: np.ndarray, out: np.ndarray) -> None:
    for t in range(0, len(x), width(x)):
        a, b = load(x, t), load(y, t)
        store(out, t, abs(max(min(a * b - 2.0 / b, 1.5), 0.0 - a) + 3 * a) - 0.5)


@njit
def _four_against_all(x: np.ndarray, y: np.ndarray, first: int, row_sums: np.ndarray, column_sums: np.ndarray) -> None:
    mine, zero = four_of(x, first), x.dtype.type(0)
    sums = rows(zero, zero, zero, zero)
    for t in range(0, len(y), width(y)):
        tile = mine * load(y, t) + 1.0
        tile /= 2.0
        sums += tile
        store(column_sums, t, load(column_sums, t) + over_rows(tile))
    add_over_columns(row_sums, first, sums)


@every_type
def test_arithmetic(dtype: type) -> None:
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=48).astype(dtype), rng.uniform(0.5, 2, 48).astype(dtype)
    out = np.empty_like(x)
    _arithmetic(x, y, out)
    expected = np.abs(np.maximum(np.minimum(x * y - 2 / y, dtype(1.5)), -x) + 3 * x) - dtype(0.5)
    np.testing.assert_allclose(out, expected, rtol=8 * np.finfo(dtype).eps, atol=8 * np.finfo(dtype).eps)


@every_type
def test_sums_over_rows_and_columns(dtype: type) -> None:
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=16).astype(dtype), rng.normal(size=32).astype(dtype)
    row_sums, column_sums = np.ones(16, dtype), np.ones(32, dtype)
    _four_against_all(x, y, 5, row_sums, column_sums)
    tile = (np.outer(x[5:9], y) + 1) / 2
    np.testing.assert_allclose(row_sums[5:9], 1 + tile.sum(axis=1), rtol=1e-5 if dtype == np.float32 else 1e-14)
    np.testing.assert_allclose(column_sums, 1 + tile.sum(axis=0), rtol=1e-5 if dtype == np.float32 else 1e-14)
    assert (np.delete(row_sums, range(5, 9)) == 1).all()  # nothing else is touched


@every_type
@pytest.mark.parametrize("place", [-3, 0, 2, 7, 20])
def test_beyond_a_place(dtype: type, place: int) -> None:
    @njit
    def write(x: np.ndarray, place: int, out: np.ndarray) -> None:
        tile, zero = four_of(x, 0), x.dtype.type(0)
        sums = beyond(tile, place)
        for k in range(4):
            alone = rows(
                x[0] if k == 0 else zero,
                x[1] if k == 1 else zero,
                x[2] if k == 2 else zero,
                x[3] if k == 3 else zero,
            )
            store(out, k * width(x), over_rows(sums * alone))

    x = np.array([1, 2, 3, 4], dtype)
    n = 64 // x.itemsize
    out = np.empty(4 * n, dtype)
    write(x, place, out)
    expected = [[x[k] ** 2 if lane > place + k else 0 for lane in range(n)] for k in range(4)]
    np.testing.assert_array_equal(out.reshape(4, n), expected)


@every_type
def test_comparisons(dtype: type) -> None:
    @njit
    def write(x: np.ndarray, y: np.ndarray, out: np.ndarray) -> None:
        store(out, 0, exceeds(load(x, 0), load(y, 0)) + 2.0 * reaches(load(x, 0), load(y, 0)))

    rng = np.random.default_rng(2)
    x, y = rng.integers(0, 3, (2, 16)).astype(dtype)
    out = np.empty_like(x)
    write(x, y, out)
    n = 64 // x.itemsize
    np.testing.assert_array_equal(out[:n], ((x > y) + 2 * (x >= y))[:n])


@every_type
def test_logarithms_and_vectors_that_overlap(dtype: type) -> None:
    @njit
    def write(x: np.ndarray, out: np.ndarray) -> None:
        store(out, 0, over_rows(log1p_unit(four_before(x, 3))))

    x = np.random.default_rng(3).random(32).astype(dtype)
    out = np.empty_like(x)
    write(x, out)
    n = 64 // x.itemsize
    expected = sum(np.log1p(x[first : first + n].astype(float)) for first in range(4))
    np.testing.assert_allclose(out[:n], expected, rtol=4 * np.finfo(dtype).eps)


def test_arrays_without_references_are_used_alike() -> None:
    @njit
    def write(n: int) -> Any:
        x, y = np.zeros(n), np.ones(n)
        count, (a, b) = unowned((n, (x, y)))
        for i in range(count):
            a[i] = i + b[i]
        keep((x, y))
        return x

    np.testing.assert_array_equal(write(5), np.arange(1, 6))


def test_lengths_are_whole_vectors() -> None:
    assert [rounded_up(n) for n in (0, 1, MOST, MOST + 1, 100)] == [0, MOST, MOST, 2 * MOST, 112]

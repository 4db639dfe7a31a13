"""The loop over queries: what it hands to kernels and adds up, and what becomes of a kernel that fails."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest
from numba import njit

from podium.losses import RankRegressLoss
from podium.losses.base import Loss
from podium.numerics import pool
from podium.numerics.calls import routine
from podium.numerics.kernels import BoundKernel
from podium.numerics.loop import (
    Calls,
    Lists,
    ModelRoutines,
    QueryError,
    Training,
    blocks_of_queries,
    new_sums,
    run_epoch,
    visit,
)
from podium.numerics.optimizers import SGD, Optimizer

OFFSETS = np.array([0, 2, 2, 5])


class _Inner(NamedTuple):
    table: np.ndarray
    whole: int


class _Prepared(NamedTuple):
    by_document: np.ndarray
    by_query: np.ndarray
    inner: _Inner
    real: float
    yes: bool


@njit(error_model="numpy")
def _echo(given, prepared, out):
    """A kernel that shows all it was given."""
    for i in range(len(given.scores)):
        out.gradient[i] = given.scores[i] + prepared.by_document[given.start + i]
    for i in range(len(out.curvature)):
        out.curvature[i] = given.query
    out.d_parameters[0] = given.parameters[0] * prepared.by_query[given.query]
    out.d_parameters[1] = prepared.inner.table[given.query, 1] + len(out.curvature)
    return prepared.real if prepared.yes else prepared.inner.whole


@pytest.mark.parametrize("curved", [False, True])
@pytest.mark.parametrize("yes", [False, True])
def test_a_kernel_sees_what_was_prepared(curved: bool, yes: bool) -> None:
    scores, gradient = np.arange(5.0), np.empty(5)
    curvature = np.empty(5 if curved else 0)
    table = np.asfortranarray(np.arange(6, dtype=np.int32).reshape(3, 2))  # kernels are given C order
    prepared = _Prepared(np.arange(10, 15, dtype=np.uint16), np.array([1.0, 2.0, 3.0]), _Inner(table, -7), 0.25, yes)
    loss = BoundKernel(_echo, prepared).routine(scores, gradient, np.array([5.0, 0.0]), curvature)
    lists = Lists(OFFSETS, np.array([1.0, 1.0, 2.0]), np.array([2, 0]))
    sums = new_sums(2, n_parameters=2)
    visit(Calls.of(loss, None), lists, np.array([0, 1, 2]), sums, work=0)
    value = 0.25 if yes else -7.0
    np.testing.assert_array_equal(sums.totals[:, 0], [2 * value, value])
    np.testing.assert_array_equal(gradient, [10, 12, 28, 32, 36])
    np.testing.assert_array_equal(sums.totals[:, 1:], [[30, 2 * (5 + 3 * curved)], [5, 1 + 2 * curved]])
    np.testing.assert_array_equal(curvature, [0, 0, 4, 4, 4] if curved else [])


# ---- models: one score per list, s = theta[0] * x


class _Model(NamedTuple):
    x: np.ndarray
    theta: np.ndarray
    scores: np.ndarray
    d_scores: np.ndarray


@njit(error_model="numpy")
def _forward(model, start, stop, block, sums):
    for i in range(start, stop):
        model.scores[i] = model.theta[0] * model.x[i]


@njit(error_model="numpy")
def _backward(model, start, stop, block, sums):
    for i in range(start, stop):
        sums[0] += model.d_scores[i] * model.x[i]


@njit(error_model="numpy")
def _square(given, prepared, out):
    for i in range(len(given.scores)):
        out.gradient[i] = given.scores[i]
    return 0.5 * (given.scores**2).sum()


def _routines(x: np.ndarray, theta: np.ndarray, scores: np.ndarray, d_scores: np.ndarray) -> ModelRoutines:
    model = _Model(x, theta, scores, d_scores)
    return ModelRoutines(routine(_forward, model), routine(_backward, model), n_gradient=1)


def _data(n_queries: int = 300) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    offsets = np.concatenate(([0], np.cumsum(rng.integers(0, 9, n_queries))))
    return rng.normal(size=offsets[-1]), offsets, rng.random(n_queries)


def test_a_model_is_called_before_and_after_the_loss(monkeypatch) -> None:
    x, offsets, weights = _data()
    theta, scores, d_scores = np.array([0.5]), np.empty(len(x)), np.empty(len(x))
    model = _routines(x, theta, scores, d_scores)
    loss = BoundKernel(_square, ()).routine(scores, d_scores, np.empty(0), np.empty(0))
    bounds = blocks_of_queries(offsets, 16)
    results = []
    for n_threads in (1, 3):
        monkeypatch.setattr(pool, "_available", lambda n=n_threads: n)
        sums = new_sums(len(bounds) - 1, n_gradient=1)
        visit(Calls.of(loss, model), Lists(offsets, weights, np.arange(len(weights))), bounds, sums, work=1e12)
        results.append((sums.totals.copy(), sums.gradient.copy()))
    np.testing.assert_array_equal(results[0][0], results[1][0])
    np.testing.assert_array_equal(results[0][1], results[1][1])
    squares = np.repeat(weights, np.diff(offsets)) * x**2
    assert results[0][0].sum() == pytest.approx(0.125 * squares.sum())
    assert results[0][1].sum() == pytest.approx(0.5 * squares.sum())


def test_an_epoch_is_one_step_after_each_batch() -> None:
    x, offsets, _ = _data(7)
    weights = np.full(7, 1 / 7)
    theta, scores, d_scores = np.array([0.5]), np.empty(len(x)), np.empty(len(x))
    order = np.array([3, 0, 6, 2, 1, 5, 4])
    expected, total = 0.5, 0.0
    for batch in (order[:3], order[3:6], order[6:]):
        squares = sum((x[offsets[q] : offsets[q + 1]] ** 2).sum() for q in batch)
        total += 0.5 * expected**2 * squares / 7
        expected -= 0.1 * expected * (squares / len(batch) + 0.2)
    loss = BoundKernel(_square, ()).routine(scores, d_scores, np.empty(0), np.empty(0))
    training = Training(theta, np.zeros((2, 1)), Optimizer(SGD, 0.1, 0.9, np.zeros(1)), 3, l2=np.array([0.2]))
    calls = Calls.of(loss, _routines(x, theta, scores, d_scores))
    found, n_steps = run_epoch(calls, Lists(offsets, weights, order), training, 4, new_sums(1, n_gradient=1))
    assert n_steps == 7
    assert found == pytest.approx(total)
    assert theta[0] == pytest.approx(expected)


# ---- faults


@njit(error_model="numpy")
def _fails(given, prepared, out):
    if given.query == 4:
        raise ZeroDivisionError("kernel in trouble")
    if given.query == prepared.from_query:
        np.empty(prepared.n_numbers)[0] = 1.0
    out.gradient[:] = 0.0
    return 1.0


class _Trouble(NamedTuple):
    from_query: int
    n_numbers: int


class _FailingLoss(Loss):
    kernel = _fails
    huge: int = -1

    def prepare(self, data):
        return _Trouble(self.huge, 1 << 55)


@pytest.mark.parametrize("n_threads", [1, 3])
def test_a_kernel_that_raises_is_an_error_with_its_message(monkeypatch, n_threads) -> None:
    monkeypatch.setattr(pool, "_available", lambda: n_threads)
    monkeypatch.setattr(pool, "LITTLE_WORK", 0)
    n = 1000
    with pytest.raises(ZeroDivisionError, match="kernel in trouble") as caught:
        _FailingLoss().value_and_gradient(np.zeros(n), np.zeros(n), np.arange(n + 1))
    assert caught.value.__notes__ == ["_FailingLoss failed on query number 4"]


def test_memory_that_cannot_be_allocated_is_an_error() -> None:
    with pytest.raises(MemoryError, match="llocat") as caught:
        _FailingLoss(huge=2).value_and_gradient(np.zeros(4), np.zeros(4), np.arange(5))
    assert caught.value.__notes__ == ["_FailingLoss failed on query number 2"]


def test_a_fault_in_an_epoch_is_an_error() -> None:
    x, offsets = np.ones(6), np.arange(7)
    theta, scores, d_scores = np.array([0.5]), np.empty(6), np.empty(6)
    loss = BoundKernel(_fails, _Trouble(-1, 0)).routine(scores, d_scores, np.empty(0), np.empty(0))
    training = Training(theta, np.zeros((2, 1)), Optimizer(SGD, 0.1, 0.9, np.zeros(1)), 2, l2=np.zeros(1))
    calls = Calls.of(loss, _routines(x, theta, scores, d_scores))
    with pytest.raises(QueryError, match="query number 4"):
        run_epoch(calls, Lists(offsets, np.ones(6), np.arange(6)), training, 0, new_sums(1, n_gradient=1))


def test_a_loss_that_overflows_says_where() -> None:
    scores = np.array([0.0, 1.0, 1e200, -1e200])
    with pytest.raises(ValueError, match="RankRegressLoss is nan on query number 1, whose scores reach from -1e"):
        RankRegressLoss().value_and_gradient(scores, [1, 0, 0, 1], [0, 2, 4])

"""Every loss × every property that losses share. A new loss joins by being public, a variant by a line below."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from typing import Any

import numpy as np
import pytest
from numba import njit

import podium
import podium.losses
from podium.core.registry import is_registered
from podium.losses import (
    ApproxNDCGLoss,
    BoltzRankLoss,
    DrawnLabels,
    FunctionLoss,
    GBRankLoss,
    IntervalRankLoss,
    LambdaLoss,
    LambdaRankLoss,
    ListMLELoss,
    ListNetLoss,
    Loss,
    PMOPLoss,
    RankCosineLoss,
    RankNetLoss,
    RankRegressLoss,
    RankSVMLoss,
    RegressionLoss,
    SoftRankLoss,
    StochasticRankLoss,
    WithRegression,
    XENDCGLoss,
    YetiRankLoss,
)
from podium.numerics import pool

LOSSES = [
    found
    for found in vars(podium.losses).values()
    if isinstance(found, type)
    and issubclass(found, Loss)
    and found not in (Loss, DrawnLabels, FunctionLoss, WithRegression)
]
"""Every loss that can be made without arguments."""


@njit
def _half_squares(scores: np.ndarray, labels: np.ndarray) -> tuple[float, np.ndarray]:
    difference = scores - labels
    return 0.5 * (difference * difference).sum(), difference


VARIANTS: list[Loss] = [
    ListNetLoss(k=2),
    ListNetLoss(k=3, transform="exp2", temperature=2.0),
    ListNetLoss(divergence="jensen-shannon"),
    ListMLELoss(ties="stable"),
    ListMLELoss(discount="lan"),
    XENDCGLoss(newton=True),
    RankCosineLoss(transform="exp2"),
    RankNetLoss(normalize=False),
    RankSVMLoss(squared=True, margin=0.7),
    RankRegressLoss(normalize=False),
    RegressionLoss(normalize=False),
    LambdaRankLoss(metric="map", truncation=None, normalize=False),
    LambdaRankLoss(metric="err@5", truncation=3, sigma=2.0),
    ApproxNDCGLoss(temperature=1.0, truncation=3),
    ApproxNDCGLoss(gumbel=2),
    LambdaLoss("arp1"),
    LambdaLoss("arp2"),
    LambdaLoss("ndcg1"),
    BoltzRankLoss("err", weight=0.5, n_samples=20, g="logistic"),
    SoftRankLoss("normal", learn_sigma=True),
    SoftRankLoss(sigma=0.5, metric="ndcg@3 (letor)"),
    YetiRankLoss(n_permutations=3, discount="reciprocal"),
    StochasticRankLoss("map", sigma=0.5, n_samples=3),
    IntervalRankLoss(separation=3.0, width=0.2, regression=1.0, targets="identity"),
    IntervalRankLoss(barrier=100.0),
    GBRankLoss(ties=0.5, regression=1.0, targets="identity"),
    WithRegression(ListNetLoss(), weight=1.0, targets="identity"),
    FunctionLoss(_half_squares, convex=True),
]
ALL = [loss() for loss in LOSSES] + VARIANTS

every_loss = pytest.mark.parametrize("loss", ALL, ids=repr)
every_type = pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=["float32", "float64"])


class Lists:
    """Queries of all kinds: long, short, of one document, of none, all tied; labels negative, fractional, unsorted."""

    sizes = (7, 1, 0, 12, 4, 2, 33, 5)
    all_tied = 4

    def __init__(self, seed: int = 0, scale: float = 1.0) -> None:
        rng = np.random.default_rng(seed)
        self.offsets = np.concatenate(([0], np.cumsum(self.sizes)))
        n = int(self.offsets[-1])
        self.scores = scale * rng.normal(size=n)
        self.labels = rng.choice([-1.0, 0.0, 0.5, 1.0, 2.0, 3.0], size=n)
        self.labels[self.slice(self.all_tied)] = 1.0
        self.labels[self.slice(5)] = [0.0, 2.0]

    def slice(self, q: int) -> slice:
        return slice(self.offsets[q], self.offsets[q + 1])

    def value_and_gradient(self, loss: Loss, scores: Any = None, **options: Any) -> Any:
        return loss.value_and_gradient(self.scores if scores is None else scores, self.labels, self.offsets, **options)


def differences(function: Any, x: np.ndarray, step: float) -> np.ndarray:
    """Central differences of a function of ``x``, one coordinate at a time."""
    columns = []
    for i in range(len(x)):
        up, down = x.copy(), x.copy()
        up[i] += step
        down[i] -= step
        columns.append((function(up) - function(down)) / (up[i] - down[i]))
    return np.array(columns)


@every_loss
def test_repeats_itself_and_says_what_it_is(loss: Loss) -> None:
    lists = Lists()
    first, second = lists.value_and_gradient(loss), lists.value_and_gradient(loss)
    assert first.value == second.value
    np.testing.assert_array_equal(first.d_scores, second.d_scores)
    assert first.d_parameters.shape == (loss.n_parameters,)
    assert first.d2_scores is None
    assert type(loss)(**loss.get_params(deep=False)) == loss
    assert is_registered(type(loss))


@every_loss
@pytest.mark.parametrize("scale", [0.1, 1.0, 10.0, 100.0])
def test_gradient_is_the_derivative_of_the_value(loss: Loss, scale: float) -> None:
    if not loss.has_gradient:
        pytest.skip("its gradient holds factors of the value fixed; its own tests check that")
    lists = Lists(seed=1, scale=scale)
    bound = loss.bind(lists.labels, lists.offsets)
    gradient = bound.value_and_gradient(lists.scores).d_scores
    expected = differences(lambda s: bound.value_and_gradient(s).value, lists.scores, 1e-6 * scale)
    np.testing.assert_allclose(gradient, expected, rtol=1e-5, atol=1e-7 * max(1.0, np.abs(expected).max()))


@every_loss
def test_parameter_gradient_is_the_derivative_of_the_value(loss: Loss) -> None:
    if loss.n_parameters == 0:
        pytest.skip("learns nothing itself")
    lists = Lists(seed=1)
    bound = loss.bind(lists.labels, lists.offsets)
    initial = loss.initial_parameters()
    gradient = bound.value_and_gradient(lists.scores, parameters=initial).d_parameters
    expected = differences(lambda p: bound.value_and_gradient(lists.scores, parameters=p).value, initial, 1e-6)
    np.testing.assert_allclose(gradient, expected, rtol=1e-5, atol=1e-8)


@every_loss
def test_curvature(loss: Loss) -> None:
    lists = Lists(seed=2)
    bound = loss.bind(lists.labels, lists.offsets)
    if not loss.has_curvature:
        with pytest.raises(ValueError, match="no second derivative"):
            bound.value_and_gradient(lists.scores, curvature=True)
        return
    with_curvature = bound.value_and_gradient(lists.scores, curvature=True)
    without = bound.value_and_gradient(lists.scores)
    assert with_curvature.value == pytest.approx(without.value, rel=1e-12)
    np.testing.assert_allclose(with_curvature.d_scores, without.d_scores, rtol=1e-10, atol=1e-14)
    assert (with_curvature.d2_scores >= 0).all()
    if loss.exact_curvature:
        jacobian = differences(lambda s: bound.value_and_gradient(s).d_scores, lists.scores, 1e-5)
        np.testing.assert_allclose(with_curvature.d2_scores, np.diag(jacobian), rtol=1e-5, atol=1e-8)
    far = Lists(seed=2, scale=1e3)
    assert np.isfinite(far.value_and_gradient(loss, curvature=True).d2_scores).all()


@every_loss
def test_adding_a_constant_to_a_list(loss: Loss) -> None:
    lists = Lists(seed=3)
    shifts = np.repeat(np.linspace(-3, 5, len(lists.sizes)), lists.sizes)
    here, there = lists.value_and_gradient(loss), lists.value_and_gradient(loss, lists.scores + shifts)
    if loss.shift_invariant:
        assert there.value == pytest.approx(here.value, rel=1e-9)
        np.testing.assert_allclose(there.d_scores, here.d_scores, rtol=1e-6, atol=1e-9)
        for q in range(len(lists.sizes)):  # so the gradient of each list adds up to nothing
            assert here.d_scores[lists.slice(q)].sum() == pytest.approx(0, abs=1e-10 * (1 + abs(here.value)))
    else:
        assert there.value != pytest.approx(here.value, rel=1e-3)


@every_loss
def test_order_of_documents_does_not_matter(loss: Loss) -> None:
    if isinstance(loss, ListMLELoss | BoltzRankLoss):
        lists = Lists(seed=4)
        lists.labels = np.random.default_rng(4).permutation(len(lists.labels)).astype(float)  # it orders ties itself
    elif loss.is_random:
        pytest.skip("what it draws goes by rows")
    else:
        lists = Lists(seed=4)
    here = lists.value_and_gradient(loss)
    rng = np.random.default_rng(5)
    rows = np.concatenate([rng.permutation(np.arange(*lists.slice(q).indices(10**6))) for q in range(len(lists.sizes))])
    rows = rows.astype(np.int64)
    there = loss.value_and_gradient(lists.scores[rows], lists.labels[rows], lists.offsets)
    assert there.value == pytest.approx(here.value, rel=1e-10)
    np.testing.assert_allclose(there.d_scores, here.d_scores[rows], rtol=1e-8, atol=1e-12)


@every_loss
@every_type
@pytest.mark.parametrize("pattern", ["spread", "two heaps", "one outlier", "all equal"])
def test_scores_of_a_thousand_are_finite_and_right(loss: Loss, dtype: type, pattern: str) -> None:
    lists = Lists(seed=6)
    rng = np.random.default_rng(6)
    n = len(lists.scores)
    lists.scores = (
        {
            "spread": rng.uniform(-1e3, 1e3, n),
            "two heaps": rng.choice([-1e3, 1e3], n) + rng.normal(size=n),
            "one outlier": np.where(rng.random(n) < 0.1, 1e3, rng.normal(size=n)),
            "all equal": np.full(n, 1e3),
        }[pattern]
        .astype(np.float32)
        .astype(np.float64)
    )
    result = lists.value_and_gradient(loss, lists.scores.astype(dtype))
    exact = lists.value_and_gradient(loss)
    assert np.isfinite(result.value)
    assert np.isfinite(result.d_scores).all()
    size = np.abs(exact.d_scores).max()
    assert result.value == pytest.approx(exact.value, rel=2e-5)
    np.testing.assert_allclose(result.d_scores, exact.d_scores, rtol=1e-3, atol=2e-4 * size)
    if loss.has_gradient and loss.convex and pattern != "all equal":
        # Along a line the value changes as the gradient says: an independent look at the far end of the range.
        # (The step is small against every kink's distance but large against rounding.)
        direction = rng.normal(size=n)
        up = lists.value_and_gradient(loss, lists.scores + 1e-4 * direction).value
        down = lists.value_and_gradient(loss, lists.scores - 1e-4 * direction).value
        assert (up - down) / 2e-4 == pytest.approx(exact.d_scores @ direction, rel=1e-3, abs=1e-4 * size)


@every_loss
def test_float32_agrees_with_float64(loss: Loss) -> None:
    lists = Lists(seed=7, scale=3.0)
    scores = lists.scores.astype(np.float32)
    single = lists.value_and_gradient(loss, scores)
    double = lists.value_and_gradient(loss, scores.astype(np.float64))
    assert single.d_scores.dtype == np.float32
    assert double.d_scores.dtype == np.float64
    assert single.value == pytest.approx(double.value, rel=2e-6)
    np.testing.assert_allclose(single.d_scores, double.d_scores, rtol=1e-4, atol=1e-5 * np.abs(double.d_scores).max())


@every_loss
def test_other_types_of_numbers_are_taken_as_float64(loss: Loss) -> None:
    result = loss.value_and_gradient([3, 1, 2], [0, 1, 1], [0, 3])
    same = loss.value_and_gradient(np.array([3.0, 1.0, 2.0]), np.array([0.0, 1.0, 1.0]), np.array([0, 3]))
    assert result.value == same.value
    assert result.d_scores.dtype == np.float64


@every_loss
@every_type
def test_inputs_are_left_alone_even_if_read_only(loss: Loss, dtype: type) -> None:
    lists = Lists(seed=8)
    weights = np.linspace(1, 2, len(lists.sizes))
    inputs = [lists.scores.astype(dtype), lists.labels, lists.offsets, weights]
    copies = [x.copy() for x in inputs]
    for x in inputs:
        x.flags.writeable = False
    loss.value_and_gradient(*inputs[:3], query_weight=weights)
    for x, copy in zip(inputs, copies, strict=True):
        np.testing.assert_array_equal(x, copy)


@every_loss
def test_strided_inputs(loss: Loss) -> None:
    lists = Lists(seed=8)
    twice = loss.value_and_gradient(
        np.repeat(lists.scores, 2)[::2], np.repeat(lists.labels, 2)[::2], np.repeat(lists.offsets, 2)[::2]
    )
    np.testing.assert_array_equal(twice.d_scores, lists.value_and_gradient(loss).d_scores)


@every_loss
def test_number_of_threads_does_not_change_a_bit(loss: Loss, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "LITTLE_WORK", 0)
    rng = np.random.default_rng(9)
    offsets = np.concatenate(([0], np.cumsum(rng.integers(1, 40, 200))))
    scores, labels = rng.normal(size=offsets[-1]), rng.integers(0, 4, offsets[-1])
    results = []
    for n_threads in (1, 3):
        monkeypatch.setattr(pool, "_available", lambda n=n_threads: n)
        results.append(loss.value_and_gradient(scores, labels, offsets))
    assert results[0].value == results[1].value
    np.testing.assert_array_equal(results[0].d_scores, results[1].d_scores)


@every_loss
def test_a_part_of_the_data_is_what_it_was_in_the_whole(loss: Loss) -> None:
    """Draws depend on the query's number in the whole set, so that processes with a part each add up to the whole."""
    lists = Lists(seed=15)
    bound = loss.bind(lists.labels, lists.offsets)
    numbers = np.array([3, 6, 0])
    rows = np.concatenate([np.arange(*lists.slice(q).indices(10**6)) for q in numbers])
    offsets = np.concatenate(([0], np.cumsum(np.array(lists.sizes)[numbers])))
    labels = lists.labels[rows]
    if isinstance(loss, BoltzRankLoss):  # ERR's highest grade is that of the data at hand
        labels[0] = lists.labels.max()
        lists.labels[rows[0]] = lists.labels.max()
        bound = loss.bind(lists.labels, lists.offsets)
    part = loss.bind(labels, offsets, query_numbers=numbers)
    for epoch in (0, 1):
        bound.start_epoch(epoch)
        part.start_epoch(epoch)
        whole = bound.value_and_gradient(lists.scores).d_scores * bound.n_queries
        np.testing.assert_allclose(
            part.value_and_gradient(lists.scores[rows]).d_scores * 3, whole[rows], rtol=1e-12, atol=1e-300
        )


@pytest.mark.parametrize("loss", [*ALL, PMOPLoss("geometric")], ids=repr)
def test_only_losses_that_say_so_take_time_by_pairs(loss: Loss) -> None:
    """The processor time of this thread, so that a busy machine does not matter."""
    seconds = []
    for n in (100, 400):
        rng = np.random.default_rng(0)
        bound, scores = loss.bind(rng.integers(0, 3, n), [0, n]), rng.normal(size=n)
        bound.value_and_gradient(scores)
        times = []
        for _ in range(30):
            start = time.thread_time()
            bound.per_query(scores)
            times.append(time.thread_time() - start)
        seconds.append(min(times))
    assert loss.visits_pairs or seconds[1] < 7 * seconds[0]


@every_loss
def test_weight_two_is_the_query_twice(loss: Loss) -> None:
    if loss.is_random:
        pytest.skip("draws another order for the second copy")
    lists = Lists(seed=10)
    weight = np.ones(len(lists.sizes))
    weight[3] = 2.0
    weighted = lists.value_and_gradient(loss, query_weight=weight)
    third = lists.slice(3)
    scores, labels = (np.concatenate((x, x[third])) for x in (lists.scores, lists.labels))
    doubled = loss.value_and_gradient(scores, labels, np.append(lists.offsets, len(scores)))
    assert weighted.value == pytest.approx(doubled.value, rel=1e-12)
    expected = doubled.d_scores[: len(lists.scores)].copy()
    expected[third] *= 2
    np.testing.assert_allclose(weighted.d_scores, expected, rtol=1e-12, atol=1e-300)


@every_loss
def test_weight_zero_removes_the_query(loss: Loss) -> None:
    if loss.is_random:
        pytest.skip("a query's order depends on its number")
    lists = Lists(seed=11)
    weight = np.ones(len(lists.sizes))
    weight[0] = 0.0
    weighted = lists.value_and_gradient(loss, query_weight=weight, curvature=loss.has_curvature)
    rest = loss.value_and_gradient(lists.scores[7:], lists.labels[7:], lists.offsets[1:] - 7)
    assert weighted.value == pytest.approx(rest.value, rel=1e-12)
    assert (weighted.d_scores[:7] == 0).all()
    assert weighted.d2_scores is None or (weighted.d2_scores[:7] == 0).all()
    np.testing.assert_allclose(weighted.d_scores[7:], rest.d_scores, rtol=1e-12, atol=1e-300)


@every_loss
def test_only_the_chosen_queries(loss: Loss) -> None:
    lists = Lists(seed=12)
    bound = loss.bind(lists.labels, lists.offsets)
    everything = bound.value_and_gradient(lists.scores)
    parts = [bound.value_and_gradient(lists.scores, queries=np.array(q)) for q in ([6, 0, 2], [1, 3, 4, 5, 7], [])]
    assert sum(part.value for part in parts) == pytest.approx(everything.value, rel=1e-12)
    np.testing.assert_array_equal(sum(part.d_scores for part in parts), everything.d_scores)
    with pytest.raises(ValueError, match="from 0 to 7"):
        bound.value_and_gradient(lists.scores, queries=np.array([8]))


@every_loss
def test_gradient_goes_where_it_is_told(loss: Loss) -> None:
    lists = Lists(seed=12)
    bound = loss.bind(lists.labels, lists.offsets)
    place = np.full_like(lists.scores, np.nan)
    assert bound.value_and_gradient(lists.scores, gradient=place).d_scores is place
    np.testing.assert_array_equal(place, bound.value_and_gradient(lists.scores).d_scores)
    with pytest.raises(ValueError, match="like the scores"):
        bound.value_and_gradient(lists.scores, gradient=place.astype(np.float32))
    with pytest.raises(ValueError, match="share memory"):
        bound.value_and_gradient(lists.scores, gradient=lists.scores)


@every_loss
@every_type
def test_lists_that_say_nothing(loss: Loss, dtype: type) -> None:
    one = loss.value_and_gradient(np.array([3.0], dtype), [2.0], [0, 1])
    says_nothing = loss.shift_invariant or isinstance(loss, RankCosineLoss)
    assert one.value == pytest.approx(0.0 if says_nothing else 0.5)
    assert one.d_scores.tolist() == [0.0 if says_nothing else 1.0]
    for offsets in ([0], [0, 0], [0, 0, 0]):
        empty = loss.value_and_gradient(np.empty(0, dtype), [], offsets, curvature=loss.has_curvature)
        assert empty.value == 0.0
        assert empty.d_scores.shape == (0,)
    tied = loss.value_and_gradient(np.array([1.0, -1.0, 0.5], dtype), [1, 1, 1], [0, 3])
    assert np.isfinite(tied.value)
    assert np.isfinite(tied.d_scores).all()


@every_loss
@every_type
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_scores_that_are_not_numbers_are_refused_by_name(loss: Loss, dtype: type, bad: float) -> None:
    offsets = np.array([0, 3, 9])
    labels = np.array([1.0, 0.0, 2.0, 0.0, 2.0, 1.0, 1.0, 0.0, 3.0])
    for document in range(6):
        scores = np.linspace(-1, 1, 9).astype(dtype)
        scores[3 + document] = bad
        with pytest.raises(ValueError, match=f"document {document} of query number 1 is {bad}"):
            loss.value_and_gradient(scores, labels, offsets)


@every_loss
def test_convex_between_any_two_points(loss: Loss) -> None:
    if not loss.convex:
        pytest.skip("does not claim to be convex")
    lists = Lists(seed=13)
    bound = loss.bind(lists.labels, lists.offsets)
    rng = np.random.default_rng(13)
    for scale in (0.3, 3.0, 30.0):
        for _ in range(20):
            a, b = scale * rng.normal(size=(2, len(lists.scores)))
            t = rng.random()
            chord = t * bound.value_and_gradient(a).value + (1 - t) * bound.value_and_gradient(b).value
            assert bound.value_and_gradient(t * a + (1 - t) * b).value <= chord * (1 + 1e-12) + 1e-12


def test_a_step_downhill_helps_every_loss() -> None:
    for loss in ALL:
        if isinstance(loss, StochasticRankLoss):
            continue  # the metric of the rankings drawn is a step function; its own tests look at the expectation
        lists = Lists(seed=14)
        here = lists.value_and_gradient(loss)
        step = 1e-3 / np.abs(here.d_scores).max()
        assert lists.value_and_gradient(loss, lists.scores - step * here.d_scores).value < here.value, loss


@pytest.mark.parametrize(
    ("labels", "offsets", "weight", "scores", "message"),
    [
        ([1, 0], [0, 3], None, [0.0, 1.0], "labels must have one entry for each of the 3 documents"),
        ([1, 0], [0, 2], None, [0.0, 1.0, 2.0], "scores must have one entry for each of the 2 documents"),
        ([1, np.nan], [0, 2], None, [0.0, 1.0], "label of document 1 .query number 0. is nan"),
        ([1, 0], [1, 2], None, [0.0, 1.0], "offsets must start at 0"),
        ([1, 0], [0, 2, 1], None, [0.0, 1.0], "offsets must start at 0"),
        ([1, 0], [0, 2], [1.0, 1.0], [0.0, 1.0], "query_weight must have one entry for each of the 1 queries"),
        ([1, 0], [0, 2], [-1.0], [0.0, 1.0], "query weights must be"),
        ([1, 0], [0, 2], [0.0], [0.0, 1.0], "query weights must be"),
    ],
)
def test_wrong_shapes_are_refused(labels: Any, offsets: Any, weight: Any, scores: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        RankRegressLoss().value_and_gradient(scores, labels, offsets, query_weight=weight)


def test_kernels_are_compiled_once_and_kept() -> None:
    """A second process finds everything compiled: nothing it runs may be missing from Numba's cache on disk."""
    program = (
        "import warnings; warnings.simplefilter('error')\n"
        "import podium.losses\n"
        "from podium.numerics import calls, loop\n"
        "found = []\n"
        "compile = calls.callback\n"
        "calls.callback = lambda *a: found.append(compile(*a)) or found[-1]\n"
        f"for loss in {[loss.__name__ for loss in LOSSES]}:\n"
        "    bound = getattr(podium.losses, loss)().bind([1.0, 0.0, 2.0], [0, 3])\n"
        "    bound.value_and_gradient([1.0, 2.0, 3.0])\n"
        "    assert all(function.cache_hits for function in found), loss\n"
        "assert found and loop._visit_blocks.stats.cache_hits and not loop._visit_blocks.stats.cache_misses\n"
    )
    for loss in LOSSES:
        loss().value_and_gradient([1.0, 2.0, 3.0], [1.0, 0.0, 2.0], [0, 3])
    subprocess.run([sys.executable, "-c", program], check=True, env={**os.environ, "NUMBA_NUM_THREADS": "1"})

"""Value and gradient over one flat vector: the fused pass, the general form and finite differences must agree."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import approx_fprime

import podium
from podium.losses import ListNetLoss
from podium.losses.ties import DavidsonLoss
from podium.numerics.pool import n_threads, threads
from podium.scorers import Linear
from podium.scorers.base import StartOptions
from podium.scorers.standardization import Standardization
from podium.training.objective import Objective, no_long_list


def _objective(queries, loss, *, intercept=False, l2=0.3, weights=None, one_pass=None):
    model = Linear(l2=l2).start(
        queries,
        np.random.default_rng(0),
        StartOptions(intercept, Standardization.fit(queries.features)),
    )
    return Objective(model, loss.bind(queries.labels, queries.offsets, weights), queries, one_pass=one_pass)


@pytest.mark.parametrize("loss", [ListNetLoss(), DavidsonLoss()], ids=repr)
@pytest.mark.parametrize("intercept", [False, True])
def test_gradient_is_that_of_the_value(loss, intercept) -> None:
    queries = podium.make_queries(20, 6, 4, random_state=1)
    function = _objective(queries, loss, intercept=intercept)
    assert function.routines is not None
    theta = np.random.default_rng(1).standard_normal(len(function.initial()))
    numerical = approx_fprime(theta, lambda t: function(t)[0], 1e-7)
    np.testing.assert_allclose(function(theta)[1], numerical, atol=2e-6)


@pytest.mark.parametrize("loss", [ListNetLoss(), DavidsonLoss()], ids=repr)
def test_fused_and_general_agree_on_every_kind_of_features(loss) -> None:
    queries = podium.make_queries(40, 9, 5, random_state=2)
    queries = podium.Queries(
        queries.features, queries.labels, sizes=np.insert(queries.sizes, [0, 7, 40], 0)
    )  # empty queries at the start, in the middle and at the end
    weights = np.random.default_rng(3).integers(0, 3, len(queries)).astype(float)
    theta = np.random.default_rng(4).standard_normal(5 + loss.n_parameters + 1)
    results = []
    for features in (queries.features, queries.features.astype(float), sparse.csr_matrix(queries.features)):
        form = queries.with_features(features)
        for one_pass in (True, False):
            results.append(_objective(form, loss, intercept=True, weights=weights, one_pass=one_pass)(theta))
    for value, gradient in results[1:]:
        assert value == pytest.approx(results[0][0], rel=1e-6)  # float32 and float64 means differ by rounding
        np.testing.assert_allclose(gradient, results[0][1], rtol=1e-5, atol=1e-7)


def test_weight_two_equals_the_query_twice() -> None:
    queries = podium.make_queries(6, 5, 3, random_state=5)
    theta = np.array([0.3, -0.2, 0.5])
    model = Linear(l2=0).start(queries, np.random.default_rng(0))
    weighted = Objective(model, ListNetLoss().bind(queries.labels, queries.offsets, [1, 2, 1, 1, 1, 1]), queries)
    double = queries.take([0, 1, 1, 2, 3, 4, 5])
    repeated = Objective(model, ListNetLoss().bind(double.labels, double.offsets), double)
    assert weighted(theta)[0] == pytest.approx(repeated(theta)[0], rel=1e-12)
    np.testing.assert_allclose(weighted(theta)[1], repeated(theta)[1], rtol=1e-9)


@pytest.mark.parametrize("one_pass", [True, False])
def test_threads_do_not_change_a_bit(one_pass) -> None:
    queries = podium.make_queries(300, 30, 11, random_state=6)
    function = _objective(queries, ListNetLoss(), one_pass=one_pass)
    theta = np.random.default_rng(7).standard_normal(11)
    results = []
    for n in (1, n_threads()):
        with threads(n):
            results.append(function(theta))
    for value, gradient in results:
        assert value == results[0][0]
        np.testing.assert_array_equal(gradient, results[0][1])


def test_batches_add_up_to_the_whole() -> None:
    queries = podium.make_queries(10, 6, 3, random_state=8)
    function = _objective(queries, DavidsonLoss(), l2=0.0)
    theta = np.random.default_rng(9).standard_normal(4)
    value, gradient = function(theta)
    parts = [function.on_batch(theta, np.array(batch)) for batch in ([3, 1], [0, 2, 4, 5], [9, 8, 7, 6])]
    shares = [0.2, 0.4, 0.4]
    assert sum(s * v for s, (v, _) in zip(shares, parts, strict=True)) == pytest.approx(value)
    np.testing.assert_allclose(sum(s * g for s, (_, g) in zip(shares, parts, strict=True)), gradient, rtol=1e-9)


def test_one_long_list_takes_the_general_form() -> None:
    labels = np.arange(5000) % 3
    long = podium.Queries(np.random.default_rng(0).random((5000, 2)), labels, sizes=[5000])
    assert not no_long_list(long.sizes)
    short = podium.Queries(long.features, labels, sizes=[50] * 100)
    assert no_long_list(short.sizes)
    assert _objective(long, ListNetLoss()).routines is None
    value, gradient = _objective(long, ListNetLoss())(np.array([0.1, 0.2]))
    fused = _objective(long, ListNetLoss(), one_pass=True)(np.array([0.1, 0.2]))
    assert value == pytest.approx(fused[0])
    np.testing.assert_allclose(gradient, fused[1])


def test_a_loss_that_is_not_finite_is_an_error() -> None:
    queries = podium.Queries([[1e308], [-1e308]], [1, 0], sizes=[2])
    model = Linear().start(queries, np.random.default_rng(0))
    function = Objective(model, ListNetLoss().bind(queries.labels, queries.offsets), queries)
    with pytest.raises(ValueError, match="Rescale"):
        function(np.array([1e10]))

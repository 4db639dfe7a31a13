"""The linear scorer, against NumPy and finite differences."""

from __future__ import annotations

import numpy as np
import pytest
from numba import types
from scipy import sparse
from scipy.optimize import approx_fprime

import podium
from podium.scorers import Linear, LinearModel
from podium.scorers.base import StartOptions
from podium.scorers.linear.scorer import score_documents
from podium.scorers.standardization import Standardization


@pytest.fixture
def queries() -> podium.Queries:
    return podium.make_queries(n_queries=9, n_documents=8, n_features=7, random_state=3)


def _forms(queries):
    """The same numbers stored in three ways."""
    yield queries
    yield queries.with_features(queries.features.astype(np.float64))
    yield queries.with_features(sparse.csr_matrix(queries.features))


def test_scores_are_those_of_the_weighted_sum_however_features_are_stored(queries) -> None:
    rng = np.random.default_rng(0)
    coef = rng.standard_normal(7)
    expected = queries.features.astype(np.float64) @ coef + 0.25
    for form in _forms(queries):
        scores = LinearModel.from_coefficients(coef, 0.25).scores(form)
        assert scores.dtype == np.float64
        np.testing.assert_allclose(scores, expected, rtol=1e-12)


def test_what_is_compiled_can_be_kept_on_disk(queries) -> None:
    """Numba refuses to keep what depends on an address of this process, and every process would compile it again."""
    for form in _forms(queries):
        model = LinearModel.from_coefficients(np.ones(7))
        model.scores(form)
        model.forward(form)[1](np.ones(form.n_documents))
    assert score_documents.overloads  # the other is compiled unless a C function with it inside is on disk already
    compiled = [*score_documents.overloads.items(), *LinearModel.kernels.backward.overloads.items()]
    for signature, made in compiled:
        if not any(isinstance(each, types.BaseNamedTuple) for each in signature):  # rows that are changed when read
            assert not made.library.has_dynamic_globals, signature


@pytest.mark.parametrize("intercept", [False, True])
def test_backward_is_the_transpose(queries, intercept) -> None:
    rng = np.random.default_rng(1)
    d_scores = rng.standard_normal(queries.n_documents)
    standardization = Standardization.fit(queries.features)
    for form in _forms(queries):
        start = Linear().start(form, rng, StartOptions(intercept, standardization))
        model = start.at(rng.standard_normal(len(start.theta)))
        gradient = model.forward(form)[1](d_scores)

        def against_scores(theta, model=model, form=form):
            return float(model.at(theta).scores(form) @ d_scores)

        # The scores are linear in theta, so differences are exact but for rounding.
        expected = approx_fprime(model.theta, against_scores, 1e-3)
        np.testing.assert_allclose(gradient, expected, rtol=1e-6, atol=1e-8)


def test_standardized_coordinates_equal_standardized_features(queries) -> None:
    dense = queries.features.astype(np.float64)
    standardized = (dense - dense.mean(axis=0)) / dense.std(axis=0)
    rng = np.random.default_rng(2)
    start = Linear().start(queries, rng, StartOptions(True, Standardization.fit(queries.features)))
    model = start.at(rng.standard_normal(8))
    np.testing.assert_allclose(model.scores(queries), standardized @ model.theta[:7] + model.theta[7], rtol=1e-5)


def test_penalties_spare_the_intercept() -> None:
    model = LinearModel(np.array([3.0, -4.0, 5.0]), has_intercept=True, l1=0.5, l2=0.1)
    value, gradient = model.penalty()
    assert value == pytest.approx(0.1 / 2 * (9 + 16))
    np.testing.assert_allclose(gradient, [0.3, -0.4, 0.0])
    np.testing.assert_array_equal(model.l1, [0.5, 0.5, 0.0])
    assert LinearModel(np.zeros(2), has_intercept=False).l1 is None


def test_a_rows_score_does_not_depend_on_the_rows_around_it() -> None:
    rng = np.random.default_rng(4)
    features = rng.standard_normal((2500, 13)).astype(np.float32)
    model = LinearModel.from_coefficients(rng.standard_normal(13))
    whole = model.scores(podium.Queries(features, sizes=[2500]))
    order = rng.permutation(2500)[:1111]
    part = model.scores(podium.Queries(features[order], sizes=[1111]))
    np.testing.assert_array_equal(part, whole[order])


def test_state_round_trip_keeps_every_bit(queries) -> None:
    rng = np.random.default_rng(5)
    for intercept in (False, True):
        start = Linear().start(queries, rng, StartOptions(intercept, Standardization.fit(queries.features)))
        model = start.at(rng.standard_normal(len(start.theta)))
        again = LinearModel.from_arrays(Linear(), model.to_arrays())
        np.testing.assert_array_equal(again.scores(queries), model.scores(queries))


@pytest.mark.parametrize(
    "change",
    [
        {"coef": np.zeros((2, 2))},
        {"coef": np.zeros(3, np.float32)},
        {"coef": "text"},
        {"coef": np.array([np.nan])},
        {"intercept": np.zeros(1)},
    ],
)
def test_states_that_cannot_be_are_refused(change) -> None:
    state = {"coef": np.zeros(3), "intercept": np.array(0.0)} | change
    with pytest.raises(ValueError, match=next(iter(change))):
        LinearModel.from_arrays(None, state)
    with pytest.raises(ValueError, match="missing"):
        LinearModel.from_arrays(None, {})


@pytest.mark.parametrize("settings", [{"l2": -1.0}, {"l1": float("nan")}, {"l2": "much"}])
def test_penalties_must_be_sensible(queries, settings) -> None:
    with pytest.raises(ValueError, match=next(iter(settings))):
        Linear(**settings).start(queries, np.random.default_rng())

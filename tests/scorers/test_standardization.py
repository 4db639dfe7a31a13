"""Means and deviations over the training set, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

import podium
from podium.scorers.standardization import Standardization


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("as_csr", [False, True])
def test_mean_and_deviation(dtype, as_csr) -> None:
    rng = np.random.default_rng(0)
    features = (rng.standard_normal((20_000, 5)) * [1, 10, 0.1, 1, 1] + [0, 1, 1, 1e3, 0]).astype(dtype)
    features[rng.random(features.shape) < 0.5] = 0
    fitted = Standardization.fit(sparse.csr_matrix(features) if as_csr else features)
    exact = features.astype(np.float64)
    np.testing.assert_allclose(fitted.mean, exact.mean(axis=0), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(1 / fitted.inverse_scale, exact.std(axis=0), rtol=1e-9)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", [1, 3, 1001, 100_001])
def test_constant_features_lose_all_effect(dtype, n) -> None:
    constant = np.tile(np.array([0.1, 1e30, -7.3e-20, 0.0], dtype), (n, 1))
    for features in (constant, sparse.csr_matrix(constant)):
        np.testing.assert_array_equal(Standardization.fit(features).inverse_scale, 0.0)


def test_differences_within_rounding_are_no_signal_but_small_ones_are() -> None:
    neighbors = np.array([1.0, np.nextafter(np.float32(1), np.float32(2))], np.float32)
    assert Standardization.fit(np.tile(neighbors, 50)[:, None]).inverse_scale[0] == 0.0
    small = np.array([1e-12, 3e-12])  # nothing but small: a deviation of 1e-12 is all of it
    assert Standardization.fit(np.tile(small, 50)[:, None]).inverse_scale[0] == pytest.approx(1e12)


def test_large_offset_keeps_its_digits() -> None:
    # One pass with E x² − (E x)² would lose every digit here.
    values = 1e9 + np.arange(10.0)
    fitted = Standardization.fit(values[:, None])
    assert 1 / fitted.inverse_scale[0] == pytest.approx(np.arange(10.0).std(), rel=1e-12)


def test_missing_values_are_left_out() -> None:
    features = np.array([[1.0, np.nan], [3.0, 5.0], [np.nan, 7.0]])
    for form in (features, sparse.csr_matrix(features)):
        fitted = Standardization.fit(form)
        np.testing.assert_allclose(fitted.mean, [2, 6])
        np.testing.assert_allclose(fitted.inverse_scale, [1, 1])


def test_duplicate_entries_of_a_sparse_matrix_add_up() -> None:
    matrix = sparse.csr_matrix((np.array([1.0, 2.0, 5.0]), np.array([0, 0, 0]), np.array([0, 2, 3])), shape=(2, 1))
    fitted = Standardization.fit(matrix)
    assert fitted.mean[0] == 4.0
    assert 1 / fitted.inverse_scale[0] == 1.0
    assert matrix.nnz == 3  # the caller's matrix is as it was


def test_apply_copies_and_keeps_the_type() -> None:
    queries = podium.make_queries(5, 10, 3)
    before = queries.features.copy()
    scaled = Standardization.fit(queries.features).apply(queries)
    assert scaled.features.dtype == np.float32
    np.testing.assert_allclose(scaled.features.mean(axis=0), 0, atol=1e-5)
    np.testing.assert_allclose(scaled.features.std(axis=0), 1, rtol=1e-5)
    np.testing.assert_array_equal(queries.features, before)
    with pytest.raises(ValueError, match="sparse"):
        Standardization.fit(queries.features).apply(queries.with_features(sparse.csr_matrix(queries.features)))

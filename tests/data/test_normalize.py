"""Rescaling within queries, against plain NumPy on each query."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from podium import Queries, make_queries


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("how", ["minmax", "zscore"])
def test_each_query_against_numpy(how: str, dtype: type) -> None:
    q = make_queries(n_queries=6, n_documents=9, n_features=4, random_state=2)
    q = q.with_features(q.features.astype(dtype))
    scaled = q.normalized(how)
    assert scaled.features.dtype == dtype
    for s in q.slices():
        x = q.features[s].astype(np.float64)
        expected = (x - x.min(0)) / (x.max(0) - x.min(0)) if how == "minmax" else (x - x.mean(0)) / x.std(0)
        np.testing.assert_allclose(scaled.features[s], expected, rtol=0, atol=3e-5 if dtype == np.float32 else 1e-12)


@pytest.mark.parametrize("how", ["minmax", "zscore"])
def test_constant_features_and_single_documents_become_zero(how: str) -> None:
    x = np.array([[0.1, 1.0], [0.1, 2.0], [0.1, 3.0], [7.0, 7.0]])
    scaled = Queries(x, sizes=[3, 1]).normalized(how).features
    assert (scaled[:, 0] == 0).all()
    assert (scaled[3] == 0).all()


@pytest.mark.parametrize(("how", "low"), [("minmax", 0.0), ("zscore", -1.0)])
def test_missing_values_stay_missing_and_do_not_count(how: str, low: float) -> None:
    x = np.array([[np.nan], [np.nan], [np.nan], [1.0], [3.0]])
    scaled = Queries(x, sizes=[2, 3]).normalized(how).features
    np.testing.assert_array_equal(scaled[:, 0], [np.nan, np.nan, np.nan, low, 1.0])


def test_unknown_ways_and_sparse_features_are_refused() -> None:
    with pytest.raises(ValueError, match="must be one of 'minmax', 'zscore'"):
        Queries(np.eye(2), sizes=[2]).normalized("max")
    with pytest.raises(ValueError, match="sparse features cannot be shifted"):
        Queries(sparse.eye_array(2, format="csr"), sizes=[2]).normalized("minmax")

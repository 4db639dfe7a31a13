"""Scores that know nothing."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from scipy.stats import kstest

import podium
from podium.scorers.chance import HashModel


def _queries(features):
    return podium.Queries(features, sizes=[features.shape[0]])


def test_uniform_and_uncorrelated_with_the_features() -> None:
    features = np.random.default_rng(0).integers(0, 4, (20_000, 12)).astype(np.float32)
    features = np.unique(features, axis=0)
    scores = HashModel(7).scores(_queries(features))
    assert len(np.unique(scores)) == len(features)
    assert kstest(scores, "uniform").pvalue > 0.001
    correlations = [np.corrcoef(scores, features[:, j])[0, 1] for j in range(12)]
    assert np.abs(correlations).max() < 4.5 / np.sqrt(len(features))


def test_other_seeds_give_other_scores() -> None:
    features = np.random.default_rng(1).random((5000, 3))
    first, second = (HashModel(seed).scores(_queries(features)) for seed in (0, 1))
    assert abs(np.corrcoef(first, second)[0, 1]) < 0.06


def test_the_same_for_every_way_of_storing() -> None:
    features = np.random.default_rng(2).integers(-2, 3, (300, 6)).astype(np.float32)
    scores = HashModel(3).scores(_queries(features))
    np.testing.assert_array_equal(HashModel(3).scores(_queries(features.astype(np.float64))), scores)
    np.testing.assert_array_equal(HashModel(3).scores(_queries(sparse.csr_matrix(features))), scores)
    np.testing.assert_array_equal(HashModel(3).scores(_queries(np.where(features == 0, -0.0, features))), scores)


def test_columns_are_told_apart() -> None:
    scores = HashModel(0).scores(_queries(np.array([[1.0, 2.0], [2.0, 1.0], [0.0, 0.0]])))
    assert len(set(scores.tolist())) == 3


@pytest.mark.parametrize("seed", [np.array(-1), np.zeros(2, int), np.array(0.5), "1"])
def test_seeds_that_cannot_be_are_refused(seed) -> None:
    with pytest.raises(ValueError, match="seed"):
        HashModel.from_arrays(None, {"seed": seed})

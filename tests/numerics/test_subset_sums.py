"""Sums over all subsets, against enumeration."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from podium.numerics.subsets.sums import LONGEST, log_subset_sum


def enumerated(scores: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
    n = len(scores)
    subsets = [list(c) for m in range(1, n + 1) for c in combinations(range(n), m)]
    means = np.array([scores[c].mean() for c in subsets])
    weights = np.exp(means - means.max())
    derivative, membership = np.zeros(n), np.zeros(n)
    for weight, subset in zip(weights, subsets, strict=True):
        derivative[subset] += weight / len(subset)
        membership[subset] += weight
    return np.log(weights.sum()) + means.max(), derivative / weights.sum(), membership / weights.sum()


@pytest.mark.parametrize("n", [1, 2, 3, 7, 12])
@pytest.mark.parametrize("scale", [0.0, 1e-3, 1.0, 30.0, 1e3])
def test_against_enumeration(n: int, scale: float) -> None:
    scores = np.random.default_rng(n).standard_normal(n) * scale + 3
    derivative, membership = np.empty(n), np.empty(n)
    value = log_subset_sum(scores, derivative, membership)
    expected = enumerated(scores)
    assert value == pytest.approx(expected[0], rel=1e-13)
    np.testing.assert_allclose(derivative, expected[1], atol=1e-14)
    np.testing.assert_allclose(membership, expected[2], atol=1e-14)


@pytest.mark.parametrize("n", [150, LONGEST])
def test_equal_scores_count_subsets(n: int) -> None:
    derivative, membership = np.empty(n), np.empty(n)
    value = log_subset_sum(np.full(n, 2.0), derivative, membership)
    assert value == pytest.approx(2 + n * np.log(2))  # 2^n − 1 subsets of weight e^2
    np.testing.assert_allclose(derivative, 1 / n, rtol=1e-12)
    np.testing.assert_allclose(membership, 0.5, rtol=1e-12)


@pytest.mark.parametrize("scale", [1.0, 50.0, 1000.0])
def test_long_lists_by_finite_differences(scale: float) -> None:
    rng = np.random.default_rng(5)
    scores = rng.standard_normal(200) * scale
    derivative, membership = np.empty(200), np.empty(200)
    log_subset_sum(scores, derivative, membership)
    assert derivative.sum() == pytest.approx(1)  # a shift of all scores shifts log Z alike
    direction = rng.standard_normal(200)
    step, scratch = 1e-5 * max(1.0, scale / 50), np.empty(200)
    up = log_subset_sum(scores + step * direction, scratch, membership)
    down = log_subset_sum(scores - step * direction, scratch, membership)
    assert (up - down) / (2 * step) == pytest.approx(derivative @ direction, rel=1e-5, abs=1e-7)

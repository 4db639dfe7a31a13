"""RankCosine: hand arithmetic, the cosine itself, scores of nothing, steps that boosting takes."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import cosine

from podium.losses import RankCosineLoss


def test_three_documents_by_hand() -> None:
    # y = (2, 1, 2), of length 3; s = (1, 2, −2), of length 3; their product is 0.
    result = RankCosineLoss().value_and_gradient([1.0, 2.0, -2.0], [2, 1, 2], [0, 3], curvature=True)
    assert result.value == pytest.approx(0.5, rel=1e-12)
    np.testing.assert_allclose(result.d_scores, [-2 / 18, -1 / 18, -2 / 18], rtol=1e-12)
    np.testing.assert_allclose(result.d2_scores, 1 / 18, rtol=1e-12)


@pytest.mark.parametrize("transform", ["identity", "exp2"])
def test_it_is_half_scipys_cosine_distance(transform: str) -> None:
    rng = np.random.default_rng(0)
    scores, labels = rng.normal(size=30), rng.integers(0, 4, 30).astype(float)
    y = labels if transform == "identity" else 2.0**labels - 1.0
    expected = (cosine(y[:10], scores[:10]) + cosine(y[10:], scores[10:])) / 4
    loss = RankCosineLoss(transform)
    assert loss.value_and_gradient(scores, labels, [0, 10, 30]).value == pytest.approx(expected, rel=1e-10)
    for factor in (1e-20, 1e-3, 1e20):  # only the direction counts
        assert loss.value_and_gradient(factor * scores, labels, [0, 10, 30]).value == pytest.approx(expected, rel=1e-10)


def test_bounds() -> None:
    labels = np.array([1.0, 2.0, 0.0])
    for scores, value in ((3 * labels, 0.0), (-labels, 1.0)):
        result = RankCosineLoss().value_and_gradient(scores, labels, [0, 3])
        assert result.value == pytest.approx(value, abs=1e-12)
        np.testing.assert_allclose(result.d_scores, 0.0, atol=1e-12)


def test_scores_of_zero_point_to_the_grades() -> None:
    labels = np.array([3.0, 0.0, 4.0])
    for scores in (np.zeros(3), np.zeros(3, np.float32), np.full(3, 1e-35)):
        result = RankCosineLoss().value_and_gradient(scores, labels, [0, 3], curvature=True)
        assert result.value == 0.5
        np.testing.assert_allclose(result.d_scores, -labels / 10, rtol=1e-7)
        np.testing.assert_allclose(-result.d_scores / result.d2_scores, labels, rtol=1e-6)  # all the way


@pytest.mark.parametrize("size", [1e-12, 1e-3, 1.0, 1e3])
def test_no_step_of_boosting_is_longer_than_scores_or_grades(size: float) -> None:
    rng = np.random.default_rng(1)
    scores, labels = size * rng.normal(size=20), rng.integers(0, 3, 20)
    result = RankCosineLoss().value_and_gradient(scores, labels, [0, 20], curvature=True)
    step = np.linalg.norm(result.d_scores / result.d2_scores)
    assert 0.1 * max(np.linalg.norm(scores), np.linalg.norm(labels)) < step
    assert step <= max(np.linalg.norm(scores), np.linalg.norm(labels)) * (1 + 1e-12)


def test_lists_that_say_nothing() -> None:
    for labels, offsets in (([0, 0, 0], [0, 3]), ([1, 2, 3], [0, 1, 2, 3])):
        result = RankCosineLoss().value_and_gradient([1.0, -2.0, 0.5], labels, offsets, curvature=True)
        assert result.value == 0.0
        assert not result.d_scores.any()


def test_labels_of_any_size() -> None:
    scores = np.array([1.0, -2.0, 0.5])
    plain = RankCosineLoss().value_and_gradient(scores, [1, 2, 0], [0, 3]).value
    assert RankCosineLoss().value_and_gradient(scores, [1e300, 2e300, 0], [0, 3]).value == pytest.approx(plain)

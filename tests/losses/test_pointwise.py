"""Squared error, with and without an offset for each query: hand arithmetic."""

from __future__ import annotations

import numpy as np
import pytest

from podium.losses import QueryOffsetLoss, RegressionLoss


def test_four_documents_in_two_lists_by_hand() -> None:
    # Errors 1, −2 | 3, 0: ½(1 + 4)/2 and ½ 9/2, of which the mean over the two lists.
    result = RegressionLoss().value_and_gradient([1.0, 0.0, 3.0, 1.0], [0, 2, 0, 1], [0, 2, 4], curvature=True)
    assert result.value == pytest.approx((1.25 + 2.25) / 2)
    np.testing.assert_allclose(result.d_scores, [0.25, -0.5, 0.75, 0.0])
    np.testing.assert_allclose(result.d2_scores, 0.25)


def test_sum_counts_long_lists_more() -> None:
    result = RegressionLoss(normalize=False).value_and_gradient([1.0, 1.0, 1.0], [0, 0, 0], [0, 1, 3])
    assert result.value == pytest.approx((0.5 + 1.0) / 2)
    np.testing.assert_allclose(result.d_scores, 0.5)


def test_targets() -> None:
    scores, labels, offsets = [3.0, 0.5], [2, 1], [0, 2]
    assert RegressionLoss(targets=None).value_and_gradient(scores, labels, offsets).value == pytest.approx(0.25 / 4)
    assert RegressionLoss(targets=[0, 0.5, 3]).value_and_gradient(scores, labels, offsets).value == 0.0


def test_offset_by_hand() -> None:
    # Errors 1, −2, 4 | 7: their means 1 | 7 are free, the rest is 0, −3, 3 | 0.
    result = QueryOffsetLoss().value_and_gradient([1.0, 0.0, 4.0, 8.0], [0, 2, 0, 1], [0, 3, 4], curvature=True)
    assert result.value == pytest.approx(0.5 * 18 / 3 / 2)
    np.testing.assert_allclose(result.d_scores, [0.0, -0.5, 0.5, 0.0], atol=1e-15)
    np.testing.assert_allclose(result.d2_scores, [1 / 9, 1 / 9, 1 / 9, 0.0])


def test_offset_is_the_best_of_all() -> None:
    rng = np.random.default_rng(0)
    labels, scores = rng.integers(0, 4, 20), rng.normal(size=20)
    free = QueryOffsetLoss(targets=None).value_and_gradient(scores, labels, [0, 20]).value
    # The same list many times, each with an offset of its own: none is better, and the best comes close.
    offsets = np.linspace(-8, 2, 1001)
    shifted, twenties = (scores - offsets[:, None]).ravel(), 20 * np.arange(len(offsets) + 1)
    bound = RegressionLoss(targets=None).bind(np.tile(labels, len(offsets)), twenties)
    best = np.abs(bound.value_and_gradient(shifted).d_scores.reshape(-1, 20).sum(axis=1)).argmin()
    assert 0 < best < len(offsets) - 1
    plain = RegressionLoss(targets=None).value_and_gradient(scores - offsets[best], labels, [0, 20]).value
    assert free <= plain <= free + 1e-4

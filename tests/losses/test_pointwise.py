"""Squared error: hand arithmetic."""

from __future__ import annotations

import numpy as np
import pytest

from podium.losses import RegressionLoss


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

"""Unique softmax: hand arithmetic, the printed double sum, RankNet's pair, scores far apart, other grades."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import logsumexp

from podium.losses import RankNetLoss, UniqueSoftmaxLoss


def printed(scores: np.ndarray, labels: np.ndarray) -> float:
    """Σ_i G_i log(1 + Σ_{j: y_j < y_i} e^{s_j − s_i}), document by document."""
    value = 0.0
    for s, y in zip(scores, labels, strict=True):
        value += max(2.0**y - 1.0, 0.0) * logsumexp([0.0, *(scores[labels < y] - s)])
    return value


def test_four_documents_by_hand() -> None:
    # Worths 1, 2, 3, 4 with grades 1, 0, 2, 1: the third (gain 3) has 3 of 10, the first 1 of 3, the fourth 4 of 6.
    result = UniqueSoftmaxLoss().value_and_gradient(np.log([1.0, 2.0, 3.0, 4.0]), [1, 0, 2, 1], [0, 4], curvature=True)
    assert result.value == pytest.approx(-3 * np.log(3 / 10) - np.log(1 / 3) - np.log(4 / 6), rel=1e-12)
    expected = [3 / 10 - 2 / 3, 6 / 10 + 2 / 3 + 2 / 6, -3 * 7 / 10, 12 / 10 - 2 / 6]
    np.testing.assert_allclose(result.d_scores, expected, rtol=1e-12)
    bends = [0.27 + 2 / 9, 0.48 + 2 / 9 + 2 / 9, 3 * 0.21, 0.72 + 2 / 9]
    np.testing.assert_allclose(result.d2_scores, bends, rtol=1e-12)


@pytest.mark.parametrize("scale", [0.1, 1.0, 10.0, 300.0])
@pytest.mark.parametrize("n_grades", [2, 5, 1000])
def test_the_printed_sum(scale: float, n_grades: int) -> None:
    rng = np.random.default_rng(n_grades)
    scores, labels = scale * rng.normal(size=70), 6.0 * rng.integers(0, n_grades, 70) / n_grades - 1.0
    offsets = np.array([0, 30, 70])
    expected = printed(scores[:30], labels[:30]) + printed(scores[30:], labels[30:])
    result = UniqueSoftmaxLoss().value_and_gradient(scores, labels, offsets)
    assert result.value == pytest.approx(expected / 2, rel=1e-10)
    for i in (0, 7, 30, 69):  # finite differences of the printed sum
        step = 1e-5 * scale
        changes = []
        for sign in (1, -1):
            moved = scores.copy()
            moved[i] += sign * step
            q = slice(0, 30) if i < 30 else slice(30, 70)
            changes.append(printed(moved[q], labels[q]))
        assert result.d_scores[i] == pytest.approx((changes[0] - changes[1]) / (4 * step), rel=1e-6, abs=1e-6)


def test_two_documents_are_a_ranknet_pair() -> None:
    pair = RankNetLoss(normalize=False).value_and_gradient([0.3, -0.4], [0, 1], [0, 2])
    ours = UniqueSoftmaxLoss().value_and_gradient([0.3, -0.4], [0, 1], [0, 2])
    assert ours.value == pytest.approx(pair.value, rel=1e-12)
    np.testing.assert_allclose(ours.d_scores, pair.d_scores, rtol=1e-12)


def test_lists_that_say_nothing() -> None:
    for labels in ([2, 2, 2], [0, 0, 0], [0, -1, -2]):  # no pair, or no gain
        result = UniqueSoftmaxLoss().value_and_gradient([1.0, -2.0, 0.5], labels, [0, 3])
        assert result.value == 0.0
        assert not result.d_scores.any()


def test_labels_whose_gain_is_no_number_are_refused() -> None:
    with pytest.raises(ValueError, match=r"label 2000 is too large for gains of 2\^label"):
        UniqueSoftmaxLoss().bind([2000, 1], [0, 2])

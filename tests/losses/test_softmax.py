"""The softmax loss: hand arithmetic, the formula in NumPy, ListNet with a cold target, lists that say nothing."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import log_softmax, softmax

from podium.losses import ListMLELoss, ListNetLoss, SoftmaxLoss


def test_four_documents_by_hand() -> None:
    # Worths 1, 2, 3, 4 are shares of ten; grades 3, 0, 1, 0 are shares of four.
    result = SoftmaxLoss().value_and_gradient(np.log([1.0, 2.0, 3.0, 4.0]), [3, 0, 1, 0], [0, 4], curvature=True)
    assert result.value == pytest.approx(-3 / 4 * np.log(1 / 10) - 1 / 4 * np.log(3 / 10), rel=1e-12)
    np.testing.assert_allclose(result.d_scores, [1 / 10 - 3 / 4, 2 / 10, 3 / 10 - 1 / 4, 4 / 10], rtol=1e-12)
    np.testing.assert_allclose(result.d2_scores, [0.09, 0.16, 0.21, 0.24], rtol=1e-12)


@pytest.mark.parametrize("scale", [0.1, 1.0, 30.0])
def test_the_formula(scale: float) -> None:
    rng = np.random.default_rng(0)
    scores, labels = scale * rng.normal(size=50), rng.choice([0.0, 0.5, 1.0, 4.0], 50)
    offsets = np.array([0, 20, 20, 50])
    result = SoftmaxLoss().value_and_gradient(scores, labels, offsets)
    values, gradients = [0.0], []
    for q in (slice(0, 20), slice(20, 50)):
        target = labels[q] / labels[q].sum()
        values.append(-(target * log_softmax(scores[q])).sum())
        gradients.append((softmax(scores[q]) - target) / 3)
    assert result.value == pytest.approx(np.sum(values) / 3, rel=1e-10)
    np.testing.assert_allclose(result.d_scores, np.concatenate(gradients), rtol=1e-10, atol=1e-12)


def test_one_good_document_is_the_first_place_of_plackett_luce() -> None:
    scores, labels = np.array([0.3, -0.2, 1.1]), [0, 2, 0]
    ours = SoftmaxLoss().value_and_gradient(scores, labels, [0, 3])
    cold = ListNetLoss(temperature=0.01).value_and_gradient(scores, labels, [0, 3])
    assert ours.value == pytest.approx(cold.value, rel=1e-12)
    np.testing.assert_allclose(ours.d_scores, cold.d_scores, rtol=1e-12)
    two = SoftmaxLoss().value_and_gradient(scores[:2], labels[:2], [0, 2])
    assert two.value == pytest.approx(ListMLELoss().value_and_gradient(scores[:2], labels[:2], [0, 2]).value)


def test_lists_without_a_grade_above_zero_say_nothing() -> None:
    scores = np.array([1.0, -2.0, 0.5, 3.0])
    for labels in ([0, 0, 0, 0], [-1, -2, 0, -1]):
        result = SoftmaxLoss().value_and_gradient(scores, labels, [0, 4], curvature=True)
        assert result.value == 0.0
        assert not result.d_scores.any()
        assert not result.d2_scores.any()
        with pytest.raises(ValueError, match="document 1 of query number 0 is nan"):
            SoftmaxLoss().value_and_gradient([0.0, np.nan, 0.0, 0.0], labels, [0, 4])
    below = SoftmaxLoss().value_and_gradient(scores, [-3, 1, 0, 2], [0, 4])
    assert below.value == SoftmaxLoss().value_and_gradient(scores, [0, 1, 0, 2], [0, 4]).value


def test_labels_of_any_size() -> None:
    scores = np.array([1.0, -2.0, 0.5])
    plain = SoftmaxLoss().value_and_gradient(scores, [1, 2, 0], [0, 3])
    large = SoftmaxLoss().value_and_gradient(scores, np.array([1, 2, 0]) * 8e307, [0, 3])
    assert large.value == pytest.approx(plain.value, rel=1e-12)

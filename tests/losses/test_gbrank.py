"""GBRank against its definition, pair by pair; any loss with a pointwise term against the sum of the two."""

from __future__ import annotations

import numpy as np
import pytest

from podium.losses import (
    GBRankLoss,
    ListMLELoss,
    LossValue,
    RankSVMLoss,
    RegressionLoss,
    SoftRankLoss,
    WithRegression,
)
from podium.losses.ranksvm import SHORT

TARGETS = np.array([0.0, 0.5, 3.0, 7.0])


def by_pairs(
    scores: np.ndarray, labels: np.ndarray, ties: float, regression: float, normalize: bool
) -> tuple[float, np.ndarray, np.ndarray]:
    """Value, gradient and curvature with all n² pairs written out."""
    targets, n = TARGETS[labels], len(scores)
    gaps = scores[:, None] - scores[None, :]
    better = labels[:, None] > labels[None, :]
    tied = (labels[:, None] == labels[None, :]) & ~np.eye(n, dtype=bool)  # each pair twice
    missing = np.maximum(targets[:, None] - targets[None, :] - gaps, 0) * better
    a, b, c = (1 / max(better.sum(), 1), 2 / max(tied.sum(), 1), 1 / n) if normalize else (1, 1, 1)
    errors = scores - targets
    value = a * (missing**2).sum() + ties * b * (gaps**2 * tied).sum() / 2 + regression * c * (errors**2).sum() / 2
    gradient = a * 2 * (missing.sum(axis=0) - missing.sum(axis=1)) + ties * b * 2 * (gaps * tied).sum(axis=1)
    active = missing > 0
    bends = a * 2 * (active.sum(axis=0) + active.sum(axis=1)) + ties * b * 2 * tied.sum(axis=1)
    return value, gradient + regression * c * errors, bends + regression * c


def check(result: LossValue, expected: tuple[float, np.ndarray, np.ndarray]) -> None:
    value, gradient, bends = expected
    assert result.value == pytest.approx(value, rel=1e-10)
    np.testing.assert_allclose(result.d_scores, gradient, rtol=1e-9, atol=1e-9 * np.abs(gradient).max())
    np.testing.assert_allclose(result.d2_scores, bends, rtol=1e-9)


def test_three_documents_by_hand() -> None:
    # Targets 1, 0, 0. The first should lead both others by 1; it trails the second by 1 and is level with the third:
    # (2² + 1²) / 2. The tied pair is 1 apart: 1² / 1.
    result = GBRankLoss(ties=0.5).value_and_gradient([0.0, 1.0, 0.0], [1, 0, 0], [0, 3])
    assert result.value == pytest.approx(2.5 + 0.5)
    assert GBRankLoss(ties=0.0).value_and_gradient([0.0, 1.0, 0.0], [1, 0, 0], [0, 3]).value == pytest.approx(2.5)


@pytest.mark.parametrize("normalize", [True, False])
@pytest.mark.parametrize(("n", "scale"), [(2, 1.0), (9, 1e-3), (40, 3.0), (40, 1e3), (SHORT + 200, 3.0)])
def test_is_the_sum_over_all_pairs(n: int, scale: float, normalize: bool) -> None:
    rng = np.random.default_rng(n)
    labels, scores = rng.integers(0, 4, n), scale * rng.normal(size=n)
    scores[: n // 3] = np.round(scores[: n // 3])  # some equal ones, and some just at their margin
    for ties, regression in [(0.0, 0.0), (0.3, 0.0), (0.3, 0.7)]:
        loss = GBRankLoss(ties, regression, targets=TARGETS, normalize=normalize)
        result = loss.value_and_gradient(scores, labels, [0, n], curvature=True)
        check(result, by_pairs(scores, labels, ties, regression, normalize))


def test_two_grades_are_a_ranking_svm() -> None:
    # With targets 0 and 1 every pair has the margin 1.
    rng = np.random.default_rng(0)
    labels, scores = rng.integers(0, 2, 50), rng.normal(size=50)
    same = RankSVMLoss(squared=True).value_and_gradient(scores, labels, [0, 50])
    result = GBRankLoss(ties=0.0).value_and_gradient(scores, labels, [0, 50])
    assert result.value == pytest.approx(same.value)
    np.testing.assert_allclose(result.d_scores, same.d_scores, atol=1e-14)


def test_ties_alone_draw_together() -> None:
    result = GBRankLoss(ties=2.0).value_and_gradient([1.0, -1.0], [1, 1], [0, 2])
    assert result.value == pytest.approx(2.0 * 4.0)
    assert result.d_scores.tolist() == [8.0, -8.0]
    assert GBRankLoss(ties=0.0).value_and_gradient([1.0, -1.0], [1, 1], [0, 2]).value == 0.0


def test_settings_are_checked() -> None:
    for loss, message in [(GBRankLoss(ties=-1), "ties must be"), (GBRankLoss(regression=-1), "regression must be")]:
        with pytest.raises(ValueError, match=message):
            loss.bind([0, 1], [0, 2])


@pytest.mark.parametrize("normalize", [True, False])
def test_any_loss_with_regression_is_the_sum_of_both(normalize: bool) -> None:
    rng = np.random.default_rng(1)
    labels, scores, offsets = rng.integers(0, 4, 30), rng.normal(size=30), [0, 11, 30]
    loss = WithRegression(ListMLELoss(ties="random"), weight=0.3, targets=TARGETS, normalize=normalize)
    assert (loss.convex, loss.exact_curvature, loss.shift_invariant, loss.cost) == (True, True, False, "n")
    bound, alone = loss.bind(labels, offsets), loss.loss.bind(labels, offsets)
    points = RegressionLoss(normalize, TARGETS).value_and_gradient(scores, labels, offsets, curvature=True)
    for epoch in (0, 1):  # the order of ties is drawn anew
        bound.start_epoch(epoch)
        alone.start_epoch(epoch)
        result = bound.value_and_gradient(scores, curvature=True)
        ranking = alone.value_and_gradient(scores, curvature=True)
        assert result.value == pytest.approx(ranking.value + 0.3 * points.value)
        np.testing.assert_allclose(result.d_scores, ranking.d_scores + 0.3 * points.d_scores, atol=1e-14)
        np.testing.assert_allclose(result.d2_scores, ranking.d2_scores + 0.3 * points.d2_scores, atol=1e-14)


def test_regression_leaves_a_losss_own_parameters_to_it() -> None:
    loss = WithRegression(SoftRankLoss("normal", learn_sigma=True))
    assert loss.n_parameters == 1
    assert loss.parameter_bounds() == loss.loss.parameter_bounds()
    assert not loss.has_curvature

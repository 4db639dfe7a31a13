"""RankNet, Ranking SVM and Rank Regress against their definitions, pair by pair, and against each other."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from podium.losses import Loss, RankNetLoss, RankRegressLoss, RankSVMLoss
from podium.losses.ranksvm import SHORT

# The function of the gap, its derivative and its second derivative (or the stand-in), as in each paper.
DEFINITIONS: list[tuple[Loss, Callable, Callable, Callable]] = [
    (
        RankNetLoss(normalize=False),
        lambda d: np.logaddexp(0, -d),
        lambda d: -1 / (1 + np.exp(np.minimum(d, 700))),
        lambda d: np.exp(-np.abs(d)) / (1 + np.exp(-np.abs(d))) ** 2,
    ),
    (
        RankSVMLoss(margin=0.8, normalize=False),
        lambda d: np.maximum(0, 0.8 - d),
        lambda d: -1.0 * (d < 0.8),
        lambda d: 1.0 * (d < 0.8),
    ),
    (
        RankSVMLoss(squared=True, normalize=False),
        lambda d: np.maximum(0, 1 - d) ** 2,
        lambda d: -2 * np.maximum(0, 1 - d),
        lambda d: 2.0 * (d < 1),
    ),
    (
        RankRegressLoss(normalize=False),
        lambda d: (1 - d) ** 2,
        lambda d: -2 * (1 - d),
        lambda d: 2.0 + 0 * d,
    ),
]
every_definition = pytest.mark.parametrize(
    ("loss", "f", "slope", "bend"), DEFINITIONS, ids=[repr(d[0]) for d in DEFINITIONS]
)


def by_pairs(
    scores: np.ndarray, labels: np.ndarray, f: Callable, slope: Callable, bend: Callable
) -> tuple[float, np.ndarray, np.ndarray]:
    """Value, gradient and curvature of Σ_{y_i > y_j} f(s_i − s_j), all n² pairs written out."""
    gaps = scores[:, None] - scores[None, :]
    better = labels[:, None] > labels[None, :]
    slopes, bends = slope(gaps) * better, bend(gaps) * better
    gradient = slopes.sum(axis=1) - slopes.sum(axis=0)
    return (f(gaps) * better).sum(), gradient, bends.sum(axis=1) + bends.sum(axis=0)


def test_four_documents_by_hand() -> None:
    # Grades 1, 0, 2, 1 of scores 0, 1, 2, 3. Ordered pairs and their gaps: (1st, 2nd) −1, (3rd, 1st) 2, (3rd, 2nd) 1,
    # (3rd, 4th) −1, (4th, 2nd) 2.
    scores, labels, offsets = [0.0, 1.0, 2.0, 3.0], [1, 0, 2, 1], [0, 4]
    gaps = np.array([-1.0, 2.0, 1.0, -1.0, 2.0])
    ranknet = RankNetLoss().value_and_gradient(scores, labels, offsets)
    assert ranknet.value == pytest.approx(np.log1p(np.exp(-gaps)).mean())
    # Hinges 2, 0, 0, 2, 0: the first and fourth pair pull.
    svm = RankSVMLoss().value_and_gradient(scores, labels, offsets)
    assert svm.value == pytest.approx(4 / 5)
    np.testing.assert_allclose(svm.d_scores, np.array([-1, 1, -1, 1]) / 5)
    squared = RankSVMLoss(squared=True).value_and_gradient(scores, labels, offsets)
    assert squared.value == pytest.approx(8 / 5)
    np.testing.assert_allclose(squared.d_scores, np.array([-4, 4, -4, 4]) / 5)
    # 1 − gap: 2, −1, 0, 2, −1.
    regress = RankRegressLoss().value_and_gradient(scores, labels, offsets)
    assert regress.value == pytest.approx((4 + 1 + 0 + 4 + 1) / 5)
    np.testing.assert_allclose(regress.d_scores, np.array([-4 - 2, 4 - 0 - 2, 2 - 0 - 4, 4 + 2]) / 5, atol=1e-15)


@every_definition
@pytest.mark.parametrize("n", [2, 3, 5, 17, 64, SHORT + 30])
@pytest.mark.parametrize("scale", [0.5, 5.0, 50.0])
def test_pair_by_pair(loss: Loss, f: Callable, slope: Callable, bend: Callable, n: int, scale: float) -> None:
    rng = np.random.default_rng(n)
    scores, labels = scale * rng.normal(size=n), rng.integers(0, 4, n).astype(float)
    value, gradient, curvature = by_pairs(scores, labels, f, slope, bend)
    for curved in (False, True):
        result = loss.value_and_gradient(scores, labels, [0, n], curvature=curved)
        assert result.value == pytest.approx(value, rel=1e-10, abs=1e-12)
        np.testing.assert_allclose(result.d_scores, gradient, rtol=1e-9, atol=1e-10 * np.abs(gradient).max())
    np.testing.assert_allclose(result.d2_scores, curvature, rtol=1e-9, atol=1e-12)


@every_definition
def test_as_many_grades_as_documents(loss: Loss, f: Callable, slope: Callable, bend: Callable) -> None:
    rng = np.random.default_rng(0)
    for n in (50, SHORT + 50):
        scores, labels = rng.normal(size=n), rng.permutation(n) / 7 - 3
        value, gradient, _ = by_pairs(scores, labels, f, slope, bend)
        result = loss.value_and_gradient(scores, labels, [0, n])
        assert result.value == pytest.approx(value, rel=1e-10)
        np.testing.assert_allclose(result.d_scores, gradient, rtol=1e-9, atol=1e-10 * np.abs(gradient).max())


@every_definition
def test_tied_scores(loss: Loss, f: Callable, slope: Callable, bend: Callable) -> None:
    rng = np.random.default_rng(1)
    for n in (40, SHORT + 40):
        scores, labels = rng.integers(0, 6, n) / 2, rng.integers(0, 3, n).astype(float)
        value, gradient, _ = by_pairs(scores, labels, f, slope, bend)
        result = loss.value_and_gradient(scores, labels, [0, n])
        assert result.value == pytest.approx(value, rel=1e-10)
        np.testing.assert_allclose(result.d_scores, gradient, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("spread", [1.0, 9.0, 19.0, 21.0, 60.0, 169.0, 171.0])
def test_ranknet_by_products_and_by_pairs(dtype: type, spread: float) -> None:
    # Exponentials are shared between pairs only while scores lie close together; both sides of each limit.
    rng = np.random.default_rng(2)
    for n in (3, 30, 131):
        scores = (spread * (rng.random(n) - 0.5)).astype(dtype)
        scores[:2] = -spread / 2, spread / 2
        labels = rng.integers(0, 5, n).astype(float)
        _, f, slope, bend = DEFINITIONS[0]
        value, gradient, _ = by_pairs(scores.astype(np.float64), labels, f, slope, bend)
        result = RankNetLoss(normalize=False).value_and_gradient(scores, labels, [0, n])
        tolerance = 3e-6 if dtype == np.float32 else 1e-12
        assert result.value == pytest.approx(value, rel=tolerance, abs=tolerance)
        np.testing.assert_allclose(result.d_scores, gradient, rtol=0, atol=tolerance * np.abs(gradient).max())


def test_well_separated_pairs_keep_small_gradients() -> None:
    # Every better document leads by 15: gradients of about 3e-7 must not drown in the rounding of 1.
    result = RankNetLoss(normalize=False).value_and_gradient(np.array([15.0, 0.0], np.float32), [1, 0], [0, 2])
    np.testing.assert_allclose(result.d_scores, [-np.exp(-15), np.exp(-15)], rtol=1e-5)


def test_mean_over_pairs_is_the_sum_divided_by_their_number() -> None:
    rng = np.random.default_rng(3)
    scores, labels, offsets = rng.normal(size=30), rng.integers(0, 3, 30), np.array([0, 11, 30])
    for build in (RankNetLoss, RankSVMLoss, RankRegressLoss):
        value = 0.0
        for start, stop in ((0, 11), (11, 30)):
            y = labels[start:stop]
            pairs = (y[:, None] > y[None, :]).sum()
            value += build(normalize=False).value_and_gradient(scores[start:stop], y, [0, stop - start]).value / pairs
        assert build().value_and_gradient(scores, labels, offsets).value == pytest.approx(value / 2)


@pytest.mark.parametrize("margin", [0.0, -1.0, np.nan, np.inf])
def test_margin_must_be_positive(margin: float) -> None:
    with pytest.raises(ValueError, match="margin must be a finite number above 0"):
        RankSVMLoss(margin=margin).bind([1.0], [0, 1])

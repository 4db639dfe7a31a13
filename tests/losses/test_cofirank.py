from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

from podium.losses import CoFiRankLoss
from podium.metrics import metric


def brute_force(scores: np.ndarray, labels: np.ndarray, k: int | None, power: bool = False) -> float:
    """The loss by its definition: the maximum over all rankings, each with its 1 − NDCG@k and its lead in scores."""
    n = len(scores)
    ranks = np.arange(1, n + 1)
    discounts = np.where(ranks <= (k or n), 1 / np.log2(1 + ranks), 0)
    weights = (1.0 + ranks) ** -0.25 if power else discounts
    gains = 2.0**labels - 1
    rankings = [list(p) for p in permutations(range(n))]
    ideal = max(gains[p] @ discounts for p in rankings)
    true = [p for p in rankings if (np.diff(labels[p]) <= 0).all()]  # every order that the labels allow
    by_labels = np.mean([weights @ scores[p] for p in true])
    return max(1 - gains[p] @ discounts / ideal + weights @ scores[p] - by_labels for p in rankings)


@pytest.mark.parametrize("weights", ["discounts", "power"])
@pytest.mark.parametrize("k", [None, 1, 3])
@pytest.mark.parametrize("scale", [0.01, 0.3, 5.0])
def test_the_worst_ranking_is_found_and_bounds_ndcg(k: int | None, scale: float, weights: str) -> None:
    rng = np.random.default_rng(7)
    ndcg = metric("ndcg" if k is None else f"ndcg@{k}")
    for n in (2, 3, 4, 5, 6):
        labels = rng.integers(0, 4, n).astype(float)
        labels[:2] = 0, 2  # never all equal
        scores = scale * rng.standard_normal(n)
        loss = CoFiRankLoss(k, weights).value_and_gradient(scores, labels, [0, n])
        assert loss.value == pytest.approx(brute_force(scores, labels, k, weights == "power"), abs=1e-12)
        assert loss.value >= 1 - ndcg.per_query(scores, labels, np.array([0, n]))[0] - 1e-12


def test_no_loss_with_a_margin_and_nothing_from_ties() -> None:
    apart = CoFiRankLoss().value_and_gradient([100.0, 50.0, 0.0], [2, 1, 0], [0, 3])
    assert apart.value == pytest.approx(0.0, abs=1e-12)
    np.testing.assert_allclose(apart.d_scores, 0.0, atol=1e-12)
    for labels in ([2, 2, 2], [0, 0, 0], [0, -1, -1]):  # all equal; nothing to gain
        assert CoFiRankLoss().value_and_gradient([1.0, 3.0, 2.0], labels, [0, 3]).value == 0.0


def test_the_published_weights_in_longer_lists() -> None:
    """Oracle: SciPy's assignment, and finite differences."""
    from scipy.optimize import linear_sum_assignment

    rng = np.random.default_rng(3)
    loss = CoFiRankLoss(weights="power")
    for n in (40, 97):
        labels, scores = rng.integers(0, 5, n).astype(float), rng.standard_normal(n)
        ranks = np.arange(1, n + 1)
        c, d, gains = (1.0 + ranks) ** -0.25, 1 / np.log2(1 + ranks), 2.0**labels - 1
        g = gains / (np.sort(gains)[::-1] @ d)
        worth = np.outer(c, scores) - np.outer(d, g)
        best = worth[linear_sum_assignment(worth, maximize=True)].sum()
        by_labels = np.array([c[np.sort(-labels) == -label].mean() for label in labels])
        found = loss.value_and_gradient(scores, labels, [0, n])
        assert found.value == pytest.approx(best + 1 - by_labels @ scores, abs=1e-10)
        step = rng.standard_normal(n)
        ahead, behind = (loss.value_and_gradient(scores + t * step, labels, [0, n]).value for t in (1e-6, -1e-6))
        assert found.d_scores @ step == pytest.approx((ahead - behind) / 2e-6, abs=1e-6)
        shuffled = rng.permutation(n)
        again = loss.value_and_gradient(scores[shuffled], labels[shuffled], [0, n])
        np.testing.assert_array_equal(again.d_scores, found.d_scores[shuffled])
    with pytest.raises(ValueError, match="lists of up to 1000"):
        loss.value_and_gradient(np.zeros(1001), np.arange(1001.0) % 5, [0, 1001])

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

from podium.losses import CoFiRankLoss
from podium.metrics import metric


def brute_force(scores: np.ndarray, labels: np.ndarray, k: int | None) -> float:
    """The loss by its definition: the maximum over all rankings, each with its 1 − NDCG@k and its lead in scores."""
    n = len(scores)
    ranks = np.arange(1, n + 1)
    discounts = np.where(ranks <= (k or n), 1 / np.log2(1 + ranks), 0)
    gains = 2.0**labels - 1
    rankings = [list(p) for p in permutations(range(n))]
    ideal = max(gains[p] @ discounts for p in rankings)
    true = [p for p in rankings if (np.diff(labels[p]) <= 0).all()]  # every order that the labels allow
    by_labels = np.mean([discounts @ scores[p] for p in true])
    return max(1 - gains[p] @ discounts / ideal + discounts @ scores[p] - by_labels for p in rankings)


@pytest.mark.parametrize("k", [None, 1, 3])
@pytest.mark.parametrize("scale", [0.01, 0.3, 5.0])
def test_sorting_finds_the_worst_ranking_and_bounds_ndcg(k: int | None, scale: float) -> None:
    rng = np.random.default_rng(7)
    ndcg = metric("ndcg" if k is None else f"ndcg@{k}")
    for n in (2, 3, 4, 5, 6):
        labels = rng.integers(0, 4, n).astype(float)
        labels[:2] = 0, 2  # never all equal
        scores = scale * rng.standard_normal(n)
        loss = CoFiRankLoss(k).value_and_gradient(scores, labels, [0, n])
        assert loss.value == pytest.approx(brute_force(scores, labels, k), abs=1e-12)
        assert loss.value >= 1 - ndcg.per_query(scores, labels, np.array([0, n]))[0] - 1e-12


def test_no_loss_with_a_margin_and_nothing_from_ties() -> None:
    apart = CoFiRankLoss().value_and_gradient([100.0, 50.0, 0.0], [2, 1, 0], [0, 3])
    assert apart.value == pytest.approx(0.0, abs=1e-12)
    np.testing.assert_allclose(apart.d_scores, 0.0, atol=1e-12)
    for labels in ([2, 2, 2], [0, 0, 0], [0, -1, -1]):  # all equal; nothing to gain
        assert CoFiRankLoss().value_and_gradient([1.0, 3.0, 2.0], labels, [0, 3]).value == 0.0

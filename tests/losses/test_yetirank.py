from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from podium.losses import RankNetLoss, YetiRankLoss

from .noisy_orders import assert_means, differences, logistic, orders, uniforms

SCORES, LABELS = np.array([0.4, -0.3, 0.1, 0.9]), np.array([2.0, 1.0, 0.0, 0.0])
DISCOUNTS = {"geometric": 0.85 ** np.arange(300), "reciprocal": 1.0 / np.arange(1, 301)}


def drawn_orders(scores: np.ndarray, n_permutations: int) -> list[np.ndarray]:
    """Return the rankings that the loss draws for the first query with the seed 0."""
    uniform, drawn = uniforms(), []
    for _ in range(n_permutations):
        u = np.array([next(uniform) for _ in scores])
        drawn.append(np.argsort(-(scores + np.log(u / (1.0 - u)))))
    return drawn


def with_orders(scores: np.ndarray, labels: np.ndarray, drawn: list[Any], discounts: np.ndarray) -> float:
    """The formula of the docstring, for given rankings."""
    total = 0.0
    for order in drawn:
        s, y = scores[order], labels[order]
        gaps = y[:-1] - y[1:]
        leads = np.sign(gaps) * (s[:-1] - s[1:])  # of the better one
        total += discounts[: len(gaps)] @ (np.abs(gaps) * np.logaddexp(0.0, -leads))
    return float(total / len(drawn))


@pytest.mark.parametrize("discount", list(DISCOUNTS))
@pytest.mark.parametrize("n", [2, 9, 250])  # the last is sorted by digits
def test_given_its_rankings(n: int, discount: str) -> None:
    rng = np.random.default_rng(n)
    scores, labels = rng.normal(size=n), rng.choice([-1.0, 0.0, 0.5, 2.0], n)
    labels[0] = 3.0
    drawn = drawn_orders(scores, 10)
    found = YetiRankLoss(discount=discount).value_and_gradient(scores, labels, [0, n], curvature=True)

    def value(s: np.ndarray) -> float:
        return with_orders(s, labels, drawn, DISCOUNTS[discount])

    assert found.value == pytest.approx(value(scores), rel=1e-10)
    np.testing.assert_allclose(found.d_scores, differences(value, scores, 1e-5), rtol=1e-6, atol=1e-8)
    if n < 10:
        slopes = [differences(value, scores + 1e-3 * move, 1e-5) for move in (*np.eye(n), *-np.eye(n))]
        second = [(slopes[i][i] - slopes[n + i][i]) / 2e-3 for i in range(n)]
        np.testing.assert_allclose(found.d2_scores, second, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("scores", [SCORES, np.zeros(4)], ids=["apart", "equal"])
def test_mean_over_draws(scores: np.ndarray) -> None:
    n = 20_000
    bound = YetiRankLoss(n_permutations=1).bind(np.tile(LABELS, n), np.arange(n + 1) * 4)
    found = bound.value_and_gradient(np.tile(scores, n))
    every = list(orders(scores, logistic))

    def value(s: np.ndarray) -> float:  # the probabilities of the orders are held fixed
        return sum(p * with_orders(s, LABELS, [order], DISCOUNTS["geometric"]) for order, p in every)

    assert sum(p for _, p in every) == pytest.approx(1.0, abs=1e-5)  # the noise's tails reach beyond the grid
    assert_means(bound.per_query(np.tile(scores, n)), value(scores))
    assert_means(found.d_scores.reshape(n, 4) * n, differences(value, scores, 1e-5))


def test_two_documents_are_a_ranknet_pair() -> None:
    # They are neighbors in every ranking, at the first place.
    scores, labels = [0.3, -0.4], [0.0, 2.0]
    ours = YetiRankLoss().value_and_gradient(scores, labels, [0, 2])
    pair = RankNetLoss().value_and_gradient(scores, labels, [0, 2])
    assert ours.value == pytest.approx(2 * pair.value)
    np.testing.assert_allclose(ours.d_scores, 2 * pair.d_scores, rtol=1e-12)


def test_epochs_queries_and_seeds_draw_anew() -> None:
    labels, scores, offsets = np.tile(LABELS, 50), np.zeros(200), np.arange(51) * 4
    bound = YetiRankLoss(n_permutations=2).bind(labels, offsets)
    first = bound.value_and_gradient(scores).d_scores.copy()
    assert len(np.unique(first.reshape(-1, 4).round(12), axis=0)) > 4
    bound.start_epoch(1)
    assert (bound.value_and_gradient(scores).d_scores != first).any()
    bound.start_epoch(0)
    np.testing.assert_array_equal(bound.value_and_gradient(scores).d_scores, first)
    other = YetiRankLoss(n_permutations=2, random_state=1).value_and_gradient(scores, labels, offsets)
    assert (other.d_scores != first).any()


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_permutations": 0}, "n_permutations must be a whole number of at least 1"),
        ({"discount": "log"}, "discount must be one of 'geometric', 'reciprocal'"),
        ({"random_state": -1}, "random_state must be a whole number of at least 0"),
    ],
)
def test_wrong_settings_are_refused(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        YetiRankLoss(**parameters).bind([1.0, 0.0], [0, 2])

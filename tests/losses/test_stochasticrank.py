from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from podium.losses import StochasticRankLoss
from podium.metrics import metric

from .noisy_orders import assert_means, differences, normal, orders, uniforms

SCORES, LABELS = np.array([0.4, -0.3, 0.1, 0.9]), np.array([2.0, 1.0, 0.0, 0.0])
METRICS = ["ndcg", "ndcg@2", "map", "map@2", "mrr", "mrr@1"]


def metric_of(name: str, order: list[int], labels: np.ndarray) -> float:
    """Podium's own evaluation of one order."""
    scores = np.empty(len(order))
    scores[order] = -np.arange(len(order), dtype=float)
    return float(metric(name).per_query(scores, labels, np.array([0, len(order)]))[0])


def expected_value(name: str, scores: np.ndarray, labels: np.ndarray, sigma: float) -> float:
    return -sum(p * metric_of(name, order, labels) for order, p in orders(scores / sigma, normal))


def many(loss: StochasticRankLoss, n: int, scores: np.ndarray, labels: np.ndarray) -> Any:
    """Return values (n,), gradients and second derivatives (n, n_documents) of as many copies of one list."""
    offsets = np.arange(n + 1) * len(scores)
    bound = loss.bind(np.tile(labels, n), offsets)
    found = bound.value_and_gradient(np.tile(scores, n), curvature=True)
    derivatives = (d.reshape(n, -1) * n for d in (found.d_scores, found.d2_scores))
    return bound.per_query(np.tile(scores, n)), *derivatives


@pytest.mark.parametrize("name", METRICS)
def test_means_over_draws_are_the_expected_metric_and_its_gradient(name: str) -> None:
    sigma = 0.7
    values, gradients, _ = many(StochasticRankLoss(name, sigma), 100_000, SCORES, LABELS)
    assert_means(values, expected_value(name, SCORES, LABELS, sigma))
    expected = differences(lambda s: expected_value(name, s, LABELS, sigma), SCORES, 1e-3)
    assert np.abs(expected).max() > 0.05
    assert_means(gradients, expected)


@pytest.mark.parametrize("scores", [np.zeros(3), np.array([0.0, 1.0, 1.0]), np.array([2.0, -1.0, 0.5])], ids=str)
def test_means_where_scores_are_equal(scores: np.ndarray) -> None:
    labels = np.array([0.0, 1.0, 3.0])
    values, gradients, _ = many(StochasticRankLoss(), 100_000, scores, labels)
    assert_means(values, expected_value("ndcg", scores, labels, 1.0))
    assert_means(gradients, differences(lambda s: expected_value("ndcg", s, labels, 1.0), scores, 1e-3))


def conditional_gradient(name: str, z: np.ndarray, scores: np.ndarray, labels: np.ndarray, sigma: float) -> np.ndarray:
    """The estimate by brute force: insert each document at every place among the others, and judge the whole list."""
    n = len(z)
    terms = np.zeros((n, n))  # of i, as it passes j
    for i in range(n):
        others = [j for j in np.argsort(-z) if j != i]
        judged = [metric_of(name, [*others[:place], i, *others[place:]], labels) for place in range(n)]
        for place, j in enumerate(others):
            step = judged[place] - judged[place + 1]
            terms[i, j] = step * normal((z[j] - scores[i]) / sigma) / sigma
    return -0.5 * (terms - terms.T).sum(axis=1)


@pytest.mark.parametrize("name", [*METRICS, "ndcg@3", "map@5"])
def test_one_draw_is_what_inserting_every_document_everywhere_gives(name: str) -> None:
    rng = np.random.default_rng(1)
    scores, labels, sigma = rng.normal(size=7), np.array([2.0, 0.0, 1.0, 1.0, 0.0, 3.0, 0.0]), 0.8
    noise = drawn_noise(7, n_samples=3)
    found = StochasticRankLoss(name, sigma, n_samples=3).value_and_gradient(scores, labels, [0, 7])
    z = scores + sigma * noise
    expected = np.mean([conditional_gradient(name, row, scores, labels, sigma) for row in z], axis=0)
    np.testing.assert_allclose(found.d_scores, expected, rtol=1e-10, atol=1e-12)
    values = [-metric_of(name, list(np.argsort(-row)), labels) for row in z]
    assert found.value == pytest.approx(np.mean(values), rel=1e-12)


def drawn_noise(n: int, n_samples: int) -> np.ndarray:
    """Return what the loss draws for the first query, (n_samples, n): the method of Box and Muller."""
    uniform, noise = uniforms(), []
    for _ in range(n_samples):
        u = [next(uniform) for _ in range(n + n % 2)]
        radius, angle = np.sqrt(-2.0 * np.log(u[::2])), 2.0 * np.pi * np.array(u[1::2])
        noise.append(np.column_stack((radius * np.cos(angle), radius * np.sin(angle))).ravel()[:n])
    return np.array(noise)


def test_by_hand() -> None:
    # Two documents: NDCG is 1 with the good one first, else 1/log2 3. The step is the same whoever moves.
    scores, sigma = np.array([0.3, -0.4]), 1.5
    z = scores + sigma * drawn_noise(2, 1)[0]
    step = 1 - 1 / np.log2(3)
    density = (normal((z[1] - scores[0]) / sigma) + normal((z[0] - scores[1]) / sigma)) / (2 * sigma)
    found = StochasticRankLoss(sigma=sigma).value_and_gradient(scores, [1, 0], [0, 2], curvature=True)
    assert found.value == pytest.approx(-1.0 if z[0] > z[1] else -1 / np.log2(3))
    np.testing.assert_allclose(found.d_scores, [-step * density, step * density], rtol=1e-12)
    np.testing.assert_allclose(found.d2_scores, np.full(2, step * density / sigma), rtol=1e-12)


def test_a_newton_step_is_at_most_sigma() -> None:
    for sigma in (0.2, 3.0):
        _, gradients, curvatures = many(StochasticRankLoss(sigma=sigma), 500, SCORES, LABELS)
        assert (np.abs(gradients) <= sigma * curvatures * (1 + 1e-12)).all()
        assert (curvatures > 0).all()


def test_more_samples_vary_less_and_epochs_draw_anew() -> None:
    labels, scores, offsets = np.tile(LABELS, 500), np.tile(SCORES, 500), np.arange(501) * 4
    spread = []
    for n_samples in (1, 16):
        bound = StochasticRankLoss(n_samples=n_samples).bind(labels, offsets)
        first = bound.value_and_gradient(scores).d_scores
        spread.append(first.reshape(-1, 4).std(axis=0).mean())
        bound.start_epoch(1)
        assert (bound.value_and_gradient(scores).d_scores != first).any()
        bound.start_epoch(0)
        np.testing.assert_array_equal(bound.value_and_gradient(scores).d_scores, first)
    assert spread[1] == pytest.approx(spread[0] / 4, rel=0.2)


def test_rankings_that_are_all_equally_good_contribute_nothing() -> None:
    for name, labels in (("map", [1, 2, 3]), ("mrr", [0, 0, 0]), ("ndcg", [2, 2, 2])):
        found = StochasticRankLoss(name).value_and_gradient([1.0, 2.0, 0.0], labels, [0, 3], curvature=True)
        assert found.value == 0.0
        assert not found.d_scores.any()
        assert not found.d2_scores.any()


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"metric": "err"}, "'ndcg', 'map', 'mrr'; got 'err'"),
        ({"metric": "ndcg@0"}, "cutoff in metric='ndcg@0'"),
        ({"sigma": 0.0}, "sigma must be a finite number above 0"),
        ({"n_samples": 0}, "n_samples must be a whole number of at least 1"),
        ({"random_state": -1}, "random_state must be a whole number of at least 0"),
    ],
)
def test_wrong_settings_are_refused(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        StochasticRankLoss(**parameters).bind([1.0, 0.0], [0, 2])

"""NeuralNDCG: NeuralSort and Sinkhorn's scaling in plain NumPy, its two forms, ties, limits."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

import podium
from podium.losses import NeuralNDCGLoss
from podium.losses.neuralndcg import LONGEST

OFFSETS = np.array([0, 5, 6, 13, 33])


def neural_sort(s: np.ndarray, temperature: float) -> np.ndarray:
    """Row k from the paper, with the matrix of distances."""
    n = len(s)
    sums = np.abs(s[:, None] - s[None, :]).sum(axis=1)
    logits = ((n + 1 - 2 * np.arange(1, n + 1))[:, None] * s[None, :] - sums[None, :]) / temperature
    p = np.exp(logits - logits.max(axis=1, keepdims=True))
    return p / p.sum(axis=1, keepdims=True)


def doubly_stochastic(p: np.ndarray, rounds: int = 50, tolerance: float = 1e-6) -> np.ndarray:
    """Divide columns, then rows, by their sums, as the matrix itself."""
    for _ in range(rounds):
        p = p / p.sum(axis=0, keepdims=True)
        p = p / p.sum(axis=1, keepdims=True)
        if max(np.abs(p.sum(axis=0) - 1).max(), np.abs(p.sum(axis=1) - 1).max()) < tolerance:
            break
    return p


def neural_ndcg(s: np.ndarray, y: np.ndarray, temperature: float, transposed: bool = False) -> float:
    gains = 2.0 ** np.maximum(y, 0) - 1
    if np.ptp(y) == 0 or not gains.any():
        return 0.0
    d = 1 / np.log2(2 + np.arange(len(s)))
    p = doubly_stochastic(neural_sort(s, temperature))
    found = gains @ (p.T @ d) if transposed else (p @ gains) @ d
    return float(-found / (np.sort(gains)[::-1] @ d))


def lists(seed: int, scale: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    labels = rng.choice([-1.0, 0.0, 0.5, 1.0, 2.0, 3.0], OFFSETS[-1])
    return scale * rng.normal(size=OFFSETS[-1]), labels


def test_two_documents_by_hand() -> None:
    # B = (1, 1), w = (1, −1): rows softmax(1, 0) and softmax(0, 1) of s = (1, 0), which are doubly stochastic as is.
    p = 1 / (1 + np.exp(-1.0))
    at = NeuralNDCGLoss().value_and_gradient([1.0, 0.0], [0, 1], [0, 2])
    d = 1 / np.log2(3)
    assert at.value == pytest.approx(-((1 - p) + p * d))
    slope = p * (1 - p) * (1 - d)
    np.testing.assert_allclose(at.d_scores, [slope, -slope])


@pytest.mark.parametrize("temperature", [0.1, 1.0, 10.0])
@pytest.mark.parametrize("scale", [0.1, 1.0, 30.0])
@pytest.mark.parametrize("transposed", [False, True])
def test_brute_force_and_the_transposed_form(temperature: float, scale: float, transposed: bool) -> None:
    scores, labels = lists(1, scale)
    ours = NeuralNDCGLoss(temperature).bind(labels, OFFSETS).per_query(scores)
    expected = [neural_ndcg(scores[a:b], labels[a:b], temperature, transposed) for a, b in pairwise(OFFSETS)]
    np.testing.assert_allclose(ours, expected, rtol=1e-10, atol=1e-14)


@pytest.mark.parametrize("temperature", [0.3, 1.0, 5.0])
def test_the_gradient_is_that_of_the_formula(temperature: float) -> None:
    """Differences of the plain formula, whose number of rounds is that of its own sums."""
    scores, labels = lists(2)
    step = 1e-6
    for a, b in pairwise(OFFSETS):
        s, y = scores[a:b], labels[a:b]
        at = NeuralNDCGLoss(temperature).value_and_gradient(s, y, [0, b - a])
        expected = [
            (neural_ndcg(s + e, y, temperature) - neural_ndcg(s - e, y, temperature)) / (2 * step)
            for e in step * np.eye(b - a)
        ]
        np.testing.assert_allclose(at.d_scores, expected, rtol=1e-5, atol=1e-8)


def test_equal_scores_have_slope_zero_between_them() -> None:
    # sign(0) = 0: the mean of the derivatives to the left and to the right.
    s, y, step = np.array([0.5, 0.0, 0.0, -0.7, 0.0]), np.array([0.0, 2.0, 0.0, 1.0, 1.0]), 1e-6
    at = NeuralNDCGLoss().value_and_gradient(s, y, [0, 5])
    expected = [(neural_ndcg(s + e, y, 1.0) - neural_ndcg(s - e, y, 1.0)) / (2 * step) for e in step * np.eye(5)]
    np.testing.assert_allclose(at.d_scores, expected, rtol=1e-4, atol=1e-7)
    rows = np.array([4, 2, 0, 1, 3])
    moved = NeuralNDCGLoss().value_and_gradient(s[rows], y[rows], [0, 5])
    np.testing.assert_allclose(moved.d_scores, at.d_scores[rows], rtol=1e-10, atol=1e-14)


def test_all_scores_equal_as_at_the_start() -> None:
    labels = np.array([0.0, 2.0, 1.0, 0.0, 2.0])
    at = NeuralNDCGLoss().value_and_gradient(np.zeros(5), labels, [0, 5])
    for grade in (0.0, 2.0):
        same = at.d_scores[labels == grade]
        np.testing.assert_allclose(same, same[0], rtol=1e-10)
    assert at.d_scores[1] < at.d_scores[2] < at.d_scores[0]


def test_cold_it_is_ndcg_itself() -> None:
    scores, labels = lists(3)
    cold = NeuralNDCGLoss(temperature=1e-6).bind(labels, OFFSETS).per_query(scores)
    queries = podium.Queries(np.zeros((33, 1)), np.maximum(labels, 0), sizes=np.diff(OFFSETS))
    exact = podium.evaluate(queries, scores, metrics=["ndcg"]).per_query["ndcg"]
    np.testing.assert_allclose(-cold[[0, 2, 3]], exact[[0, 2, 3]], rtol=1e-9)


def test_lists_that_say_nothing_contribute_nothing() -> None:
    for labels in ([2, 2, 2], [0, 0, 0], [-1, 0, -2]):
        at = NeuralNDCGLoss().value_and_gradient([0.3, 0.1, -2.0], labels, [0, 3])
        assert at.value == 0.0
        assert not at.d_scores.any()


def test_lists_that_are_too_long_are_refused_by_name() -> None:
    labels = np.zeros(LONGEST + 3)
    with pytest.raises(ValueError, match=f"query number 1 has {LONGEST + 1} documents.*ApproxNDCGLoss takes longer"):
        NeuralNDCGLoss().bind(labels, [0, 2, LONGEST + 3])


def test_a_temperature_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="temperature must be a finite number above 0"):
        NeuralNDCGLoss(0.0).bind([1.0, 0.0], [0, 2])

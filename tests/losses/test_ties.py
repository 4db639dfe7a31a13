"""Rao-Kupper and Davidson pairs: the models' probabilities by their textbook formulas, pair by pair."""

from __future__ import annotations

import numpy as np
import pytest

from podium.losses.ties import DavidsonLoss, RaoKupperLoss

MODELS = pytest.mark.parametrize("loss", [RaoKupperLoss, DavidsonLoss])


def probabilities(loss: type, s_i: float, s_j: float, parameter: float) -> tuple[float, float, float]:
    """P(i better), P(j better), P(tied), written as in the literature."""
    i, j = np.exp(s_i), np.exp(s_j)
    if loss is RaoKupperLoss:
        theta = 1 + np.exp(parameter)
        tied = (theta**2 - 1) * i * j / ((i + theta * j) * (theta * i + j))
        return i / (i + theta * j), j / (j + theta * i), tied
    nu = np.exp(parameter)
    total = i + j + nu * np.sqrt(i * j)
    return i / total, j / total, nu * np.sqrt(i * j) / total


def by_hand(loss: type, scores: np.ndarray, labels: np.ndarray, parameter: float) -> float:
    total, n = 0.0, len(scores)
    for i in range(n):
        for j in range(i + 1, n):
            better, worse, tied = probabilities(loss, scores[i], scores[j], parameter)
            total -= np.log(tied if labels[i] == labels[j] else better if labels[i] > labels[j] else worse)
    return total / (n * (n - 1) / 2)


@MODELS
@pytest.mark.parametrize("parameter", [-3.0, 0.0, 1.5])
def test_probabilities_add_up_and_are_what_the_loss_uses(loss: type, parameter: float) -> None:
    for s_i, s_j in [(0.0, 0.0), (1.3, -0.4), (-2.0, 2.0)]:
        better, worse, tied = probabilities(loss, s_i, s_j, parameter)
        assert better + worse + tied == pytest.approx(1)
        for labels, p in (([1, 0], better), ([0, 1], worse), ([1, 1], tied)):
            v = loss().value_and_gradient([s_i, s_j], labels, [0, 2], parameters=[parameter])
            assert np.exp(-v.value) == pytest.approx(p)


@MODELS
@pytest.mark.parametrize("scale", [0.1, 1.0, 6.0])
@pytest.mark.parametrize("n", [4, 30, 200])  # the last one is summed on a grid
def test_against_a_double_loop(loss: type, n: int, scale: float) -> None:
    rng = np.random.default_rng(n)
    scores, labels = rng.standard_normal(n) * scale, rng.integers(0, 4, n)
    v = loss().value_and_gradient(scores, labels, [0, n], parameters=[0.7])
    assert v.value == pytest.approx(by_hand(loss, scores, labels, 0.7), rel=1e-6)


@MODELS
def test_the_two_evaluations_agree(loss: type) -> None:
    rng = np.random.default_rng(3)
    n = 400
    scores, labels = rng.standard_normal(n) * 4, rng.integers(0, 3, n)
    coarse = loss(tolerance=1e-6).value_and_gradient(scores, labels, [0, n], parameters=[-1.0])
    # A tolerance so tight that the grid has too many nodes to pay: pairs are then summed one by one.
    direct = loss(tolerance=1e-13).value_and_gradient(scores, labels, [0, n], parameters=[-1.0])
    assert coarse.value == pytest.approx(direct.value, rel=1e-6)
    np.testing.assert_allclose(coarse.d_scores, direct.d_scores, atol=1e-6 * np.abs(direct.d_scores).max())
    np.testing.assert_allclose(coarse.d_parameters, direct.d_parameters, rtol=1e-6)


@MODELS
@pytest.mark.parametrize("n", [7, 150])
def test_parameter_derivative_by_finite_differences(loss: type, n: int) -> None:
    rng = np.random.default_rng(4)
    scores, labels = rng.standard_normal(n), rng.integers(0, 3, n)
    for parameter in (-4.0, 0.0, 3.0):
        up, down = (
            loss().value_and_gradient(scores, labels, [0, n], parameters=[parameter + e]) for e in (1e-5, -1e-5)
        )
        v = loss().value_and_gradient(scores, labels, [0, n], parameters=[parameter])
        assert v.d_parameters[0] == pytest.approx((up.value - down.value) / 2e-5, rel=1e-6, abs=1e-9)


def test_no_tendency_to_tie_leaves_ranknet() -> None:
    # θ → 1 and ν → 0: P(i≻j) is the logistic function, RankNet's.
    scores, labels = np.array([0.3, -1.0, 2.0]), np.array([2, 1, 0])
    r = np.array([scores[0] - scores[1], scores[0] - scores[2], scores[1] - scores[2]])
    for loss in (RaoKupperLoss(), DavidsonLoss()):
        v = loss.value_and_gradient(scores, labels, [0, 3], parameters=[-40.0])
        assert v.value == pytest.approx(np.logaddexp(0, -r).mean())


@MODELS
def test_sums_instead_of_means(loss: type) -> None:
    rng = np.random.default_rng(5)
    scores, labels = rng.standard_normal(6), rng.integers(0, 2, 6)
    mean = loss().value_and_gradient(scores, labels, [0, 6])
    total = loss(normalize=False).value_and_gradient(scores, labels, [0, 6])
    assert total.value == pytest.approx(15 * mean.value)
    np.testing.assert_allclose(total.d_scores, 15 * mean.d_scores)

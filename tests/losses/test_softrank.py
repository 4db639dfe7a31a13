"""SoftRank against its definition: coin tosses by enumeration, Gaussians by SciPy, finite differences."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy.stats import norm

import podium
from podium.losses.softrank import SoftRankLoss, rank_distribution
from podium.numerics.ranks.distributions import APPROXIMATIONS

BOTH = pytest.mark.parametrize("approximation", APPROXIMATIONS)


def chances(scores: np.ndarray, sigma: float) -> np.ndarray:
    """π_ij, the chance that i beats j."""
    return norm.cdf((scores[:, None] - scores) / (np.sqrt(2) * sigma))


def by_enumeration(scores: np.ndarray, sigma: float) -> np.ndarray:
    """Rank-binomial: every outcome of the contests of each document."""
    n, pi = len(scores), chances(scores, sigma)
    p = np.zeros((n, n))
    for j in range(n):
        others = [i for i in range(n) if i != j]
        for beaten in product([0, 1], repeat=n - 1):
            p[j, sum(beaten)] += np.prod([pi[i, j] if b else 1 - pi[i, j] for i, b in zip(others, beaten, strict=True)])
    return p


def by_moments(scores: np.ndarray, sigma: float) -> np.ndarray:
    n, pi = len(scores), chances(scores, sigma)
    np.fill_diagonal(pi, 0)
    mean, deviation = pi.sum(axis=0), np.sqrt((pi * (1 - pi)).sum(axis=0))
    ends = np.concatenate(([-np.inf], np.arange(n - 1) + 0.5, [np.inf]))
    return np.diff(norm.cdf((ends - mean[:, None]) / deviation[:, None]), axis=1)


ORACLES = {"binomial": by_enumeration, "normal": by_moments}


def soft_ndcg(p: np.ndarray, labels: np.ndarray, k: int | None = None, letor: bool = False) -> float:
    n = len(labels)
    ranks = np.arange(1, n + 1)
    discounts = 1 / np.log2(np.maximum(ranks, 2)) if letor else 1 / np.log2(1 + ranks)
    discounts[n if k is None else k :] = 0
    gains = 2.0**labels - 1
    return float(gains @ p @ discounts) / float(np.sort(gains)[::-1] @ discounts)


def test_two_documents_by_hand() -> None:
    # The relevant one is first with chance π = Φ(d / (√2 σ)), else second, where it counts 1/log2(3).
    d, sigma = 0.4, 0.7
    pi, second = norm.cdf(d / (np.sqrt(2) * sigma)), 1 / np.log2(3)
    slope = norm.pdf(d / (np.sqrt(2) * sigma)) / (np.sqrt(2) * sigma) * (1 - second)
    v = SoftRankLoss(sigma=sigma).value_and_gradient([d, 0.0], [1, 0], [0, 2])
    assert v.value == pytest.approx(1 - (pi + (1 - pi) * second))
    np.testing.assert_allclose(v.d_scores, [-slope, slope])


@BOTH
@pytest.mark.parametrize("sigma", [0.2, 1.0, 30.0])
def test_rank_distribution(approximation: str, sigma: float) -> None:
    scores = np.array([0.3, -1.2, 0.3, 2.0, 0.0, -0.4])
    p = rank_distribution(np.concatenate((scores, [1.0, 5.0])), [0, 6, 6, 7, 8], sigma, approximation)
    np.testing.assert_allclose(p[:6], ORACLES[approximation](scores, sigma), atol=1e-14)
    np.testing.assert_allclose(p.sum(axis=1), 1)
    assert p[6:].tolist() == [[1, 0, 0, 0, 0, 0]] * 2


@BOTH
def test_certain_ranks(approximation: str) -> None:
    p = rank_distribution([5.0, 7.0, -3.0, 6.0], [0, 4], 1e-3, approximation)
    np.testing.assert_array_equal(p, np.eye(4)[[2, 0, 3, 1]])


@BOTH
@pytest.mark.parametrize(
    ("name", "k", "letor"), [("ndcg", None, False), ("ndcg@3", 3, False), ("ndcg@4 (letor)", 4, True)]
)
def test_value_by_definition(approximation: str, name: str, k: int | None, letor: bool) -> None:
    rng = np.random.default_rng(0)
    for n in (2, 5, 8):
        scores, labels = rng.standard_normal(n), rng.permutation(np.arange(n) % 3).astype(float)
        v = SoftRankLoss(approximation, 0.5, metric=name).value_and_gradient(scores, labels, [0, n])
        assert v.value == pytest.approx(1 - soft_ndcg(ORACLES[approximation](scores, 0.5), labels, k, letor))


def test_the_two_agree_on_long_lists() -> None:
    # A sum of many tosses is nearly normal: this is why the cheap one is there.
    rng = np.random.default_rng(1)
    scores, labels = rng.standard_normal(120), rng.integers(0, 3, 120)
    binomial, normal = (SoftRankLoss(a).value_and_gradient(scores, labels, [0, 120]) for a in APPROXIMATIONS)
    assert binomial.value == pytest.approx(normal.value, abs=2e-3)
    assert np.corrcoef(binomial.d_scores, normal.d_scores)[0, 1] > 0.999


@BOTH
def test_small_sigma_is_ndcg(approximation: str) -> None:
    rng = np.random.default_rng(2)
    scores, labels = rng.permutation(50).astype(float), rng.integers(0, 4, 50)
    for name in ("ndcg", "ndcg@7"):
        v = SoftRankLoss(approximation, 1e-3, metric=name).value_and_gradient(scores, labels, [0, 50])
        assert v.value == pytest.approx(1 - podium.metric(name).per_query(scores, labels, [0, 50])[0])
        assert (v.d_scores == 0).all()


@BOTH
@pytest.mark.parametrize("name", ["ndcg", "ndcg@3"])
@pytest.mark.parametrize("scale", [0.05, 1.0, 8.0])
def test_derivatives_by_finite_differences(approximation: str, name: str, scale: float) -> None:
    rng = np.random.default_rng(3)
    scores, labels, offsets = rng.standard_normal(24) * scale, rng.integers(0, 3, 24), [0, 4, 5, 24]
    bound = SoftRankLoss(approximation, 0.8, learn_sigma=True, metric=name).bind(labels, offsets)
    at = np.array([0.2])
    v = bound.value_and_gradient(scores, parameters=at)

    def value(i: int, step: float) -> float:
        moved = scores.copy()
        moved[i] += step
        return bound.value_and_gradient(moved, parameters=at).value

    for i in range(24):
        assert v.d_scores[i] == pytest.approx((value(i, 1e-5) - value(i, -1e-5)) / 2e-5, rel=1e-5, abs=1e-9)
    up, down = (bound.value_and_gradient(scores, parameters=at + e).value for e in (1e-5, -1e-5))
    assert v.d_parameters[0] == pytest.approx((up - down) / 2e-5, rel=1e-5, abs=1e-9)


def test_long_lists_by_finite_differences() -> None:
    # Several blocks of the reverse pass, and certain contests beside open ones.
    rng = np.random.default_rng(4)
    scores, labels = rng.standard_normal(90) * 3, rng.integers(0, 3, 90)
    for name in ("ndcg", "ndcg@20"):
        bound = SoftRankLoss(sigma=0.4, metric=name).bind(labels, [0, 90])
        gradient = bound.value_and_gradient(scores).d_scores
        for i in range(0, 90, 7):
            step = np.eye(90)[i] * 1e-5
            up, down = bound.value_and_gradient(scores + step).value, bound.value_and_gradient(scores - step).value
            assert gradient[i] == pytest.approx((up - down) / 2e-5, rel=1e-5, abs=1e-9)


def test_sigma_only_scales_the_scores() -> None:
    scores, labels = np.array([0.3, -1.0, 0.5, 2.0]), np.array([2, 1, 0, 0])
    v = SoftRankLoss(sigma=0.25).value_and_gradient(scores, labels, [0, 4])
    learned = SoftRankLoss(learn_sigma=True)
    w = learned.value_and_gradient(4 * scores, labels, [0, 4])
    at = learned.value_and_gradient(scores, labels, [0, 4], parameters=[np.log(0.25)])
    assert v.value == pytest.approx(w.value)
    assert v.value == pytest.approx(at.value)
    assert learned.sigma_at(np.array([np.log(0.25)])) == pytest.approx(0.25)
    # A larger σ is as good as smaller scores: Euler's identity for functions of s/σ.
    assert at.d_parameters[0] == pytest.approx(-scores @ at.d_scores)


@BOTH
def test_queries_that_say_nothing_contribute_nothing(approximation: str) -> None:
    scores, labels = np.array([0.1, 0.4, 0.2, 3.0, 1.0, 2.0, 7.0, 8.0]), np.array([1, 0, 2, 1, 2, 2, 0, 0])
    alone = SoftRankLoss(approximation).value_and_gradient(scores[:3], labels[:3], [0, 3])
    every = SoftRankLoss(approximation).value_and_gradient(scores, labels, [0, 3, 3, 4, 6, 8])
    assert every.value == pytest.approx(alone.value / 5)
    assert (every.d_scores[3:] == 0).all()
    scores[7] = np.inf
    with pytest.raises(ValueError, match="score of document 1 of query number 4"):
        SoftRankLoss(approximation).value_and_gradient(scores, labels, [0, 3, 3, 4, 6, 8])


@BOTH
def test_grades_below_zero_are_worth_nothing(approximation: str) -> None:
    scores = np.array([0.1, 0.4, 0.2])
    below = SoftRankLoss(approximation).value_and_gradient(scores, [2, -1, 0], [0, 3])
    zero = SoftRankLoss(approximation).value_and_gradient(scores, [2, 0, 0], [0, 3])
    assert below.value == zero.value
    assert SoftRankLoss(approximation).value_and_gradient(scores, [-1, -2, 0], [0, 3]).value == 0


@pytest.mark.parametrize(
    ("settings", "labels", "message"),
    [
        ({"approximation": "poisson"}, [1, 0], "approximation"),
        ({"sigma": 0.0}, [1, 0], "sigma"),
        ({"metric": "map"}, [1, 0], "BoltzRankLoss takes any metric"),
        ({}, [2000, 0], "2.grade is out of range"),
    ],
)
def test_bad_settings(settings: dict[str, object], labels: list[float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        SoftRankLoss(**settings).bind(labels, [0, 2])  # type: ignore[arg-type]

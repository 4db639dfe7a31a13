"""ApproxNDCG and ApproxMRR: smooth ranks in plain NumPy, limits, noise, truncation."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import podium
from podium.losses import ApproxMRRLoss, ApproxNDCGLoss, Loss
from podium.numerics.random import streams, uniform

OFFSETS = np.array([0, 5, 6, 13, 25])


def sigmoid(x: np.ndarray) -> np.ndarray:
    return 0.5 * (1.0 + np.tanh(0.5 * x))


def smooth_ranks(s: np.ndarray, temperature: float) -> np.ndarray:
    """The formula, with the whole matrix of pairs."""
    return 1.0 + sigmoid((s[None, :] - s[:, None]) / temperature).sum(axis=1) - 0.5


def approx_ndcg(s: np.ndarray, y: np.ndarray, temperature: float, ranks: np.ndarray | None = None) -> float:
    gains = 2.0 ** np.maximum(y, 0) - 1
    if np.ptp(y) == 0 or not gains.any():
        return 0.0
    ranks = smooth_ranks(s, temperature) if ranks is None else ranks
    ideal = (np.sort(gains)[::-1] / np.log2(2 + np.arange(len(y)))).sum()
    return float(-(gains / np.log2(1 + ranks)).sum() / ideal)


def approx_mrr(s: np.ndarray, y: np.ndarray, temperature: float) -> float:
    y = np.maximum(y, 0)
    if np.ptp(y) == 0:
        return 0.0
    return float(-(y / smooth_ranks(s, temperature)).sum() / y.sum())


def lists(seed: int = 0, scale: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    labels = rng.choice([-1.0, 0.0, 0.5, 1.0, 2.0, 3.0], OFFSETS[-1])
    scores = scale * rng.normal(size=OFFSETS[-1])
    scores[8] = scores[9]  # a tie
    return scores, labels


def of_each(function: Any, scores: np.ndarray, labels: np.ndarray, *arguments: Any) -> list[float]:
    return [function(scores[a:b], labels[a:b], *arguments) for a, b in pairwise(OFFSETS)]


def test_two_documents_by_hand() -> None:
    # Apart by T: σ(1) = .7310586; ranks 1.2689414 and 1.7310586; the second has all the gain, 3 of 3.
    at = ApproxNDCGLoss(temperature=0.5).value_and_gradient([0.5, 0.0], [0, 2], [0, 2])
    p = 1 / (1 + np.exp(-1.0))
    assert at.value == pytest.approx(-1 / np.log2(2 + p))
    slope = p * (1 - p) / 0.5 * np.log(2) / (np.log(2 + p) ** 2 * (2 + p))
    np.testing.assert_allclose(at.d_scores, [slope, -slope])
    mrr = ApproxMRRLoss(temperature=0.5).value_and_gradient([0.5, 0.0], [0, 2], [0, 2])
    assert mrr.value == pytest.approx(-1 / (1 + p))
    assert mrr.d_scores[0] == pytest.approx(p * (1 - p) / 0.5 / (1 + p) ** 2)


@pytest.mark.parametrize(("loss", "oracle"), [(ApproxNDCGLoss, approx_ndcg), (ApproxMRRLoss, approx_mrr)])
@pytest.mark.parametrize("temperature", [0.01, 0.1, 1.0, 20.0])
@pytest.mark.parametrize("scale", [0.1, 1.0, 30.0])
def test_brute_force(loss: type, oracle: Any, temperature: float, scale: float) -> None:
    scores, labels = lists(1, scale)
    ours = loss(temperature=temperature).bind(labels, OFFSETS).per_query(scores)
    np.testing.assert_allclose(ours, of_each(oracle, scores, labels, temperature), rtol=1e-10, atol=1e-14)


def test_a_long_list_is_sorted_otherwise_and_agrees() -> None:
    rng = np.random.default_rng(2)
    scores, labels = rng.normal(size=700).round(2), rng.integers(0, 5, 700).astype(float)
    at = ApproxNDCGLoss().value_and_gradient(scores, labels, [0, 700])
    assert at.value == pytest.approx(approx_ndcg(scores, labels, 0.1), rel=1e-10)
    single = ApproxNDCGLoss().value_and_gradient(scores.astype(np.float32), labels, [0, 700])
    double = ApproxNDCGLoss().value_and_gradient(scores.astype(np.float32).astype(float), labels, [0, 700])
    np.testing.assert_allclose(single.d_scores, double.d_scores, atol=2e-5 * np.abs(double.d_scores).max())


@pytest.mark.parametrize("n", [2, 3, 4, 5, 15, 16, 17, 33, 64, 100, 203])
@pytest.mark.parametrize("scale", [0.1, 3.0, 100.0])
def test_gradient_and_stand_in_of_lists_of_all_lengths(n: int, scale: float) -> None:
    rng = np.random.default_rng(n)
    s, y = (scale * rng.normal(size=n)).round(2), rng.integers(0, 4, n).astype(float)
    y[:2] = 0.0, 3.0
    ideal = (np.sort(2.0**y - 1)[::-1] / np.log2(2 + np.arange(n))).sum()
    u = np.exp(-np.abs(s[:, None] - s[None, :]) / 0.1)
    ranks = smooth_ranks(s, 0.1)
    pulls = (2.0**y - 1) / ideal * np.log(2) / (np.log(1 + ranks) ** 2 * (1 + ranks))  # −∂L/∂r̂
    terms = (pulls[None, :] - pulls[:, None]) * u / (1 + u) ** 2 / 0.1
    at = ApproxNDCGLoss(0.1).value_and_gradient(s, y, [0, n], curvature=True)
    assert at.value == pytest.approx(approx_ndcg(s, y, 0.1), rel=1e-10)
    size = np.abs(terms).sum() + 1e-20  # documents that are more than 80 T apart do not see each other
    np.testing.assert_allclose(at.d_scores, terms.sum(axis=1), rtol=1e-9, atol=1e-13 * size)
    assert at.d2_scores is not None
    np.testing.assert_allclose(at.d2_scores, np.abs(terms).sum(axis=1) / 0.1, rtol=1e-9, atol=1e-12 * size)


def test_cold_it_is_ndcg_itself() -> None:
    scores, labels = lists(3)
    scores[8] += 0.5  # equal scores would share their ranks, where a metric averages gains
    cold = ApproxNDCGLoss(temperature=1e-7).bind(labels, OFFSETS).per_query(scores)
    queries = podium.Queries(np.zeros((25, 1)), np.maximum(labels, 0), sizes=np.diff(OFFSETS))
    exact = podium.evaluate(queries, scores, metrics=["ndcg"]).per_query["ndcg"]
    np.testing.assert_allclose(-cold[[0, 2, 3]], exact[[0, 2, 3]], rtol=1e-9)


def test_scores_and_temperature_have_one_unit() -> None:
    scores, labels = lists(4)
    one = ApproxNDCGLoss(temperature=1.0).value_and_gradient(scores, labels, OFFSETS, curvature=True)
    ten = ApproxNDCGLoss(temperature=10.0).value_and_gradient(10 * scores, labels, OFFSETS, curvature=True)
    assert one.value == pytest.approx(ten.value, rel=1e-12)
    np.testing.assert_allclose(one.d_scores, 10 * ten.d_scores, rtol=1e-9, atol=1e-14)
    assert one.d2_scores is not None
    assert ten.d2_scores is not None
    np.testing.assert_allclose(one.d2_scores, 100 * ten.d2_scores, rtol=1e-9, atol=1e-14)


@pytest.mark.parametrize("loss", [ApproxNDCGLoss(temperature=0.5), ApproxMRRLoss(temperature=0.5)], ids=repr)
def test_the_stand_in_is_at_least_the_curvature_and_steps_are_short(loss: Loss) -> None:
    scores, labels = lists(5)
    bound = loss.bind(labels, OFFSETS)
    at = bound.value_and_gradient(scores, curvature=True)
    assert at.d2_scores is not None
    step = 1e-5
    for i in range(len(scores)):
        up, down = scores.copy(), scores.copy()
        up[i] += step
        down[i] -= step
        slopes = [bound.value_and_gradient(s).d_scores[i] for s in (up, down)]
        assert at.d2_scores[i] >= (slopes[0] - slopes[1]) / (2 * step) - 1e-9
    assert (np.abs(at.d_scores) <= 0.5 * at.d2_scores + 1e-15).all()
    assert at.d2_scores.max() > 0


# ---- truncation


def truncated_ranks(s: np.ndarray, temperature: float, k: int) -> np.ndarray:
    """Logistic comparisons with the first k places and all tied with the k-th, counts among the others."""
    top = s >= np.sort(s)[::-1][min(k, len(s)) - 1]
    soft = sigmoid((s[None, :] - s[:, None]) / temperature)
    hard = (s[None, :] > s[:, None]) + 0.5 * (s[None, :] == s[:, None])
    above = np.where(top[:, None] | top[None, :], soft, hard)
    return above.sum(axis=1) + 0.5


@pytest.mark.parametrize("k", [1, 3, 6, 100])
def test_truncation_counts_among_those_below(k: int) -> None:
    for seed in range(5):
        scores, labels = lists(seed)
        scores = scores.round(1)
        labels[labels < 0] = 0
        loss = ApproxNDCGLoss(temperature=0.3, truncation=k)
        ranks = [truncated_ranks(scores[a:b], 0.3, k) for a, b in pairwise(OFFSETS)]
        expected = [
            approx_ndcg(scores[a:b], labels[a:b], 0.3, r) for (a, b), r in zip(pairwise(OFFSETS), ranks, strict=True)
        ]
        np.testing.assert_allclose(loss.bind(labels, OFFSETS).per_query(scores), expected, rtol=1e-10, atol=1e-14)


def test_truncation_leaves_pairs_below_alone() -> None:
    rng = np.random.default_rng(6)
    scores, labels = np.sort(rng.normal(size=20))[::-1].copy(), np.zeros(20)
    labels[[10, 15]] = 2.0
    bound = ApproxNDCGLoss(temperature=0.5, truncation=2).bind(labels, [0, 20])
    at = bound.value_and_gradient(scores).d_scores
    # Documents of no gain far below are compared with the first two only, which have no gain either.
    assert (at[[5, 12, 19]] == 0).all()
    assert at[10] < 0 < at[0]
    step = 1e-6 * np.eye(20)
    values = [(bound.value_and_gradient(scores + e).value - bound.value_and_gradient(scores - e).value) for e in step]
    np.testing.assert_allclose(at, np.array(values) / 2e-6, rtol=1e-5, atol=1e-9)


# ---- noise


def drawn_noise(seed: int, query: int, n: int) -> np.ndarray:
    """What the loss draws for a query, in the order of documents."""
    stream = streams(seed, 0, query + 1)[query : query + 1].copy()
    return -np.log(-np.log(np.array([uniform(stream) + 2.0**-54 for _ in range(n)])))


def test_the_mean_over_draws_of_noise() -> None:
    scores, labels = lists(7)
    loss = ApproxNDCGLoss(temperature=0.5, gumbel=3, gumbel_scale=0.7, random_state=5)
    assert loss.is_random
    assert not ApproxNDCGLoss().is_random
    expected = []
    for q, (a, b) in enumerate(pairwise(OFFSETS)):
        noise = drawn_noise(5, q, 3 * (b - a)).reshape(3, b - a)
        values = [approx_ndcg(scores[a:b] + 0.7 * z, labels[a:b], 0.5) for z in noise]
        expected.append(np.mean(values))
    np.testing.assert_allclose(loss.bind(labels, OFFSETS).per_query(scores), expected, rtol=1e-10)


def test_noise_is_gumbels_and_new_in_each_epoch() -> None:
    z = drawn_noise(0, 0, 20_000)
    assert z.mean() == pytest.approx(0.5772, abs=0.04)  # Euler's constant
    assert z.var() == pytest.approx(np.pi**2 / 6, rel=0.05)
    scores, labels = lists(8)
    bound = ApproxNDCGLoss(gumbel=2).bind(labels, OFFSETS)
    first = bound.value_and_gradient(scores)
    bound.start_epoch(1)
    assert bound.value_and_gradient(scores).value != first.value
    bound.start_epoch(0)
    np.testing.assert_array_equal(bound.value_and_gradient(scores).d_scores, first.d_scores)
    assert ApproxNDCGLoss(gumbel=2).seeded(7).random_state == 7


def test_noise_of_no_size_is_none() -> None:
    scores, labels = lists(9)
    without = ApproxNDCGLoss().value_and_gradient(scores, labels, OFFSETS)
    silent = ApproxNDCGLoss(gumbel=4, gumbel_scale=0.0).value_and_gradient(scores, labels, OFFSETS)
    assert silent.value == pytest.approx(without.value, rel=1e-12)
    np.testing.assert_allclose(silent.d_scores, without.d_scores, rtol=1e-10, atol=1e-14)


# ---- what is decided


@pytest.mark.parametrize("loss", [ApproxNDCGLoss(), ApproxMRRLoss(), ApproxNDCGLoss(gumbel=2)], ids=repr)
@pytest.mark.parametrize("labels", [[2, 2, 2], [0, 0, 0], [-1, 0, -2]])
def test_lists_that_say_nothing_contribute_nothing(loss: Loss, labels: list[float]) -> None:
    at = loss.value_and_gradient([0.3, 0.1, -2.0], labels, [0, 3], curvature=True)
    assert at.value == 0.0
    assert not at.d_scores.any()
    assert at.d2_scores is not None
    assert not at.d2_scores.any()


def test_grades_below_zero_count_as_zero() -> None:
    scores = [0.3, 0.1, -2.0, 0.4]
    for loss in (ApproxNDCGLoss(), ApproxMRRLoss()):
        below, zero = (loss.value_and_gradient(scores, y, [0, 4]) for y in ([2, -1, 0, 1], [2, 0, 0, 1]))
        assert below.value == zero.value
        np.testing.assert_array_equal(below.d_scores, zero.d_scores)


@pytest.mark.parametrize("loss", [ApproxNDCGLoss(), ApproxMRRLoss()], ids=repr)
def test_equal_scores_have_a_gradient_that_rows_do_not_decide(loss: Loss) -> None:
    labels = np.array([0.0, 2.0, 1.0, 0.0, 2.0])
    at = loss.value_and_gradient(np.zeros(5), labels, [0, 5], curvature=True)
    for grade in (0.0, 2.0):
        same = at.d_scores[labels == grade]
        np.testing.assert_allclose(same, same[0], rtol=1e-12)
    assert at.d_scores[1] < at.d_scores[2] < at.d_scores[0]
    assert at.d2_scores is not None
    assert (at.d2_scores > 0).all()


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"temperature": 0.0}, "temperature must be a finite number above 0"),
        ({"temperature": float("nan")}, "temperature must be a finite number above 0"),
        ({"truncation": 0}, "truncation must be a whole number of at least 1"),
        ({"gumbel": -1}, "gumbel must be a whole number of at least 0"),
        ({"gumbel_scale": -0.5}, "gumbel_scale must be a finite number of at least 0"),
    ],
)
def test_wrong_settings_are_refused(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ApproxNDCGLoss(**parameters).bind([1.0, 0.0], [0, 2])

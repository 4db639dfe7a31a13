"""LambdaLoss: every kind by brute force, ties by going through all their orders, LambdaRank as a special case."""

from __future__ import annotations

from itertools import pairwise, permutations

import numpy as np
import pytest

from podium.losses import LambdaLoss, LambdaRankLoss, RankNetLoss

KINDS = ("arp1", "arp2", "ndcg1", "ndcg2", "ndcg2++")
every_kind = pytest.mark.parametrize("kind", KINDS)


def discount(rank: np.ndarray) -> np.ndarray:
    return 1.0 / np.log2(1.0 + rank)


def weights(kind: str, labels: np.ndarray, ranks: np.ndarray, mu: float) -> np.ndarray:
    """(n, n) w_ij, from the formulas; ranks from 1 on, all different."""
    n = len(labels)
    y = np.maximum(labels, 0) if kind in ("arp1", "ndcg1") else labels
    gains = 2.0**y - 1
    ideal = (np.sort(gains)[::-1] * discount(np.arange(1, n + 1))).sum()
    gains = gains / ideal if ideal > 0 else np.zeros(n)
    apart = np.abs(ranks[:, None] - ranks[None, :]).astype(float) + np.eye(n)
    delta = discount(apart) - discount(apart + 1)
    rho = np.abs(discount(ranks)[:, None] - discount(ranks)[None, :])
    better = labels[:, None] > labels[None, :]
    if np.ptp(labels) == 0:
        return np.zeros((n, n))
    w = {
        "arp1": np.repeat(y[:, None], n, axis=1),
        "arp2": (y[:, None] - y[None, :]) * better,
        "ndcg1": np.repeat((gains * discount(ranks))[:, None], n, axis=1),
        "ndcg2": (gains[:, None] - gains[None, :]) * delta * better,
        "ndcg2++": (gains[:, None] - gains[None, :]) * (rho + mu * delta) * better,
    }[kind]
    return w * (1 - np.eye(n))


def mean_weights(kind: str, scores: np.ndarray, labels: np.ndarray, mu: float = 10.0) -> np.ndarray:
    """The mean over all rankings that the scores allow: those of permutations that keep them descending."""
    found = []
    for order in permutations(range(len(scores))):
        if (np.diff(scores[list(order)]) <= 0).all():
            ranks = np.empty(len(scores))
            ranks[list(order)] = np.arange(1, len(scores) + 1)
            found.append(weights(kind, labels, ranks, mu))
    return np.mean(found, axis=0)


def value(scores: np.ndarray, w: np.ndarray) -> float:
    gaps = scores[:, None] - scores[None, :]
    return float((w * np.logaddexp(0, -gaps)).sum() / np.log(2))


def check(kind: str, scores: np.ndarray, labels: np.ndarray, w: np.ndarray, mu: float = 10.0) -> None:
    """Compare value, gradient and curvature with those of fixed weights."""
    n = len(scores)
    at = LambdaLoss(kind, mu=mu).value_and_gradient(scores, labels, [0, n], curvature=True)
    assert at.value == pytest.approx(value(scores, w), rel=1e-10)
    p = 1 / (1 + np.exp(scores[:, None] - scores[None, :]))  # of the wrong order
    pull = w * p / np.log(2)
    np.testing.assert_allclose(at.d_scores, pull.sum(axis=0) - pull.sum(axis=1), rtol=1e-10, atol=1e-13)
    bend = w * p * (1 - p) / np.log(2)
    assert at.d2_scores is not None
    np.testing.assert_allclose(at.d2_scores, bend.sum(axis=0) + bend.sum(axis=1), rtol=1e-10, atol=1e-13)


def test_three_documents_by_hand() -> None:
    # Ranks 1, 2, 3 with grades 1, 2, 0: gains 1, 3, 0 of 3 + log2(3)^-1; the pairs (2 over 1), (1 over 3), (2 over 3).
    ideal, d = 3 + 1 / np.log2(3), discount(np.arange(1, 5))
    near, far = d[0] - d[1], d[1] - d[2]
    losses = np.log2(1 + np.exp([0.5, -1.5, -1.0]))
    at = LambdaLoss("ndcg2").value_and_gradient([0.5, 0.0, -1.0], [1, 2, 0], [0, 3])
    assert at.value == pytest.approx(np.array([2 * near, 1 * far, 3 * near]) / ideal @ losses)
    rho = np.array([2 * (d[0] - d[1]), d[0] - d[2], 3 * (d[1] - d[2])]) / ideal
    both = LambdaLoss(mu=10.0).value_and_gradient([0.5, 0.0, -1.0], [1, 2, 0], [0, 3])
    assert both.value == pytest.approx(rho @ losses + 10 * at.value)
    arp = LambdaLoss("arp2").value_and_gradient([0.5, 0.0, -1.0], [1, 2, 0], [0, 3])
    assert arp.value == pytest.approx(np.array([1, 1, 2]) @ losses)


@every_kind
@pytest.mark.parametrize("scale", [0.1, 1.0, 30.0])
def test_brute_force(kind: str, scale: float) -> None:
    rng = np.random.default_rng(0)
    for n in (2, 3, 4, 5, 7, 15, 16, 17, 33, 100):
        scores = scale * rng.normal(size=n)
        labels = rng.choice([-1.0, 0.0, 0.5, 1.0, 2.0, 3.0], n)
        labels[:2] = 0.0, 2.0
        ranks = 1.0 + np.argsort(np.argsort(-scores))
        check(kind, scores, labels, weights(kind, labels, ranks, 3.0), mu=3.0)


@every_kind
@pytest.mark.parametrize(
    "scores",
    [[0, 0, 0, 0, 0, 0], [1, 0, 0, 0, -1, -1], [1, 1, 1, 0, -1, -1], [2, 1, 0, 0, -2, -3], [1, 1, 0, 0, -1, -1]],
    ids=str,
)
def test_tied_documents_get_the_mean_weight_of_all_their_orders(kind: str, scores: list[float]) -> None:
    rng = np.random.default_rng(1)
    for _ in range(3):
        s, labels = rng.permutation(np.array(scores, float)), rng.integers(0, 3, 6).astype(float)
        labels[:2] = 0.0, 2.0
        check(kind, s, labels, mean_weights(kind, s, labels))


@every_kind
def test_the_order_of_rows_does_not_matter_for_tied_scores(kind: str) -> None:
    rng = np.random.default_rng(2)
    scores, labels = rng.integers(0, 12, 60).astype(float), rng.integers(0, 4, 60).astype(float)
    at = LambdaLoss(kind).value_and_gradient(scores, labels, [0, 60])
    rows = rng.permutation(60)
    moved = LambdaLoss(kind).value_and_gradient(scores[rows], labels[rows], [0, 60])
    assert moved.value == pytest.approx(at.value, rel=1e-12)
    np.testing.assert_allclose(moved.d_scores, at.d_scores[rows], rtol=1e-9, atol=1e-12)
    alike = np.unique(np.column_stack((scores, labels, at.d_scores.round(10))), axis=0)
    assert len(alike) == len(np.unique(np.column_stack((scores, labels)), axis=0))


def test_without_mu_it_is_lambdarank() -> None:
    rng = np.random.default_rng(3)
    offsets = np.array([0, 9, 10, 40])
    scores, labels = rng.normal(size=40), rng.integers(0, 4, 40).astype(float)
    ours = LambdaLoss("ndcg2++", mu=0.0).value_and_gradient(scores, labels, offsets, curvature=True)
    theirs = LambdaRankLoss(truncation=None, normalize=False).value_and_gradient(
        scores, labels, offsets, curvature=True
    )
    assert ours.value == pytest.approx(theirs.value / np.log(2), rel=1e-12)
    np.testing.assert_allclose(ours.d_scores, theirs.d_scores / np.log(2), rtol=1e-9, atol=1e-13)
    assert ours.d2_scores is not None
    assert theirs.d2_scores is not None
    np.testing.assert_allclose(ours.d2_scores, theirs.d2_scores / np.log(2), rtol=1e-9, atol=1e-13)


def test_two_grades_of_arp2_are_ranknet() -> None:
    rng = np.random.default_rng(4)
    scores, labels = rng.normal(size=30), rng.integers(0, 2, 30).astype(float)
    ours = LambdaLoss("arp2").value_and_gradient(scores, labels, [0, 30])
    pairs = RankNetLoss(normalize=False).value_and_gradient(scores, labels, [0, 30])
    assert ours.value == pytest.approx(pairs.value / np.log(2), rel=1e-10)
    np.testing.assert_allclose(ours.d_scores, pairs.d_scores / np.log(2), rtol=1e-9)


def test_arp1_is_arp2_and_equal_grades_against_each_other() -> None:
    # y_i log(1 + e^-x) + y_j log(1 + e^x) = (y_i − y_j) log(1 + e^-x) + y_j (log(1 + e^-x) + log(1 + e^x))
    rng = np.random.default_rng(5)
    s, y = rng.normal(size=12), rng.integers(0, 4, 12).astype(float)
    one, two = (LambdaLoss(kind).value_and_gradient(s, y, [0, 12]).value for kind in ("arp1", "arp2"))
    gaps = np.abs(s[:, None] - s[None, :])
    both = (np.minimum(y[:, None], y[None, :]) * (2 * np.log1p(np.exp(-gaps)) + gaps))[np.triu_indices(12, 1)].sum()
    assert one == pytest.approx(two + both / np.log(2), rel=1e-12)


def test_which_kinds_are_functions_of_the_scores() -> None:
    facts = {kind: (LambdaLoss(kind).has_gradient, LambdaLoss(kind).convex) for kind in KINDS}
    assert facts == {kind: (kind in ("arp1", "arp2"),) * 2 for kind in KINDS}


@every_kind
def test_lists_that_say_nothing_contribute_nothing(kind: str) -> None:
    for labels in ([2, 2, 2], [0, 0, 0], [-1, -1, -1]):
        at = LambdaLoss(kind).value_and_gradient([0.3, 0.1, -2.0], labels, [0, 3], curvature=True)
        assert at.value == 0.0
        assert not at.d_scores.any()


@every_kind
def test_long_lists_and_single_precision_agree(kind: str) -> None:
    rng = np.random.default_rng(6)
    offsets = np.array([0, 450, 700])
    scores, labels = rng.normal(size=700).round(2).astype(np.float32), rng.integers(0, 5, 700).astype(float)
    bound = LambdaLoss(kind).bind(labels, offsets)
    single, double = bound.value_and_gradient(scores), bound.value_and_gradient(scores.astype(float))
    assert single.value == pytest.approx(double.value, rel=2e-6)
    np.testing.assert_allclose(single.d_scores, double.d_scores, atol=2e-5 * np.abs(double.d_scores).max())
    for a, b in pairwise(offsets):  # without ties the weights are those of one ranking
        s = scores[a:b] + np.linspace(0, 0.004, b - a)
        w = weights(kind, labels[a:b], 1.0 + np.argsort(np.argsort(-s)), 10.0)
        at = LambdaLoss(kind).value_and_gradient(s, labels[a:b], [0, b - a])
        assert at.value == pytest.approx(value(s, w), rel=1e-10)


def test_wrong_settings_are_refused() -> None:
    with pytest.raises(ValueError, match="kind must be one of 'ndcg2\\+\\+'"):
        LambdaLoss("ndcg3").bind([1.0, 0.0], [0, 2])
    with pytest.raises(ValueError, match="mu must be a finite number of at least 0"):
        LambdaLoss(mu=-1.0).bind([1.0, 0.0], [0, 2])
    with pytest.raises(ValueError, match="label 2000"):
        LambdaLoss().bind([2000.0, 0.0], [0, 2])

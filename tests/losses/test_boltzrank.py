"""BoltzRank against its definition: all rankings of short lists, energies pair by pair, finite differences."""

from __future__ import annotations

from itertools import permutations
from pathlib import Path

import numpy as np
import pytest

import podium
from podium.losses.boltzrank import BoltzRankLoss, Sample, draw_sample, judge
from podium.losses.labeled import LabeledLists
from podium.numerics.grades import label_groups
from podium.numerics.random import streams
from podium.numerics.ranks.energy import PAIR_WEIGHTS, PairWeight, rank_weights

METRICS = ["ndcg@5", "ndcg@3 (letor)", "map", "err@4", "p@2 (letor)", "mrr", "dcg (sklearn)", "tau"]


def energy_by_pairs(ranks: np.ndarray, scores: np.ndarray, g: PairWeight) -> float:
    """Return E(R | s) as it is defined, pair by pair: the reference for :func:`rank_weights`."""
    m = len(ranks)
    total = 0.0
    for j in range(m):
        behind = ranks[j] > ranks
        apart = (ranks[j] - ranks[behind]).astype(np.float64)
        total += float(np.sum(g(apart, m) * (scores[j] - scores[behind])))
    return 2.0 / (m * (m - 1.0)) * total


def by_definition(
    scores: np.ndarray, labels: np.ndarray, ranks: np.ndarray, metric: str, weight: float, g: str = "linear"
) -> float:
    """−O over the given rankings (1 is best), as the paper writes it."""
    e = np.array([energy_by_pairs(r, scores, PAIR_WEIGHTS[g]) for r in ranks])
    e_labels = np.array([energy_by_pairs(r, labels, PAIR_WEIGHTS[g]) for r in ranks])
    p = np.exp(-e) / np.exp(-e).sum()
    target = np.exp(-e_labels) / np.exp(-e_labels).sum()
    n = len(labels)
    measure = podium.metric(metric, max_grade=labels.max())
    gains = np.array([measure.per_query(-r.astype(float), labels, [0, n])[0] for r in ranks])
    return -(weight * p @ gains + (1 - weight) * target @ np.log(p))


def all_ranks(n: int) -> np.ndarray:
    return np.array(list(permutations(range(1, n + 1))))


def lists(labels: np.ndarray, offsets: np.ndarray) -> LabeledLists:
    return LabeledLists(labels, offsets, np.arange(len(offsets) - 1))


def sample_of(labels: np.ndarray, offsets: np.ndarray, n_samples: int, seed: int) -> Sample:
    labels = np.asarray(labels, dtype=float)
    return draw_sample(label_groups(labels, offsets), offsets, n_samples, streams(seed, 0, len(offsets) - 1))


def graded(n: int, n_grades: int = 3, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.standard_normal(n) * 2, rng.permutation(np.arange(n) % n_grades).astype(float)


def test_two_documents_by_hand() -> None:
    # m = 2, g(1) = 2: E = 2(s_j − s_k) for the document j at rank 2, so h = ∓2 and the right order has
    # p = 1 / (1 + exp(−4 d)), d = s_0 − s_1; by the labels 1 / (1 + exp(−4)). NDCG is 1 or 1/log2(3).
    d, weight = 0.3, 0.7
    p, target, wrong = 1 / (1 + np.exp(-4 * d)), 1 / (1 + np.exp(-4)), 1 / np.log2(3)
    expected = weight * (p + (1 - p) * wrong) + (1 - weight) * (target * np.log(p) + (1 - target) * np.log(1 - p))
    slope = 4 * (weight * p * (1 - p) * (1 - wrong) + (1 - weight) * (target - p))
    v = BoltzRankLoss("ndcg", weight).value_and_gradient([d, 0.0], [1, 0], [0, 2])
    assert v.value == pytest.approx(-expected)
    np.testing.assert_allclose(v.d_scores, [-slope, slope])


@pytest.mark.parametrize("g", list(PAIR_WEIGHTS))
@pytest.mark.parametrize("m", [2, 3, 7])
def test_energy_depends_on_a_documents_own_rank_alone(m: int, g: str) -> None:
    rng = np.random.default_rng(m)
    h = rank_weights(m, PAIR_WEIGHTS[g])
    assert h.sum() == pytest.approx(0, abs=1e-12)
    for _ in range(5):
        ranks, scores = rng.permutation(m) + 1, rng.standard_normal(m)
        assert h[ranks - 1] @ scores == pytest.approx(energy_by_pairs(ranks, scores, PAIR_WEIGHTS[g]))
    if g == "linear":
        np.testing.assert_allclose(h, 4 / (m - 1) ** 2 * (np.arange(1, m + 1) - (m + 1) / 2))
    if g == "sign":
        np.testing.assert_allclose(h, rank_weights(m, PAIR_WEIGHTS["linear"]) * (m - 1) / m)


@pytest.mark.parametrize("metric", METRICS)
def test_exact_expectation_of_any_metric_over_all_rankings(metric: str) -> None:
    scores, labels = graded(5)
    v = BoltzRankLoss(metric, 0.6, n_samples=120).value_and_gradient(scores, labels, [0, 5])
    assert v.value == pytest.approx(by_definition(scores, labels, all_ranks(5), metric, 0.6))


@pytest.mark.parametrize("g", list(PAIR_WEIGHTS))
def test_all_rankings_of_six_with_any_pair_weight(g: str) -> None:
    scores, labels = graded(6, 4)
    v = BoltzRankLoss("ndcg@5", 0.9, n_samples=720, g=g).value_and_gradient(scores, labels, [0, 6])
    assert v.value == pytest.approx(by_definition(scores, labels, all_ranks(6), "ndcg@5", 0.9, g))


def test_a_sample_by_definition() -> None:
    scores, labels = graded(30)
    sample = sample_of(labels, np.array([0, 30]), 50, 7)
    ranks = sample.places.reshape(50, 30).astype(np.int64) + 1
    v = BoltzRankLoss("map", 0.8, n_samples=50, random_state=7).value_and_gradient(scores, labels, [0, 30])
    assert v.value == pytest.approx(by_definition(scores, labels, ranks, "map", 0.8))


def test_a_function_as_pair_weight_takes_the_general_path() -> None:
    scores, labels = graded(40)
    line = BoltzRankLoss().value_and_gradient(scores, labels, [0, 40])
    table = BoltzRankLoss(g=lambda x, m: 2 * x / (m - 1)).value_and_gradient(scores, labels, [0, 40])
    assert table.value == pytest.approx(line.value, rel=1e-12)
    np.testing.assert_allclose(table.d_scores, line.d_scores, rtol=1e-10, atol=1e-14)


@pytest.mark.parametrize("weight", [0.0, 0.9, 1.0])
@pytest.mark.parametrize("g", ["linear", "logistic"])
@pytest.mark.parametrize("scale", [0.01, 1.0, 20.0])
def test_gradient_by_finite_differences(scale: float, g: str, weight: float) -> None:
    rng = np.random.default_rng(2)
    scores, labels, offsets = rng.standard_normal(30) * scale, rng.integers(0, 4, 30), [0, 4, 5, 30]
    bound = BoltzRankLoss("ndcg@5", weight, g=g).bind(labels, offsets)
    gradient = bound.value_and_gradient(scores).d_scores
    step = 1e-5 * scale
    for i in range(30):
        up, down = scores.copy(), scores.copy()
        up[i] += step
        down[i] -= step
        slope = (bound.value_and_gradient(up).value - bound.value_and_gradient(down).value) / (2 * step)
        assert gradient[i] == pytest.approx(slope, rel=1e-5, abs=1e-9 / scale)


def test_labels_as_scores_minimise_the_cross_entropy() -> None:
    _, labels = graded(40)
    v = BoltzRankLoss(weight=0.0).value_and_gradient(labels, labels, [0, 40])
    np.testing.assert_allclose(v.d_scores, 0, atol=1e-15)


def test_scores_that_agree_with_the_labels_reach_the_best_metric() -> None:
    _, labels = graded(40)
    v = BoltzRankLoss("ndcg@5", weight=1.0).value_and_gradient(1e3 * labels, labels, [0, 40])
    assert v.value == pytest.approx(-1)


def test_queries_that_say_nothing_contribute_nothing() -> None:
    scores, labels = graded(6)
    alone = BoltzRankLoss().value_and_gradient(scores, labels, [0, 6])
    both = BoltzRankLoss().value_and_gradient(
        np.concatenate((scores, [3.0, 1.0, 2.0])), np.concatenate((labels, [1, 2, 2])), [0, 6, 6, 7, 9]
    )
    assert both.value == pytest.approx(alone.value / 4)
    assert (both.d_scores[6:] == 0).all()
    with pytest.raises(ValueError, match="score of document 0 of query number 2"):
        BoltzRankLoss().value_and_gradient(
            np.concatenate((scores, [np.nan, 1.0, 2.0])), np.concatenate((labels, [1, 2, 2])), [0, 6, 6, 7, 9]
        )


def test_a_metric_without_value_leaves_the_cross_entropy() -> None:
    scores, labels = np.array([0.3, -0.2, 1.0]), np.array([1.0, 0.0, 0.0])
    nothing = podium.metric("map", "mslr", no_relevant="skip")  # relevant from grade 2 on: none is
    v = BoltzRankLoss(nothing, 0.5).value_and_gradient(scores, labels, [0, 3])
    half = BoltzRankLoss("ndcg", 0.0).value_and_gradient(scores, labels, [0, 3])
    assert v.value == pytest.approx(half.value / 2)


def test_judging_in_pieces_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(4)
    offsets = np.array([0, 3, 20, 20, 21, 60])
    labels = rng.integers(0, 3, 60).astype(float)
    sample = sample_of(labels, offsets, 20, 0)
    whole = judge(sample, podium.metric("err"), lists(labels, offsets))
    for pieces in (1, 70, 1200):
        monkeypatch.setattr("podium.losses.boltzrank._AT_ONCE", pieces)
        np.testing.assert_array_equal(judge(sample, podium.metric("err"), lists(labels, offsets)), whole)
    assert isinstance(sample, Sample)


def test_the_sample_spans_the_metric() -> None:
    labels = np.repeat([2.0, 1.0, 0.0], [10, 20, 70])
    offsets = np.array([0, 100])
    gains = judge(sample_of(labels, offsets, 100, 0), podium.metric("ndcg@5"), lists(labels, offsets))
    assert gains[0] == 1
    assert gains.min() == 0
    counts = np.histogram(gains, bins=5, range=(0, 1))[0]
    assert (counts >= 5).all()


def test_the_seed_decides() -> None:
    rng = np.random.default_rng(5)
    scores, labels, offsets = rng.standard_normal(600), rng.integers(0, 3, 600), np.arange(0, 601, 30)
    values = [BoltzRankLoss(random_state=r).value_and_gradient(scores, labels, offsets).value for r in (3, 3, 4)]
    assert values[0] == values[1] != values[2]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"weight": 1.5}, "weight"),
        ({"n_samples": 1}, "n_samples"),
        ({"metric": "ngdc@5"}, "no metric is called"),
        ({"g": "cubic"}, "g must be one of"),
        ({"g": lambda x, m: -x}, "g must be positive"),
    ],
)
def test_bad_settings(settings: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        BoltzRankLoss(**settings).bind([1, 0], [0, 2])  # type: ignore[arg-type]


def test_the_sample_of_a_real_query_looks_like_the_papers_figure(shared_data: Path) -> None:
    # Figure 3(a): NDCG@5 of the first 55 % mostly above ½, of the others mostly below 0.4.
    queries = podium.read_letor(shared_data / "ohsumed" / "Fold1" / "trainingset.txt.gz")
    sample = sample_of(queries.labels, queries.offsets, 100, 0)
    gains = judge(sample, podium.metric("ndcg@5", "letor"), lists(queries.labels, queries.offsets))
    shares = []
    for q in np.flatnonzero(np.diff(sample.first) == 100):
        of_query = gains[sample.first[q] : sample.first[q + 1]]
        shares.append(((of_query[2:57] > 0.5).mean(), (of_query[57:] < 0.4).mean()))
    assert np.median(shares, axis=0).min() > 0.5


def test_rankings_are_drawn_once_or_anew_in_each_epoch() -> None:
    rng = np.random.default_rng(0)
    labels, scores = rng.integers(0, 3, 20), rng.normal(size=20)
    for redraw in (False, True):
        bound = BoltzRankLoss(n_samples=30, redraw=redraw).bind(labels, [0, 20])
        values = []
        for epoch in (0, 1, 0):
            bound.start_epoch(epoch)
            values.append(bound.value_and_gradient(scores).value)
        assert values[0] == values[2]
        assert (values[0] != values[1]) == redraw

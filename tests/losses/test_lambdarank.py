"""LambdaRank: |Δ| against metrics of swapped rankings, the gradient against fixed weights and against LightGBM's."""

from __future__ import annotations

from collections.abc import Callable
from itertools import permutations

import numpy as np
import pytest

from podium.losses import LambdaRankLoss, RankNetLoss


def ndcg(ranked: np.ndarray, k: int, labels: np.ndarray) -> float:
    discounts = 1 / np.log2(2 + np.arange(len(ranked))) * (np.arange(len(ranked)) < k)
    ideal = (2.0 ** np.sort(labels)[::-1] - 1) @ discounts
    return (2.0**ranked - 1) @ discounts / ideal


def average_precision(ranked: np.ndarray, k: int, labels: np.ndarray) -> float:
    hits = [r for r, label in enumerate(ranked) if label >= 1]
    return sum((number + 1) / (r + 1) for number, r in enumerate(hits) if r < k) / max((labels >= 1).sum(), 1)


def err(ranked: np.ndarray, k: int, labels: np.ndarray) -> float:
    total, reach = 0.0, 1.0
    for r, label in enumerate(ranked[:k]):
        stop = (2.0**label - 1) / 2 ** labels.max()
        total += reach * stop / (r + 1)
        reach *= 1 - stop
    return total


METRICS: dict[str, tuple[Callable[..., float], int]] = {
    "ndcg": (ndcg, 10**6),
    "ndcg@3": (ndcg, 3),
    "map": (average_precision, 10**6),
    "map@4": (average_precision, 4),
    "err": (err, 10**6),
    "err@3": (err, 3),
}


def swap_weights(metric: str, scores: np.ndarray, labels: np.ndarray, truncation: int | None = None) -> np.ndarray:
    """(n, n) |Δ|, by swapping every pair in the ranking and measuring anew; 0 beyond the truncation."""
    function, k = METRICS[metric]
    order = np.argsort(-scores, kind="stable")
    ranked = labels[order]
    weights = np.zeros((len(scores), len(scores)))
    for r in range(len(order)):
        for t in range(r + 1, len(order)):
            if truncation is None or r < truncation:
                swapped = ranked.copy()
                swapped[[r, t]] = swapped[[t, r]]
                delta = abs(function(swapped, k, labels) - function(ranked, k, labels))
                weights[order[r], order[t]] = weights[order[t], order[r]] = delta
    return weights


def with_weights(scores: np.ndarray, labels: np.ndarray, weights: np.ndarray, sigma: float) -> float:
    gaps = scores[:, None] - scores[None, :]
    return float((weights * np.log1p(np.exp(-sigma * gaps)) * (labels[:, None] > labels[None, :])).sum())


def normalized(weights: np.ndarray, scores: np.ndarray, labels: np.ndarray, sigma: float) -> np.ndarray:
    """LightGBM's two factors, from its documentation: score gaps, then the size of the query's lambdas."""
    gaps = scores[:, None] - scores[None, :]
    if np.ptp(scores) > 0:
        weights = weights / (0.01 + np.abs(gaps))
    lambdas = sigma * weights / (1 + np.exp(sigma * gaps)) * (labels[:, None] > labels[None, :])
    total = 2 * lambdas.sum()
    return weights * np.log2(1 + total) / total if total > 0 else weights


def test_four_documents_by_hand() -> None:
    # Ranked 1, 2, 0, 0; gains 1, 3, 0, 0; discounts 1, .63093, .5, .43068; ideal DCG 3 + .63093.
    scores, labels = np.array([2.0, 1.0, 0.0, -1.0]), np.array([1.0, 2.0, 0.0, 0.0])
    ideal = 3 + 1 / np.log2(3)
    d = [1 / np.log2(2 + r) for r in range(4)]
    w10, w02, w03, w12, w13 = (
        2 * (d[0] - d[1]) / ideal,
        1 * (d[0] - d[2]) / ideal,
        1 * (d[0] - d[3]) / ideal,
        3 * (d[1] - d[2]) / ideal,
        3 * (d[1] - d[3]) / ideal,
    )
    loss = np.log1p(np.exp(np.array([1.0, -2.0, -3.0, -1.0, -2.0])))  # at minus the score gaps, in this order
    p = 1 / (1 + np.exp(np.array([-1.0, 2.0, 3.0, 1.0, 2.0])))
    w = np.array([w10, w02, w03, w12, w13])
    wp = w * p
    result = LambdaRankLoss(normalize=False).value_and_gradient(scores, labels, [0, 4])
    assert result.value == pytest.approx(w @ loss)
    expected = [wp[0] - wp[1] - wp[2], -wp[0] - wp[3] - wp[4], wp[1] + wp[3], wp[2] + wp[4]]
    np.testing.assert_allclose(result.d_scores, expected)


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("truncation", [None, 1, 3])
@pytest.mark.parametrize("normalize", [False, True])
@pytest.mark.parametrize("sigma", [1.0, 2.5])
def test_derivatives_with_swapped_metrics_as_fixed_weights(
    metric: str, truncation: int | None, normalize: bool, sigma: float
) -> None:
    rng = np.random.default_rng(0)
    for n in (2, 5, 11):
        scores, labels = rng.normal(size=n), rng.integers(0, 4, n).astype(float)
        labels[:2] = 0, 2
        weights = swap_weights(metric, scores, labels, truncation)
        if normalize:
            weights = normalized(weights, scores, labels, sigma)

        def value(s: np.ndarray, labels: np.ndarray = labels, weights: np.ndarray = weights) -> float:
            return with_weights(s, labels, weights, sigma)

        loss = LambdaRankLoss(metric, truncation=truncation, normalize=normalize, sigma=sigma)
        result = loss.value_and_gradient(scores, labels, [0, n], curvature=True)
        assert result.value == pytest.approx(value(scores), rel=1e-10)
        step = np.eye(n) * 1e-4
        up, down = (np.array([value(scores + sign * e) for e in step]) for sign in (1, -1))
        np.testing.assert_allclose(result.d_scores, (up - down) / 2e-4, rtol=1e-5, atol=1e-8)
        np.testing.assert_allclose(result.d2_scores, (up + down - 2 * value(scores)) / 1e-8, rtol=1e-3, atol=1e-6)


def lightgbm_lambdas(scores: np.ndarray, labels: np.ndarray, **parameters: object) -> tuple[np.ndarray, np.ndarray]:
    """LightGBM's gradient and Hessian, read off trees of one split that sets one document apart.

    Its leaf is worth −g / (h + λ); two values of λ give both. Copies of the query keep LightGBM from finding the leaf
    too light.
    """
    lightgbm = pytest.importorskip("lightgbm")
    n, copies = len(scores), 100
    gradient, hessian = np.empty(n), np.empty(n)
    for i in range(n):
        feature = np.tile(np.arange(n) == i, copies).astype(float)[:, None]
        leaf = []
        for penalty in (0.0, 1.0):
            data = lightgbm.Dataset(
                feature,
                np.tile(labels, copies),
                group=[n] * copies,
                init_score=np.tile(scores, copies),
                params={"verbose": -1},
            )
            settings = {
                "objective": "lambdarank",
                "num_leaves": 2,
                "learning_rate": 1.0,
                "min_data_in_leaf": 0,
                "min_sum_hessian_in_leaf": 0.0,
                "lambda_l2": penalty * copies,
                "num_threads": 1,
                "verbose": -1,
                **parameters,
            }
            booster = lightgbm.train(settings, data, num_boost_round=1)
            leaf.append(booster.predict(feature[i : i + 1], raw_score=True)[0])
        hessian[i] = leaf[1] / (leaf[0] - leaf[1])
        gradient[i] = -leaf[0] * hessian[i]
    return gradient, hessian


@pytest.mark.parametrize(("normalize", "sigma", "truncation"), [(False, 1.0, 30), (True, 1.0, 30), (True, 2.0, 3)])
def test_lambdas_are_those_of_lightgbm(normalize: bool, sigma: float, truncation: int) -> None:
    rng = np.random.default_rng(1)
    scores, labels = rng.normal(size=7), np.array([0.0, 3.0, 1.0, 0.0, 2.0, 4.0, 1.0])
    gradient, hessian = lightgbm_lambdas(
        scores, labels, lambdarank_norm=normalize, sigmoid=sigma, lambdarank_truncation_level=truncation
    )
    # LightGBM divides by the ideal DCG down to its truncation, we by that of the metric: make them the same.
    metric = "ndcg"
    if truncation < 7:
        gains = 2.0 ** np.sort(labels)[::-1] - 1
        discounts = 1 / np.log2(2 + np.arange(7))
        ratio = gains @ discounts / (gains[:truncation] @ discounts[:truncation])
        ours = _rescaled(scores, labels, sigma, truncation, ratio)
    else:
        result = LambdaRankLoss(metric, truncation, sigma, normalize).value_and_gradient(
            scores, labels, [0, 7], curvature=True
        )
        ours = result.d_scores, result.d2_scores
    # LightGBM looks its sigmoid up in a table, which costs it digits.
    np.testing.assert_allclose(ours[0], gradient, rtol=2e-4, atol=1e-6)
    np.testing.assert_allclose(ours[1], hessian, rtol=2e-4, atol=1e-6)


def _rescaled(
    scores: np.ndarray, labels: np.ndarray, sigma: float, truncation: int, ratio: float
) -> tuple[np.ndarray, np.ndarray]:
    """Our normalized lambdas with weights ``ratio`` times as large."""
    ours = LambdaRankLoss("ndcg", truncation, sigma, normalize=True).value_and_gradient(
        scores, labels, [0, len(scores)], curvature=True
    )
    weights = swap_weights("ndcg", scores, labels, truncation)
    factors = []
    for scale in (1.0, ratio):
        gaps = scores[:, None] - scores[None, :]
        lambdas = scale * sigma * weights / (0.01 + np.abs(gaps)) / (1 + np.exp(sigma * gaps))
        total = 2 * (lambdas * (labels[:, None] > labels[None, :])).sum()
        factors.append(scale * np.log2(1 + total) / total)
    assert ours.d2_scores is not None
    return ours.d_scores * factors[1] / factors[0], ours.d2_scores * factors[1] / factors[0]


def test_equal_scores_are_not_divided_by_their_gap() -> None:
    labels = np.array([0.0, 2.0, 1.0])
    equal = np.zeros(3)
    result = LambdaRankLoss().value_and_gradient(equal, labels, [0, 3])
    values = []  # one for each order in which the three may be drawn
    for order in permutations(range(3)):
        weights = normalized(swap_weights("ndcg", -np.array(order), labels), equal, labels, 1.0)
        values.append(with_weights(equal, labels, weights, 1.0))
    assert np.isclose(result.value, values, rtol=1e-7).any()


def test_two_documents_are_a_ranknet_pair() -> None:
    # Swapping the only two documents changes MAP by a half.
    scores, labels = [0.3, -0.4], [0.0, 1.0]
    ours = LambdaRankLoss("map", normalize=False).value_and_gradient(scores, labels, [0, 2])
    pair = RankNetLoss().value_and_gradient(scores, labels, [0, 2])
    assert ours.value == pytest.approx(pair.value / 2)
    np.testing.assert_allclose(ours.d_scores, pair.d_scores / 2)


def test_far_apart_scores_renew_the_exponentials() -> None:
    # Steps of 7 and 30 make every few rows, and every row, take a new reference.
    rng = np.random.default_rng(3)
    for step in (7.0, 30.0):
        scores = rng.permutation(np.arange(40) * step)
        labels = rng.integers(0, 3, 40).astype(float)
        weights = swap_weights("ndcg", scores, labels)
        gaps = scores[:, None] - scores[None, :]
        better = labels[:, None] > labels[None, :]
        expected = (weights * (np.log1p(np.exp(-np.abs(gaps))) + np.maximum(-gaps, 0)) * better).sum()
        for dtype, tolerance in ((np.float64, 1e-12), (np.float32, 1e-5)):
            loss = LambdaRankLoss(truncation=None, normalize=False)
            assert loss.value_and_gradient(scores.astype(dtype), labels, [0, 40]).value == pytest.approx(
                expected, rel=tolerance
            )


def test_no_gain_no_gradient() -> None:
    for metric in ("ndcg", "map", "err"):
        result = LambdaRankLoss(metric).value_and_gradient([1.0, 2.0, 0.0], [0, 0, 0], [0, 3])
        assert result.value == 0.0
        assert not result.d_scores.any()


def test_long_lists_sort_differently_but_agree() -> None:
    # Beyond a few hundred documents ranks come from merging instead of counting: compare with NumPy's sort.
    rng = np.random.default_rng(4)
    scores, labels = rng.normal(size=450), rng.integers(0, 5, 450).astype(float)
    result = LambdaRankLoss(truncation=2, normalize=False).value_and_gradient(scores, labels, [0, 450])
    weights = np.zeros((450, 450))
    order = np.argsort(-scores)
    gains = (2.0**labels - 1)[order]
    discounts = 1 / np.log2(2 + np.arange(450))
    ideal = np.sort(gains)[::-1] @ discounts
    for r in (0, 1):
        for t in range(r + 1, 450):
            weights[order[r], order[t]] = abs((gains[r] - gains[t]) * (discounts[r] - discounts[t])) / ideal
    weights = np.maximum(weights, weights.T)
    assert result.value == pytest.approx(with_weights(scores, labels, weights, 1.0), rel=1e-10)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"metric": "mrr"}, "'ndcg', 'map', 'err'; got 'mrr'"),
        ({"metric": "ndcg@0"}, "cutoff in metric='ndcg@0'"),
        ({"metric": "ndcg@ten"}, "cutoff in metric='ndcg@ten'"),
        ({"metric": 10}, r"metric must be a name such as .ndcg@10.; got 10\..*n_trees=10"),
        ({"truncation": 0}, "truncation must be a whole number of at least 1"),
        ({"sigma": 0.0}, "sigma must be a finite number above 0"),
    ],
)
def test_wrong_settings_are_refused(parameters: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        LambdaRankLoss(**parameters).bind([1.0, 0.0], [0, 2])  # type: ignore[arg-type]


def test_labels_too_large_for_gains_are_refused() -> None:
    with pytest.raises(ValueError, match="label 2000"):
        LambdaRankLoss().bind([2000.0, 0.0], [0, 2])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_score_of_minus_a_hundredth_is_nothing_special(dtype: type) -> None:
    # The loop over pairs runs on past the list's end, on padding, whose score must not be 0.01 above any other.
    labels, offsets, scores = [0.0, 1.0, 2.0], [0, 3], np.array([-0.01, -1.0, -2.0], dtype)
    shifted = LambdaRankLoss().value_and_gradient(scores + dtype(1), labels, offsets)
    result = LambdaRankLoss().value_and_gradient(scores, labels, offsets)
    np.testing.assert_allclose(result.d_scores, shifted.d_scores, rtol=1e-5)


def test_equal_scores_are_not_ranked_by_the_order_of_rows() -> None:
    # At the start all scores are equal. Whatever the rows' order, each place of the list gets the same on average.
    labels, offsets = np.tile([2.0, 1.0, 0.0, 0.0], 2000), np.arange(0, 8001, 4)
    bound = LambdaRankLoss(normalize=False).bind(labels, offsets)
    gradient = bound.value_and_gradient(np.zeros(8000)).d_scores.reshape(-1, 4)
    mean = gradient.mean(axis=0)
    assert mean[2] == pytest.approx(mean[3], rel=0.05)  # documents of the same grade
    assert len(np.unique(gradient.round(12), axis=0)) > 4  # the orders differ from list to list
    before = gradient.copy()
    bound.start_epoch(1)
    assert (bound.value_and_gradient(np.zeros(8000)).d_scores.reshape(-1, 4) != before).any()
    bound.start_epoch(0)
    np.testing.assert_array_equal(bound.value_and_gradient(np.zeros(8000)).d_scores.reshape(-1, 4), before)

"""ListMLE: hand arithmetic, a probability over all orders, RankNet's pair, and how ties are ordered."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

import podium
from podium import scorers
from podium.losses import ListMLELoss, RankNetLoss


def test_four_documents_by_hand() -> None:
    # Worths 1, 2, 3, 4; the labels' order is third, first, fourth, second: (3/10)(1/7)(4/6)(2/2).
    result = ListMLELoss().value_and_gradient(np.log([1.0, 2.0, 3.0, 4.0]), [2, 0, 3, 1], [0, 4])
    assert result.value == pytest.approx(-np.log(3 / 10 * 1 / 7 * 4 / 6))
    third, first = 3 / 10 - 1, 1 / 10 + 1 / 7 - 1
    fourth, second = 4 * (1 / 10 + 1 / 7 + 1 / 6) - 1, 2 * (1 / 10 + 1 / 7 + 1 / 6 + 1 / 2) - 1
    np.testing.assert_allclose(result.d_scores, [first, second, third, fourth])


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
def test_probabilities_of_all_orders_add_up_to_one(n: int) -> None:
    scores = np.random.default_rng(n).normal(size=n)
    total = sum(
        np.exp(-ListMLELoss().value_and_gradient(scores, labels, [0, n]).value) for labels in permutations(range(n))
    )
    assert total == pytest.approx(1)


def test_two_documents_are_a_ranknet_pair() -> None:
    scores, labels, offsets = [0.3, -0.4], [0, 1], [0, 2]
    pair = RankNetLoss(normalize=False).value_and_gradient(scores, labels, offsets)
    ours = ListMLELoss().value_and_gradient(scores, labels, offsets)
    assert ours.value == pytest.approx(pair.value)
    np.testing.assert_allclose(ours.d_scores, pair.d_scores)


def test_both_ways_to_compute_it_agree() -> None:
    # Scores 61 apart take the way in logarithms, scores 59 apart the plain one: a straight line between them.
    rng = np.random.default_rng(0)
    scores, labels = rng.normal(size=12), rng.permutation(12)
    values = []
    for gap in (59.0, 60.0, 61.0):
        scores[3] = scores.min() if labels[3] else 0.0
        scores[5] = gap + scores[np.arange(12) != 5].min()
        values.append(ListMLELoss().value_and_gradient(scores, labels, [0, 12], curvature=True))
    assert values[2].value - values[1].value == pytest.approx(values[1].value - values[0].value, rel=1e-9)
    np.testing.assert_allclose(values[2].d_scores, values[0].d_scores, atol=1e-9)
    np.testing.assert_allclose(values[2].d2_scores, values[0].d2_scores, atol=1e-9)


def test_stable_ties_keep_the_given_order() -> None:
    scores = np.array([0.3, -1.0, 0.8, 0.1])
    tied = ListMLELoss(ties="stable").value_and_gradient(scores, [1, 2, 1, 1], [0, 4])
    explicit = ListMLELoss().value_and_gradient(scores, [3, 4, 2, 1], [0, 4])
    assert tied.value == explicit.value


def test_random_ties_are_drawn_anew_each_epoch_and_repeat_with_the_seed() -> None:
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, 60)
    offsets, scores = [0, 40, 60], rng.normal(size=60)
    bound = ListMLELoss(random_state=1).bind(labels, offsets)
    initial = bound.value_and_gradient(scores).value
    by_epoch = []
    for epoch in (0, 1, 2, 1):
        bound.start_epoch(epoch)
        by_epoch.append(bound.value_and_gradient(scores).value)
    assert by_epoch[1] == by_epoch[3]
    assert len({*by_epoch}) == 3
    other = ListMLELoss(random_state=2).bind(labels, offsets)
    assert other.value_and_gradient(scores).value != initial
    # The mean over the orders of an epoch, of which the first is the only one by default.
    several = ListMLELoss(random_state=1, orders_per_epoch=4).bind(labels, offsets)
    bound.start_epoch(1)
    several.start_epoch(1)
    assert several.prepared[0].shape == (4, 60)
    np.testing.assert_array_equal(several.prepared[0][0], bound.prepared[0][0])
    assert several.value_and_gradient(scores).value != bound.value_and_gradient(scores).value


def test_random_ties_are_uniform() -> None:
    # Many copies of a list of three tied documents: each of the 6 orders should come up a sixth of the time.
    n_lists = 6000
    prepared = ListMLELoss(n_orders=1).bind(np.zeros(3 * n_lists), np.arange(0, 3 * n_lists + 1, 3)).prepared
    orders, counts = np.unique(prepared[0].reshape(-1, 3), axis=0, return_counts=True)
    assert len(orders) == 6
    # Standard deviation of a count is sqrt(6000 · 1/6 · 5/6) = 29.
    assert np.abs(counts - 1000).max() < 5 * 29


def test_the_loss_is_the_mean_over_the_orders_drawn() -> None:
    rng = np.random.default_rng(3)
    labels, offsets, scores = rng.integers(0, 2, 60), [0, 40, 60], rng.normal(size=60)
    bound = ListMLELoss(n_orders=5).bind(labels, offsets)
    whole = bound.value_and_gradient(scores, curvature=True)
    parts = []
    for order in bound.prepared[0]:
        rank = np.empty(60)
        rank[order[:40]], rank[40 + order[40:]] = -np.arange(40.0), -np.arange(20.0)
        assert (np.diff(labels[:40][order[:40]]) <= 0).all()
        parts.append(ListMLELoss(ties="stable").value_and_gradient(scores, rank, offsets, curvature=True))
    assert len({part.value for part in parts}) == 5
    assert whole.value == pytest.approx(np.mean([part.value for part in parts]), rel=1e-12)
    np.testing.assert_allclose(whole.d_scores, np.mean([part.d_scores for part in parts], axis=0), atol=1e-12)
    np.testing.assert_allclose(whole.d2_scores, np.mean([part.d2_scores for part in parts], axis=0), atol=1e-12)


LAN = [(2 ** (4 - k) - 1) / 2**3 for k in (1, 2, 3, 4)]
LOG = [1 / np.log2(1 + k) for k in (1, 2, 3, 4)]


@pytest.mark.parametrize(("discount", "weights"), [("lan", LAN), ("log", LOG)])
def test_discounts_by_hand(discount: str, weights: list[float]) -> None:
    # Worths 1, 2, 3, 4; the labels' order is third, first, fourth, second, with (3/10), (1/7), (4/6) and (2/2).
    loss, scores = ListMLELoss(discount=discount), np.log([1.0, 2.0, 3.0, 4.0])
    result = loss.value_and_gradient(scores, [2, 0, 3, 1], [0, 4], curvature=True)
    stages = np.array([3 / 10, 1 / 7, 4 / 6, 1.0])
    assert result.value == pytest.approx(-(np.array(weights) * np.log(stages)).sum(), rel=1e-12)
    a, b, c = weights[:3]  # the last place says nothing
    third, first = a * (3 / 10 - 1), a / 10 + b * (1 / 7 - 1)
    fourth, second = 4 * (a / 10 + b / 7) + c * (4 / 6 - 1), 2 * (a / 10 + b / 7 + c / 6)
    np.testing.assert_allclose(result.d_scores, [first, second, third, fourth], rtol=1e-12, atol=1e-15)
    # Far apart, sums are kept as logarithms: the same in the plain formula, in float64.
    for scale in (1.0, 45.0):
        far = scale * np.array([0.0, 0.3, 2.0, 1.4])
        order = far[[2, 0, 3, 1]]
        expected = sum(w * (np.logaddexp.reduce(order[k:]) - order[k]) for k, w in enumerate(weights))
        assert loss.value_and_gradient(far, [2, 0, 3, 1], [0, 4]).value == pytest.approx(expected, rel=1e-10)


def test_a_discount_makes_it_no_likelihood() -> None:
    assert ListMLELoss().likelihood() == ListMLELoss()
    for discount in ("log", "lan"):
        assert ListMLELoss(discount=discount).likelihood() is None
    queries = podium.make_queries(n_queries=20, n_documents=8, n_features=3)
    ranker = podium.ListMLE(discount="lan").fit(queries)
    assert ranker.score(queries) > 0.8
    with pytest.raises(ValueError, match="does not model probabilities"):
        ranker.log_likelihood(queries)
    with pytest.raises(ValueError, match="discount must be one of None, 'log', 'lan'; got 'half'"):
        ListMLELoss(discount="half").bind([1.0], [0, 1])


@pytest.mark.parametrize("discount", ["log", "lan"])
@pytest.mark.parametrize("spread", [1.0, 200.0])
def test_discounted_derivatives_in_long_lists(discount: str, spread: float) -> None:
    """2^n is no number here, and both ways to compute it have exact second derivatives."""
    rng = np.random.default_rng(4)
    labels, scores = rng.permutation(1500), spread * rng.uniform(size=1500)
    bound = ListMLELoss(discount=discount).bind(labels, [0, 1500])
    result = bound.value_and_gradient(scores, curvature=True)
    for i in (int(labels.argmax()), int((-labels).argsort()[3]), 7):
        up, down = scores.copy(), scores.copy()
        up[i] += 1e-5
        down[i] -= 1e-5
        up, down = bound.value_and_gradient(up), bound.value_and_gradient(down)
        assert result.d_scores[i] == pytest.approx((up.value - down.value) / 2e-5, rel=1e-5, abs=1e-6)
        slope = (up.d_scores[i] - down.d_scores[i]) / 2e-5
        assert result.d2_scores[i] == pytest.approx(slope, rel=1e-5, abs=1e-8)


SCORERS = [scorers.Linear(l2=1.0), scorers.Trees(n_trees=30, n_leaves=4), scorers.MLP(hidden=4)]


@pytest.mark.parametrize("scorer", SCORERS)
def test_what_rows_are_sorted_by_is_not_learned(scorer: scorers.Scorer) -> None:
    rng = np.random.default_rng(0)
    features = rng.normal(size=(100 * 20, 3))
    labels = (features[:, 0] + rng.normal(size=len(features)) > 0).astype(float)
    qid = np.repeat(np.arange(100), 20)
    by_nuisance = np.lexsort((features[:, 2], qid))
    sorted_rows = podium.Queries(features[by_nuisance], labels[by_nuisance], qid=qid)
    shuffled = podium.Queries(features, labels, qid=qid)
    fits = [podium.Ranker(ListMLELoss(), scorer, random_state=0).fit(rows) for rows in (sorted_rows, shuffled)]
    first, second = (fit.score(shuffled) for fit in fits)
    assert first == pytest.approx(second, abs=0.03)
    misled = podium.Ranker(ListMLELoss(ties="stable"), scorer, random_state=0).fit(sorted_rows)
    assert misled.score(shuffled) < first - 0.05


def test_unknown_rule_for_ties() -> None:
    with pytest.raises(ValueError, match="ties must be one of 'random', 'stable'; got 'best'"):
        ListMLELoss(ties="best").bind([1.0], [0, 1])

"""The boosting loop and its three weightings, against arithmetic over all pairs and queries."""

from __future__ import annotations

import numpy as np
import pytest

import podium
from podium.metrics import metric
from podium.rankers.single_features.adarank import MetricWeighting
from podium.rankers.single_features.levels import Judge
from podium.rankers.single_features.loop import LARGEST_WEIGHT, BoostingLoop, Rule, first_best, log_odds
from podium.rankers.single_features.pairs import ExponentialWeighting, FidelityWeighting
from podium.rankers.single_features.thresholds import Thresholds
from podium.training.base import Validation


@pytest.fixture(scope="module")
def queries():
    made = podium.make_queries(6, 9, 3, n_grades=4, random_state=5)
    sizes = np.insert(made.sizes, 2, 0)  # an empty list does no harm
    return podium.Queries(np.round(made.features, 1), made.labels, sizes=sizes)


WEIGHT = np.array([1.0, 2.0, 1.0, 0.5, 1.0, 3.0, 1.0])


def pairs(queries, by_query=True):
    """All (better, worse, share of the total weight)."""
    found = []
    for q, part in enumerate(queries.slices()):
        rows = range(part.start, part.stop)
        of_query = [(i, j) for i in rows for j in rows if queries.labels[i] > queries.labels[j]]
        found += [(i, j, WEIGHT[q] / (len(of_query) if by_query else 1)) for i, j in of_query]
    total = sum(share for *_, share in found)
    return [(i, j, share / total) for i, j, share in found]


def exponential(gap):
    return np.exp(-gap), np.exp(-gap)


def fidelity(gap):
    """Loss and weight of a pair as the FRank paper has them, with D left out."""
    return 1 - np.sqrt(1 / (1 + np.exp(-gap))), np.exp(-gap) / (1 + np.exp(-gap)) ** 1.5


@pytest.mark.parametrize(("kind", "of_gap"), [(ExponentialWeighting, exponential), (FidelityWeighting, fidelity)])
@pytest.mark.parametrize("by_query", [True, False])
def test_potentials_are_sums_over_all_pairs(queries, kind, of_gap, by_query) -> None:
    weighting = kind(queries, WEIGHT, 5, True, by_query)
    for scores in (np.zeros(queries.n_documents), np.random.default_rng(0).normal(size=queries.n_documents) * 2):
        expected, loss = np.zeros(queries.n_documents), 0.0
        for i, j, share in pairs(queries, by_query):
            of_pair, weight = of_gap(scores[i] - scores[j])
            loss += share * of_pair
            expected[i] += share * weight
            expected[j] -= share * weight
        assert weighting.weigh(scores) == pytest.approx(loss)
        np.testing.assert_allclose(weighting.potential, expected, atol=1e-14)


@pytest.mark.parametrize(("kind", "of_gap"), [(ExponentialWeighting, exponential), (FidelityWeighting, fidelity)])
@pytest.mark.parametrize("both", [True, False])
def test_the_rule_is_the_best_of_all_thresholds(queries, kind, of_gap, both) -> None:
    scores = np.random.default_rng(1).normal(size=queries.n_documents)
    weighting = kind(queries, WEIGHT, 1000, both, True)
    weighting.weigh(scores)
    rule = weighting.best_rule()
    weighted = [(i, j, share * of_gap(scores[i] - scores[j])[1]) for i, j, share in pairs(queries)]
    best = (0.0, None)
    for f in range(3):
        column = queries.features[:, f].astype(float)
        values = np.unique(column)
        for threshold in (values[1:] + values[:-1]) / 2:
            h = (column > threshold).astype(float)
            good = sum(w for i, j, w in weighted if h[i] > h[j])
            bad = sum(w for i, j, w in weighted if h[i] < h[j])
            r = good - bad
            if (abs(r) if both else r) > best[0] + 1e-12:
                total = sum(w for *_, w in weighted)
                odds = (total + r) / (total - r) if kind is ExponentialWeighting else good / max(bad, 1e-300)
                best = (abs(r), (f, threshold, 0.5 * np.log(odds)))
    assert (rule.feature, rule.threshold, rule.weight) == pytest.approx(best[1])


@pytest.mark.parametrize("decided", [None, 16])
@pytest.mark.parametrize("both", [True, False])
def test_frank_takes_the_rule_that_leads_to_the_lowest_loss(queries, decided, both) -> None:
    """Brute force: every threshold of every feature, its weight by the paper's formula, and the loss of all pairs."""
    scores = 0.5 * np.random.default_rng(1).normal(size=queries.n_documents)
    weighting = FidelityWeighting(queries, WEIGHT, 1000, both, True, decided)
    all_pairs = pairs(queries)
    best = (weighting.weigh(scores), None)
    for f in range(3):
        column = queries.features[:, f].astype(float)
        values = np.unique(column)
        for threshold in (values[1:] + values[:-1]) / 2:
            h = (column > threshold).astype(float)
            weights = [(h[i] - h[j], share * fidelity(scores[i] - scores[j])[1]) for i, j, share in all_pairs]
            good, bad = (sum(w for side, w in weights if side == sign) for sign in (1, -1))
            weight = log_odds(good, bad)
            if weight < 0 and not both:
                continue
            after = scores + weight * h
            loss = sum(share * fidelity(after[i] - after[j])[0] for i, j, share in all_pairs)
            if loss < best[0] - 1e-12:
                best = (loss, (f, threshold, weight))
    rule = weighting.best_rule()
    assert (rule.feature, rule.threshold, rule.weight) == pytest.approx(best[1])
    added = scores + rule.scores(queries.features[:, rule.feature].astype(float))
    assert weighting.weigh(added) == pytest.approx(best[0])


def test_scores_far_apart_keep_potentials_finite(queries) -> None:
    scores = np.where(queries.labels > 1, -2e4, 2e4)  # every pair as wrong as can be
    for kind in (ExponentialWeighting, FidelityWeighting):
        weighting = kind(queries, WEIGHT, 5, True, True)
        assert np.isfinite(weighting.weigh(scores))
        assert np.isfinite(weighting.potential).all()
        assert weighting.weigh(-scores) < 1  # and as right as can be


def test_thresholds_lie_between_values_at_equal_shares() -> None:
    low = np.float64(1.0)
    column = np.array([3.0, low, np.nextafter(low, 2), 5.0, 3.0])
    found = Thresholds(column[:, None], 10)
    np.testing.assert_array_equal(found.values[0], [low, (np.nextafter(low, 2) + 3) / 2, 4.0])
    np.testing.assert_array_equal(found.codes[0], [2, 0, 1, 3, 2])
    np.testing.assert_array_equal(found.above(0, 1), [True, False, False, True, True])
    many = Thresholds(np.arange(1000.0)[:, None], 3)
    np.testing.assert_allclose(many.values[0], [249.5, 499.5, 749.5])
    assert Thresholds(np.arange(1000.0)[:, None], 500).codes.dtype == np.uint16
    assert not len(Thresholds(np.ones((4, 1)), 3).values[0])


def test_adarank_by_hand() -> None:
    # Two queries of two documents. Feature 0 ranks the first one rightly (MAP 1) and the second wrongly (MAP 1/2),
    # feature 1 the other way round but stretched.
    queries = podium.Queries([[1, 0], [0, 5], [0, 9], [1, 0]], [1, 0, 1, 0], sizes=[2, 2])
    weighting = MetricWeighting(queries, np.array([2.0, 1.0]), metric("map"), np.ones(2), False, 1)
    np.testing.assert_allclose(weighting.merits, [[1, 0.5], [0.5, 1]])
    assert weighting.weigh(np.zeros(4)) == 1
    first = weighting.best_rule()
    merit = (2 * 1 + 1 * 0.5) / 3
    assert (first.feature, first.weight) == (0, pytest.approx(0.5 * np.log((1 + merit) / (1 - merit))))
    loss = weighting.weigh(first.scores(queries.features[:, 0]))
    p = np.array([2 * np.exp(-1), np.exp(-0.5)])
    assert loss == pytest.approx(p.sum() / 3)
    np.testing.assert_allclose(weighting.weights, p / p.sum())
    assert weighting.best_rule().feature == 1  # not feature 0 again, though it still has the higher merit
    assert (weighting.merits @ weighting.weights).argmax() == 0


def test_all_levels_tell_graded_documents_apart_that_are_all_relevant() -> None:
    # Grades 3, 1, 2 | 1, 1, in the order of the feature; every document is relevant, so MAP is 1 whatever the order.
    queries = podium.Queries([[3.0], [2.0], [1.0], [2.0], [1.0]], [3, 1, 2, 1, 1], sizes=[3, 2])
    scores = queries.features[:, 0].astype(float)
    assert Judge(metric("map"), queries, all_levels=False).per_query(scores).tolist() == [1, 1]
    # By hand. From grade 2 on: relevant at ranks 1 and 3, (1 + 2/3) / 2; from 3 on: at rank 1. The second query has
    # neither grade, and the value of the metric itself.
    graded = Judge(metric("map"), queries, all_levels=True)
    np.testing.assert_allclose(graded.per_query(scores), [((1 + 2 / 3) / 2 + 1) / 2, 1])
    assert graded.per_query(-scores)[0] < graded.per_query(scores)[0]
    # A convention's own level is the lowest, and metrics that see grades stay as they are.
    only_3 = Judge(metric("map", "standard+relevant_from=3"), queries, all_levels=True)
    np.testing.assert_allclose(only_3.per_query(scores), [1, 0])
    by_gain = Judge(metric("ndcg@2"), queries, all_levels=True).per_query(scores)
    np.testing.assert_array_equal(by_gain, metric("ndcg@2").per_query(scores, queries.labels, queries.offsets))
    many = queries.with_labels(np.linspace(0.5, 30.0, 5))
    assert len(Judge(metric("map"), many, all_levels=True).by_level) == 4


def test_adarank_on_grades_that_are_nearly_all_relevant_learns_their_order() -> None:
    # Feature 0 separates grade 0, one document of ten, from the rest; feature 1 orders the others.
    rng = np.random.default_rng(0)
    labels = rng.choice(5, 400, p=[0.1, 0.5, 0.2, 0.1, 0.1])
    features = np.column_stack((labels > 0, labels * (labels > 1))) + 0.3 * rng.normal(size=(400, 2))
    queries = podium.Queries(features, labels, sizes=[20] * 20)
    paper, graded = (podium.AdaRank(levels=levels, n_rounds=1).fit(queries).rules() for levels in ("one", "all"))
    assert (paper[0].feature, graded[0].feature) == (0, 1)


def test_adarank_may_repeat_and_turn_features_round(queries) -> None:
    again = MetricWeighting(queries, WEIGHT, metric("ndcg@5"), np.array([1.0, 0.0, 2.0]), True, 2)
    assert {j for j, _ in again.candidates} == {0, 2}
    assert [factor for _, factor in again.candidates] == [1, -1, 2, -2]
    rules, _ = BoostingLoop(6)._boost(again, queries)
    chosen = [rule.feature for rule in rules]
    assert chosen[0] == chosen[1] != chosen[2]


def test_queries_without_a_value_weigh_nothing(queries) -> None:
    labels = queries.labels.copy()
    labels[: queries.offsets[1]] = 0
    weighting = MetricWeighting(
        queries.with_labels(labels), WEIGHT, metric("map", no_relevant="skip"), np.ones(3), True, 1
    )
    weighting.weigh(np.zeros(queries.n_documents))
    assert weighting.weights[0] == weighting.weights[2] == 0  # nothing to find; no documents
    assert weighting.weights.sum() == pytest.approx(1)


def test_metrics_beyond_1_are_refused(queries) -> None:
    with pytest.raises(ValueError, match="at most 1"):
        MetricWeighting(queries, WEIGHT, metric("dcg@5"), np.ones(3), True, 1)


@pytest.mark.parametrize("kind", [ExponentialWeighting, FidelityWeighting])
def test_the_loss_falls_and_the_best_round_is_kept(queries, kind) -> None:
    weighting = kind(queries, np.ones(len(queries)), 20, True, True)
    validation = Validation(queries, metric("ndcg@3"))
    reports = []
    rules, end = BoostingLoop(40, patience=10)._boost(weighting, queries, validation, reports.append)
    assert end.losses[-1] < end.losses[0]
    assert len(rules) == end.best_iter == 1 + int(np.argmax(end.validation))
    assert [progress.validation for progress in reports] == list(end.validation)
    every, end = BoostingLoop(40, early_stopping=False)._boost(weighting, queries, validation)
    assert (len(every), end.best_iter, end.n_iter) == (end.n_iter, None, len(end.validation))
    stopped, end = BoostingLoop(40)._boost(weighting, queries, callback=lambda progress: progress.iteration == 3)
    assert (len(stopped), end.converged) == (3, None)


def test_ctrl_c_keeps_the_rules_so_far(queries) -> None:
    def interrupt(progress):
        if progress.iteration == 4:
            raise KeyboardInterrupt

    weighting = ExponentialWeighting(queries, np.ones(len(queries)), 20, True, True)
    with pytest.warns(UserWarning, match="interrupted"):
        rules, end = BoostingLoop(40)._boost(weighting, queries, callback=interrupt)
    assert (len(rules), end.interrupted) == (4, True)


def test_nothing_more_to_learn_ends_it() -> None:
    # One feature that orders the only pair: the first rule makes no mistake, and its weight is limited.
    queries = podium.Queries([[0.0], [1.0]], [0, 1], sizes=[2])
    for kind in (ExponentialWeighting, FidelityWeighting):
        (rule,), _ = BoostingLoop(1)._boost(kind(queries, np.ones(1), 5, True, True), queries)
        assert rule == Rule(0, LARGEST_WEIGHT, 0.5)
        tied = queries.with_labels([1.0, 1.0])
        rules, end = BoostingLoop(3)._boost(kind(tied, np.ones(1), 5, True, True), tied)
        assert (rules, end.converged, end.n_iter) == ([], True, 0)


def test_small_pieces() -> None:
    assert log_odds(3.0, 1.0) == pytest.approx(0.5 * np.log(3))
    assert log_odds(1.0, 0.0) == LARGEST_WEIGHT == -log_odds(0.0, 1.0)
    assert log_odds(0.0, 0.0) == 0
    assert first_best(np.array([0.1, 0.3, 0.3 + 1e-15, 0.2])) == 1
    with pytest.raises(ValueError, match="n_rounds"):
        podium.AdaRank(n_rounds=0).fit(podium.make_queries(2, 3, 2))
    with pytest.raises(ValueError, match="learning_rate"):
        podium.AdaRank(learning_rate=0.0).fit(podium.make_queries(2, 3, 2))

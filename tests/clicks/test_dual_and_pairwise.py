"""Dual learning and pairwise debiasing: against arithmetic, brute force over sessions, and the truth of simulations."""

import numpy as np
import pytest
from scipy.optimize import minimize

import podium
from podium.clicks import PositionBias, load_bias, simulate
from podium.clicks.cells import Cells
from podium.clicks.document_scores import DocumentScores
from podium.clicks.dual import DualLearning
from podium.clicks.pairwise import PairwiseDebiasing, pairs_of, updated
from podium.clicks.place_pairs import CountedPairs, ExpectedPairs
from podium.clicks.settling import settled
from podium.data.shown import ShownLists


@pytest.fixture(scope="module")
def queries():
    return podium.make_queries(n_queries=200, n_documents=20, n_features=5, random_state=7)


@pytest.fixture(scope="module")
def sessions(queries):
    """A short log with its sessions."""
    return simulate(queries.take(range(12)), queries.take(range(12)).labels, top=4, sessions=800, shuffle=1.0)


@pytest.mark.parametrize("exponent", [0.5, 1.0, 2.0])
def test_both_are_near_the_truth(queries, exponent):
    ranking = queries.labels + np.random.default_rng(7).normal(size=queries.n_documents)
    c = simulate(queries, ranking, exponent=exponent, sessions=200_000, aggregate=True)
    truth = c.truth.propensities
    dual = PositionBias(method="dual", bootstrap=0).fit(c)
    assert np.abs(dual.propensities_ - truth).max() < 0.03
    # A known bias of the method: up to .08 in simulations like this one.
    pairwise = PositionBias(method="pairwise", bootstrap=0).fit(c)
    assert np.abs(pairwise.propensities_ - truth).max() < 0.12
    for b in (dual, pairwise):
        assert b.propensities_[0] == 1.0
        assert np.abs(b.attractiveness_ - c.truth.attractiveness).mean() < 0.1


def test_documents_that_nobody_clicks_do_not_mislead_dual_learning(queries):
    c = simulate(queries, queries.labels, noise=0.0, sessions=200_000, aggregate=True)  # most documents have γ = 0
    found = PositionBias(method="dual", bootstrap=0).fit(c).propensities_
    assert np.abs(found - c.truth.propensities).max() < 0.03


def test_dual_learning_of_one_query_is_a_ratio_of_rates():
    # Clicks 400 of 1,000 and 50 of 500 at places 1 and 2; both documents have the same rates, so f cannot matter.
    c = podium.Clicks(
        None, [400, 50, 400, 50], qid=["a"] * 4, position=[1, 2, 1, 2], document=list("xxyy"),
        impressions=[1000, 500, 1000, 500],
    )  # fmt: skip
    found = DualLearning(Cells.of(c), c.queries).estimate(Cells.of(c))
    assert found[1] == pytest.approx((50 / 500) / (400 / 1000), rel=1e-3)


def test_the_ranker_of_dual_learning_is_the_lowest_penalized_loss(queries):
    few = queries.take(range(5))
    cells = Cells.of(simulate(few, few.labels, top=4, sessions=500, aggregate=True, shuffle=1.0))
    c = simulate(few, few.labels, top=4, sessions=500, aggregate=True, shuffle=1.0)
    learner = DualLearning(cells, c.queries)
    theta = learner.estimate(cells)
    ranker, query = learner.start, c.queries.query_of_document
    shown = cells.by_document(cells.impressions)
    worth = cells.by_document(cells.clicks / theta[cells.place])
    spread = cells.by_document(cells.impressions / theta[cells.place]) / shown

    def loss(parameters):  # straight from the definition
        w, u = np.split(parameters, [ranker.x.shape[1]])
        odds = shown * np.exp(ranker.x @ w + u)
        shares = odds / np.bincount(query, odds)[query]
        return -worth @ np.log(shares) + 0.5 * w @ w + 0.5 * spread @ u**2

    here = np.concatenate((ranker.weights, ranker.own))
    assert loss(here) == pytest.approx(minimize(loss, here).fun, rel=1e-6)


def test_newton_steps_forget_what_a_query_adds_to_all_scores():
    queries = podium.Queries(np.array([[1.0], [3.0], [2.0]]), sizes=[2, 1])
    start = DocumentScores.of(queries)
    assert start.x.mean() == pytest.approx(0, abs=1e-12)
    # Minus the gradient of ½ Σ (s − t)² up to a constant per query is t − s: pulled alike, nothing moves.
    made, change = start.improved(np.array([5.0, 5.0, -7.0]), np.ones(3), np.ones(3))
    assert change < 1e-12
    assert np.abs(made.scores).max() < 1e-12


def test_pairs_are_counted_as_in_the_sessions(sessions):
    pairs = CountedPairs.of(ShownLists.of(sessions, "a test"), sessions.queries)
    rng = np.random.default_rng(0)
    factors, scores = rng.uniform(size=(4, 4)), rng.normal(size=sessions.queries.n_documents)
    weights, by_places = {}, np.zeros((4, 4))
    for session in range(sessions.session.max() + 1):
        here = np.flatnonzero(sessions.session == session)
        for a in here[sessions.clicks[here] == 1]:
            for b in here[sessions.clicks[here] == 0]:
                i, j, p, q = sessions.row[a], sessions.row[b], sessions.position[a] - 1, sessions.position[b] - 1
                weights[i, j] = weights.get((i, j), 0) + factors[p, q]
                by_places[p, q] += scores[i] - scores[j]
    found = dict(zip(zip(pairs.winner, pairs.loser, strict=True), pairs.weights(factors), strict=True))
    assert found.keys() == weights.keys()
    assert all(found[pair] == pytest.approx(weights[pair]) for pair in weights)
    np.testing.assert_allclose(pairs.by_places(scores[pairs.winner] - scores[pairs.loser]), by_places)


def test_long_lists_are_counted_the_same(queries):
    """With many documents and few sessions, pairs are sorted instead of written into a table of all."""
    c = simulate(queries.take(range(3)), queries.take(range(3)).labels, top=20, sessions=6, exponent=0.5)
    pairs = CountedPairs.of(ShownLists.of(c, "a test"), c.queries)
    clicked, shown = np.bincount(c.session, c.clicks), np.bincount(c.session)
    assert pairs.by_places(np.ones(len(pairs.winner))).sum() == (clicked * (shown - clicked)).sum()
    assert (np.diff(pairs.winner * c.queries.n_documents + pairs.loser) > 0).all()


def test_expected_pairs_by_hand():
    c = podium.Clicks(
        None, [3, 1, 0, 2], qid=["a"] * 4, position=[1, 2, 1, 2], document=list("xxyy"), impressions=[6, 4, 4, 6]
    )
    pairs = pairs_of(Cells.of(c), c)
    assert isinstance(pairs, ExpectedPairs)
    # Clicks of x: 3 at place 1, 1 at 2; of y: 2 at place 2. Not clicked: x 3 and 3, y 4 and 4. Ten sessions.
    assert list(zip(pairs.winner, pairs.loser, strict=True)) == [(0, 1), (1, 0)]
    by_places = pairs.by_places(np.array([1.0, 0.0]))  # x before y
    np.testing.assert_allclose(by_places, [[0, 3 * 4 / 10], [1 * 4 / 10, 0]])
    np.testing.assert_allclose(pairs.by_places(np.array([0.0, 1.0])), [[0, 0], [2 * 3 / 10, 0]])
    factors = np.array([[100.0, 2.0], [3.0, 100.0]])
    np.testing.assert_allclose(pairs.weights(factors), [2 * 12 / 10 + 3 * 4 / 10, 3 * 6 / 10])


def test_expected_pairs_are_near_those_of_sessions(queries):
    ranking = queries.labels + np.random.default_rng(7).normal(size=queries.n_documents)
    c = simulate(queries, ranking, sessions=50_000, top=5)
    sessions, counts = (PositionBias(method="pairwise", bootstrap=0).fit(log) for log in (c, c.aggregated()))
    np.testing.assert_allclose(counts.propensities_, sessions.propensities_, atol=0.03)


def test_factors_of_places_by_hand():
    # Losses of pairs by (place of the click, other place), t⁺ = (1, ½), t⁻ = (1, 2).
    losses = np.array([[0.0, 4.0], [1.0, 2.0]])
    plus, minus = updated(losses, np.array([1.0, 0.5]), np.array([1.0, 2.0]), norm=0.0)
    # Clicked at 1: 0/1 + 4/2 = 2; at 2: 1/1 + 2/2 = 2. Not clicked at 1: 0/1 + 1/.5 = 2; at 2: 4/1 + 2/.5 = 8.
    np.testing.assert_allclose(plus, [1.0, 1.0])
    np.testing.assert_allclose(minus, [1.0, 4.0])
    plus, minus = updated(losses, np.array([1.0, 0.5]), np.array([1.0, 2.0]), norm=1.0)
    np.testing.assert_allclose(minus, [1.0, 2.0])


def test_pairwise_debiasing_ends_at_its_fixed_point(sessions):
    learner = PairwiseDebiasing(Cells.of(sessions), sessions, norm=0.5)
    plus, minus = learner.estimate()
    pairs, scores = learner.pairs, learner.start.scores
    lead = scores[pairs.winner] - scores[pairs.loser]
    again = updated(pairs.by_places(np.log1p(np.exp(-lead))), plus, minus, 0.5)
    np.testing.assert_allclose(again, [plus, minus], rtol=1e-3)
    weights, x, n = pairs.weights(1 / np.outer(plus, minus)), learner.start.x, learner.start.x.shape[1]

    def loss(parameters):
        s = x @ parameters[:n] + parameters[n:]
        return weights @ np.logaddexp(0, s[pairs.loser] - s[pairs.winner]) + 0.5 * parameters @ parameters

    here = np.concatenate((learner.start.weights, learner.start.own))
    assert loss(here) == pytest.approx(minimize(loss, here).fun, rel=1e-5)


def test_a_larger_norm_draws_factors_to_one(sessions):
    plain, rooted = (PositionBias(method="pairwise", norm=norm, bootstrap=0).fit(sessions) for norm in (0.0, 3.0))
    assert (rooted.propensities_[1:] > plain.propensities_[1:]).all()
    assert (rooted.negative_propensities_[1:] < plain.negative_propensities_[1:]).all()


@pytest.mark.parametrize("method", ["dual", "pairwise"])
def test_intervals_files_and_logs_without_features(sessions, tmp_path, method):
    b = PositionBias(method=method, bootstrap=5).fit(sessions)
    assert b.intervals_.shape == (4, 2)
    assert (b.intervals_[:, 0] <= b.intervals_[:, 1]).all()
    assert (b.intervals_[0] == 1).all()
    b.save(tmp_path / "bias.json")
    again = load_bias(tmp_path / "bias.json")
    np.testing.assert_array_equal(again.propensities_, b.propensities_)
    np.testing.assert_array_equal(again.attractiveness(sessions), b.attractiveness_)
    if method == "pairwise":
        assert b.negative_propensities_[0] == 1
        np.testing.assert_array_equal(again.negative_propensities_, b.negative_propensities_)
    else:
        assert again.negative_propensities_ is b.negative_propensities_ is None
    bare = podium.Clicks(
        None, sessions.clicks, qid=sessions.query, position=sessions.position, document=sessions.row,
        session=sessions.session,
    )  # fmt: skip
    found = PositionBias(method=method, bootstrap=0).fit(bare).propensities_
    np.testing.assert_allclose(found, b.propensities_, atol=0.25)  # features help, they are not needed


@pytest.mark.parametrize("method", ["dual", "pairwise"])
def test_a_log_in_which_nothing_moves_is_warned_of(queries, method):
    still = simulate(queries, queries.labels, shuffle=0, top=3, sessions=5_000, aggregate=True)
    with pytest.warns(UserWarning, match=r"places 2, 3: .*\(0 % of the impressions"):
        PositionBias(method=method, bootstrap=0).fit(still)


def test_a_log_that_compares_nothing_is_refused():
    c = podium.Clicks(None, [1, 1], qid=[0, 0], position=[1, 2], document=[0, 1], session=[0, 0])
    with pytest.raises(ValueError, match="no list has both documents that were clicked and others"):
        PositionBias(method="pairwise").fit(c)


def test_extrapolation_finds_the_fixed_point():
    found = settled(lambda x: np.sqrt(x * [4.0, 9.0]), np.ones(2), tolerance=1e-10, most=100)
    np.testing.assert_allclose(found, [4.0, 9.0])
    with pytest.warns(UserWarning, match="tests still change by"):
        settled(lambda x: 1 / x + 1e-3 * x, np.full(1, 2.0), tolerance=1e-12, most=6, what="tests")

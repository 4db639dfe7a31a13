"""Simulated clicks: their shares are those of the models' formulas, and the log knows its truth."""

import numpy as np
import pytest

import podium
from podium import Queries
from podium.clicks import simulate
from podium.clicks.simulation import gains


@pytest.fixture(scope="module")
def queries():
    return podium.make_queries(n_queries=30, n_documents=8, n_features=4, random_state=3)


def shares(c, truth_of_cell):
    """Return z-scores of the clicks of each cell, given its probability."""
    a = c.aggregated()
    p = truth_of_cell(a)
    variance = np.maximum(a.impressions * p * (1 - p), 1e-12)
    return (a.clicks - a.impressions * p) / np.sqrt(variance)


@pytest.mark.parametrize("trust", [None, (0.9, 0.2), (np.linspace(1, 0.6, 5), np.linspace(0.3, 0, 5))])
@pytest.mark.parametrize("aggregate", [False, True])
def test_position_based_clicks(queries, trust, aggregate):
    c = simulate(
        queries, queries.labels, exponent=0.7, trust=trust, top=5, sessions=30_000, aggregate=aggregate, random_state=1
    )
    theta = np.arange(1, 6) ** -0.7
    relevant, other = (1.0, 0.0) if trust is None else trust
    gamma = 0.1 + 0.9 * (2 ** queries.labels[c.truth.rows] - 1) / 3
    p = theta * (gamma[:, None] * relevant + (1 - gamma[:, None]) * other)
    z = shares(c, lambda a: p[a.row, a.position - 1])
    assert abs((z**2).mean() - 1) < 0.2  # the mean of a chi-squared variable, with some 800 cells
    np.testing.assert_allclose(c.truth.alpha * gamma[:, None] + c.truth.beta, p)
    np.testing.assert_allclose(c.truth.propensities, theta)


def test_a_log_says_which_documents_it_shows(queries):
    named = queries.with_document_ids([f"d{i}" for i in range(queries.n_documents)])
    c = simulate(named, queries.labels, top=3, sessions=2000)
    assert c.queries.document_ids.tolist() == [f"d{i}" for i in c.truth.rows]
    np.testing.assert_array_equal(c.queries.features, queries.features[c.truth.rows])
    assert not c.queries.has_labels
    assert c.queries.qids[c.query].tolist() == queries.qids[queries.query_of_document[c.truth.rows[c.row]]].tolist()
    assert simulate(queries, queries.labels, sessions=50).queries.document_ids.dtype.kind == "i"


def test_sessions_and_counts_are_the_same_log(queries):
    one_by_one = simulate(queries, queries.labels, top=4, sessions=3000, random_state=5)
    counted = simulate(queries, queries.labels, top=4, sessions=3000, random_state=5, aggregate=True)
    again = one_by_one.aggregated()
    for name in ("row", "position", "clicks", "impressions", "n_sessions"):
        np.testing.assert_array_equal(getattr(again, name), getattr(counted, name))
    assert one_by_one.n_sessions.sum() == 3000
    assert len(np.unique(one_by_one.session)) == 3000
    # A log that is given row by row is checked: no place twice, no document twice in a session.
    podium.Clicks(
        None,
        one_by_one.clicks,
        qid=one_by_one.query,
        position=one_by_one.position,
        document=one_by_one.row,
        session=one_by_one.session,
    )


def test_without_shuffling_documents_never_move_and_row_order_says_nothing():
    tied = Queries(np.zeros((400, 1)), np.zeros(400), sizes=[2] * 200)
    c = simulate(tied, np.zeros(400), shuffle=0, sessions=20_000, aggregate=True)
    assert (np.bincount(c.row) == 1).all()
    first = c.row[c.position == 1] % 2
    assert 60 < first.sum() < 140  # 100 ± 4 standard deviations of coins


def test_shuffled_first_places_follow_the_softmax_of_scores():
    # With Gumbel noise the first document is drawn with probability ∝ exp(score / shuffle) (Luce).
    one = Queries(np.zeros((3, 1)), [0, 1, 2], sizes=[3])
    scores = np.array([0.0, 1.0, 5.0])
    c = simulate(one, scores, shuffle=2.0, top=2, sessions=200_000, aggregate=True)
    standardized = (scores - scores.mean()) / scores.std()
    expected = np.exp(standardized / 2) / np.exp(standardized / 2).sum()
    shown = np.zeros(3)
    shown[c.row[c.position == 1]] = c.impressions[c.position == 1] / 200_000
    np.testing.assert_allclose(shown, expected, atol=0.005)


def test_several_rankings_take_turns(queries):
    c = simulate(queries, [queries.labels, -queries.labels], shuffle=0, top=3, sessions=20_000, aggregate=True)
    grades = queries.labels[c.truth.rows[c.row]]
    first = c.position == 1
    assert 0.4 < c.impressions[first & (grades == grades.max())].sum() / 20_000 < 0.6


def test_a_ranker_stands_for_its_scores(queries):
    ranker = podium.BestFeature().fit(queries)
    scores = ranker.predict(queries)
    ours, theirs = (simulate(queries, given, sessions=500) for given in (ranker, scores))
    np.testing.assert_array_equal(ours.row, theirs.row)


def test_a_cascade_ends_with_its_click(queries):
    c = simulate(queries, queries.labels, model="cascade", top=3, sessions=30_000)
    by_session = np.zeros((30_000, 3), int)
    by_session[c.session, c.position - 1] = c.clicks
    assert by_session.sum(axis=1).max() == 1
    before = np.cumsum(by_session, axis=1) - by_session
    np.testing.assert_allclose(c.truth.propensities, 1 - before.mean(axis=0))
    first = c.position == 1
    gamma = c.truth.attractiveness[c.row[first]]
    assert abs(c.clicks[first].mean() - gamma.mean()) < 4 * np.sqrt(0.25 / 30_000)
    assert c.truth.alpha is None


def test_dbn_sessions_go_on_as_the_model_says():
    # Two documents that satisfy always or never (grades 1 and 0), both clicked half the time or more.
    pair = Queries(np.zeros((2, 1)), [1, 0], sizes=[2])
    c = simulate(pair, [0.0, 1.0], model="dbn", noise=0.5, persistence=0.8, shuffle=0, sessions=100_000)
    # Place 1 is grade 0: γ = .5, σ = 0, so place 2 is looked at in .8 of the sessions, and γ = 1 there.
    np.testing.assert_allclose(c.truth.propensities, [1.0, 0.8], atol=0.006)
    assert abs(c.clicks[c.position == 1].mean() - 0.5) < 0.006
    assert abs(c.clicks[c.position == 2].mean() - 0.8) < 0.006
    turned = simulate(pair, [1.0, 0.0], model="dbn", noise=0.5, persistence=0.8, shuffle=0, sessions=10_000)
    np.testing.assert_array_equal(turned.truth.propensities, [1.0, 0.0])  # always clicked and satisfied at once


def test_short_and_empty_lists():
    lists = Queries(np.zeros((4, 1)), [0, 1, 2, 0], sizes=[1, 0, 3])
    c = simulate(lists, np.arange(4.0), top=10, sessions=500)
    assert c.queries.sizes.tolist() == [1, 3]
    assert c.n_places == 3
    assert c.n_sessions.sum() == 500
    assert len(c.truth.propensities) == 3


def test_gains():
    assert gains(np.array([-1.0, 0.0, 1.0, 2.0])).tolist() == [0.0, 0.0, 1 / 3, 1.0]
    assert gains(np.zeros(2)).tolist() == [0.0, 0.0]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"model": "markov"}, "model must be one of 'position', 'cascade', 'dbn'"),
        ({"scores": [1.0]}, r"one number for each of the \d+ documents"),
        ({"scores": [float("nan")] * 221}, "the score of document 0 is not finite"),
        ({"noise": 1.5}, "noise"),
        ({"shuffle": -1}, "shuffle"),
        ({"top": 0}, "top"),
        ({"sessions": 0}, "sessions"),
        ({"trust": (0.5, 0.7)}, "that of relevant documents not below"),
        ({"trust": (1.0, 0.1), "model": "dbn"}, "trust is part of the model 'position'"),
    ],
)
def test_bad_arguments(queries, changes, message):
    with pytest.raises(ValueError, match=message):
        simulate(queries, **({"scores": queries.labels, "sessions": 10} | changes))

"""Probabilities asked of fitted rankers: which have them, and which refuse."""

from __future__ import annotations

import numpy as np
import pytest

import podium
from podium.probabilities.preferences import PreferenceNetwork, TiedPairs


@pytest.fixture(scope="module")
def queries() -> podium.Queries:
    return podium.make_queries(n_queries=12, n_documents=5, n_features=3, random_state=1)


def test_answers_come_in_the_order_of_the_rows(queries) -> None:
    ranker = podium.PMOP(l2=0.01).fit(queries)
    several = ranker.probabilities(queries)
    assert len(several) == len(queries)
    first = queries.take([0])
    rows = np.random.default_rng(0).permutation(first.n_documents)
    one = ranker.probabilities(first.features[rows])
    np.testing.assert_allclose(one.rank_distribution, several[0].rank_distribution[rows])
    assert one.above(0, 1) == pytest.approx(several[0].above(int(rows[0]), int(rows[1])))
    with pytest.raises(IndexError, match="numbered from 0"):
        one.above(0, first.n_documents)


def test_pairs_agree_with_those_that_are_drawn(queries) -> None:
    ranker, first = podium.PMOP(l2=0.01, random_state=0).fit(queries), queries.take([0])
    drawn = ranker.pair_probabilities(first, 0, 1)
    p = ranker.probabilities(first)
    np.testing.assert_allclose([p.above(0, 1), p.tied(0, 1)], [drawn.above[0], drawn.tied[0]], atol=0.02)


@pytest.mark.parametrize(
    "ranker",
    [
        podium.ListMLE(),
        podium.ListNet(),
        podium.PMOP("geometric"),
        podium.SoftRank(epochs=2, learn_sigma=True),
        podium.BoltzRank(epochs=2, restarts=1),
        podium.Ranker(podium.losses.PMOPLoss(), podium.scorers.Trees(n_trees=2, min_documents_in_leaf=2)),
    ],
    ids=lambda ranker: type(ranker).__name__,
)
def test_models_of_rankings_answer(queries, ranker) -> None:
    p = ranker.set_params(random_state=0).fit(queries).probabilities(queries.take([0]))
    np.testing.assert_allclose(p.rank_distribution.sum(axis=1), 1)
    assert p.above(0, 1) + p.above(1, 0) + p.tied(0, 1) == pytest.approx(1)


def test_others_refuse_by_name(queries) -> None:
    for ranker in (podium.RankNet(), podium.LambdaMART(n_trees=2), podium.RankBoost(n_rounds=2)):
        with pytest.raises(ValueError, match=f"{type(ranker).__name__} does not model probabilities of rankings"):
            ranker.fit(queries).probabilities(queries)
    p = podium.PairTies().fit(queries).probabilities(queries.take([0]))
    assert p.above(0, 1) + p.above(1, 0) + p.tied(0, 1) == pytest.approx(1)
    for ask in (
        lambda: p.rank_distribution,
        lambda: p.in_top(1),
        lambda: p.most_probable,
        lambda: p.expected("map", []),
    ):
        with pytest.raises(ValueError, match="PairTies models pairs of documents"):
            ask()


@pytest.mark.parametrize(("kind", "loss"), [("davidson", "DavidsonLoss"), ("rao-kupper", "RaoKupperLoss")])
def test_pairs_that_may_be_tied_have_the_probabilities_of_their_loss(kind: str, loss: str) -> None:
    scores = np.array([0.7, -0.4])
    p = TiedPairs(scores, 0, kind, 0.3)
    found = {
        labels: getattr(podium.losses, loss)().value_and_gradient(scores, labels, [0, 2], parameters=[0.3]).value
        for labels in ((1, 0), (0, 1), (0, 0))
    }
    expected = [np.exp(-found[labels]) for labels in ((1, 0), (0, 1), (0, 0))]
    np.testing.assert_allclose([p.above(0, 1), p.above(1, 0), p.tied(0, 1)], expected)


@pytest.mark.parametrize("topology", ["full", "none"])
def test_a_network_of_preferences_has_the_probability_of_its_loss(topology: str) -> None:
    scores, w = np.array([0.7, -0.4, 0.1]), np.array([0.8, 1.7])
    edges = [(0, 1), (0, 2), (2, 1)]
    loss = podium.losses.StructRankLoss(topology, normalize=False)
    value = loss.value_and_gradient(scores, [2, 0, 1], [0, 3], parameters=w[: loss.n_parameters]).value
    network = PreferenceNetwork(scores, 0, topology, w[: loss.n_parameters])
    assert network.holds(edges) == pytest.approx(np.exp(-value), rel=1e-6)
    # A marginal is the limit in which the margins of the others grow without bound (a property of joint distributions).
    some = network.holds(edges[:2], network=edges)
    assert network.holds(edges) < some < network.holds(edges[:1], network=edges) < 1
    with pytest.raises(ValueError, match="among those of the network"):
        network.holds([(1, 0)], network=edges)
    with pytest.raises(ValueError, match="probability of a tie"):
        network.tied(0, 1)


def test_a_marginal_is_the_limit_of_far_margins() -> None:
    near = PreferenceNetwork(np.array([0.7, -0.4, 0.1, 0.0]), 0, "full", np.array([0.8, 1.7]))
    far = PreferenceNetwork(np.array([0.7, -0.4, 200.0, 0.0]), 0, "full", np.array([0.8, 1.7]))
    edges = [(0, 1), (2, 3)]
    assert near.holds(edges[:1], network=edges) == pytest.approx(far.holds(edges))

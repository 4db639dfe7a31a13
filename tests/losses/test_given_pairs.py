"""RankNet, Rao-Kupper and Davidson on pairs given one by one: the same as on the grades that make these pairs."""

from __future__ import annotations

import numpy as np
import pytest

import podium
from podium import Preferences
from podium.losses import DavidsonLoss, Loss, RankNetLoss, RaoKupperLoss, StructRankLoss

every_loss = pytest.mark.parametrize(
    "loss", [RankNetLoss(), RankNetLoss(normalize=False), RaoKupperLoss(), DavidsonLoss()], ids=repr
)
OFFSETS = np.array([0, 8, 9, 9, 20])


def as_pairs(grades: np.ndarray, offsets: np.ndarray) -> Preferences:
    return Preferences([], []).with_grades(grades, offsets)


@every_loss
def test_pairs_that_say_what_grades_say_give_the_same(loss: Loss) -> None:
    rng = np.random.default_rng(2)
    grades, scores = rng.integers(0, 3, 20).astype(float), rng.standard_normal(20)
    own = [0.4] * loss.n_parameters
    expected = loss.value_and_gradient(scores, grades, OFFSETS, parameters=own, curvature=loss.has_curvature)
    found = loss.value_and_gradient(
        scores, as_pairs(grades, OFFSETS), OFFSETS, parameters=own, curvature=loss.has_curvature
    )
    assert found.value == pytest.approx(expected.value, rel=1e-12)
    np.testing.assert_allclose(found.d_scores, expected.d_scores, rtol=1e-9, atol=1e-14)
    np.testing.assert_allclose(found.d_parameters, expected.d_parameters, rtol=1e-9)
    if loss.has_curvature:
        np.testing.assert_allclose(found.d2_scores, expected.d2_scores, rtol=1e-9, atol=1e-14)


@every_loss
def test_weighted_pairs_with_cycles_by_finite_differences(loss: Loss) -> None:
    rng = np.random.default_rng(3)
    given = Preferences([0, 1, 2, 4], [1, 0, 3, 3], [1.0, 2.5, 0.5, 1.0], tied=[(0, 2), (4, 2), (2, 4)])
    x = np.append(rng.standard_normal(5), [0.3] * loss.n_parameters)

    def value(x: np.ndarray) -> float:
        return loss.value_and_gradient(x[:5], given, [0, 5], parameters=x[5:]).value

    v = loss.value_and_gradient(x[:5], given, [0, 5], parameters=x[5:])
    slopes = [(value(x + step) - value(x - step)) / 2e-6 for step in 1e-6 * np.eye(len(x))]
    np.testing.assert_allclose(np.append(v.d_scores, v.d_parameters), slopes, rtol=1e-6, atol=1e-9)


def test_ranknet_on_pairs_is_structranks_network_without_connections() -> None:
    rng = np.random.default_rng(4)
    given = Preferences(rng.integers(0, 9, 30), 9 + rng.integers(0, 9, 30), rng.uniform(0.5, 2, 30))
    scores = rng.standard_normal(18)
    one = RankNetLoss().value_and_gradient(scores, given, [0, 18])
    other = StructRankLoss("none", learn_weights=False).value_and_gradient(scores, given, [0, 18])
    assert one.value == pytest.approx(other.value, rel=1e-12)
    np.testing.assert_allclose(one.d_scores, other.d_scores, rtol=1e-9)


@pytest.fixture(scope="module")
def lists() -> podium.Queries:
    return podium.make_queries(n_queries=30, n_documents=8, n_features=4, random_state=5)


@pytest.mark.parametrize("preset", [podium.RankNet, podium.PairTies])
def test_presets_learn_the_same_from_grades_and_from_their_pairs(preset: type, lists: podium.Queries) -> None:
    rng = np.random.default_rng(0)
    shuffled = rng.permutation(lists.n_documents)  # rows in any order
    X, y, qid = lists.features[shuffled], lists.labels[shuffled], lists.query_of_document[shuffled]
    by_grades = preset().fit(X, y, qid=qid)
    unknown = np.full(len(y), np.nan)
    ranks = np.lexsort((y, qid))
    groups = np.append(0, np.cumsum(np.bincount(qid)))
    pairs = as_pairs(y[ranks], groups)
    given = Preferences(ranks[pairs.winner], ranks[pairs.loser], tied=ranks[pairs.tied])
    for how in ({"y": given}, {"y": unknown, "preferences": given}, {"y": y, "preferences": Preferences([], [])}):
        np.testing.assert_allclose(preset().fit(X, qid=qid, **how).coef_, by_grades.coef_, rtol=1e-3, atol=1e-6)


def test_structrank_takes_pairs_beside_grades(lists: podium.Queries) -> None:
    """Half of the documents lost their grades, but not their pairs: the ranking is learned from both."""
    known = np.where(np.arange(lists.n_documents) % 2 == 0, lists.labels, np.nan)
    pairs = as_pairs(lists.labels, lists.offsets)
    few = Preferences(pairs.winner[::3], pairs.loser[::3])
    ranker = podium.StructRank(epochs=2, restarts=1, random_state=0)
    ranker.fit(lists.features, known, qid=lists.query_of_document, preferences=few)
    rng = np.random.default_rng(1)
    by_chance = [
        podium.evaluate(lists, rng.normal(size=lists.n_documents), metrics=["ndcg@10"]).mean["ndcg@10"]
        for _ in range(20)
    ]
    assert ranker.score(lists) > max(by_chance)
    with pytest.raises(ValueError, match="learns from grades, not from preference pairs"):
        podium.ListNet().fit(lists.features, known, qid=lists.query_of_document, preferences=few)
    with pytest.raises(ValueError, match="leave out y, qid and preferences"):
        ranker.fit(lists, preferences=few)

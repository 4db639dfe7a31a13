"""LambdaRank on lists that were shown: against the plain loss on every session, brute force, and hand arithmetic."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import podium
from podium.data.shown import ShownLists
from podium.losses import LambdaRankLoss
from podium.losses.shown import ShownLambdas
from podium.numerics import pool

QUERIES = podium.make_queries(n_queries=10, n_documents=8, n_features=3)
CLICKS = podium.clicks.simulate(QUERIES, QUERIES.labels, top=5, sessions=1_500, shuffle=1.0, exponent=0.5)
LISTS = ShownLists.of(CLICKS, "a test")
N = CLICKS.queries.n_documents
SCORES = np.random.default_rng(0).normal(size=N)


def bound(debias: str, lists: ShownLists = LISTS, clicks: podium.Clicks = CLICKS, **options: Any) -> Any:
    loss = ShownLambdas.on(lists, LambdaRankLoss(**options, debias=debias))
    return loss.bind(np.zeros(clicks.queries.n_documents), clicks.queries.offsets)


@pytest.mark.parametrize("debias", ["pairwise", "additive"])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"metric": "map", "sigma": 1.3},
        {"metric": "err", "normalize": False},
        {"metric": "ndcg@2", "truncation": None},
        {"truncation": 2, "truncated_ideal": True},
        {"metric": "map@3", "truncation": 1, "normalize": False},
    ],
    ids=repr,
)
def test_without_a_bias_it_is_the_plain_loss_of_every_session(debias: str, options: dict[str, Any]) -> None:
    order = np.lexsort((CLICKS.position, CLICKS.session))
    sizes = np.bincount(CLICKS.session)
    offsets = np.concatenate(([0], np.cumsum(sizes)))
    clicked = np.bincount(CLICKS.session, CLICKS.clicks)
    telling = (clicked > 0) & (clicked < sizes)
    query = CLICKS.query[order][offsets[:-1]]
    # A query's loss is the mean over its sessions that compare anything.
    weights = telling / np.bincount(query[telling], minlength=10)[query] / 10
    plain = LambdaRankLoss(**options).bind(CLICKS.clicks[order], offsets).weighted(weights)
    expected = plain.value_and_gradient(SCORES[CLICKS.row[order]], curvature=True)
    found = bound(debias, **options).value_and_gradient(SCORES, curvature=True)
    assert found.value == pytest.approx(expected.value, rel=1e-12)
    rows = CLICKS.row[order]
    np.testing.assert_allclose(found.d_scores, np.bincount(rows, expected.d_scores, N), atol=1e-13)
    np.testing.assert_allclose(found.d2_scores, np.bincount(rows, expected.d2_scores, N), atol=1e-13)


def by_hand(debias: str, parameters: np.ndarray, penalty: float = 0.0) -> tuple[float, np.ndarray, np.ndarray]:
    """Return value and derivatives of NDCG's pairs, session by session, without normalization."""
    d_scores, own = np.zeros(N), np.zeros(10)
    value, first, second = 0.0, parameters[:5], parameters[5:]
    telling = [s for s in range(CLICKS.session.max() + 1) if 0 < CLICKS.clicks[CLICKS.session == s].sum() < 5]
    counts = np.bincount([CLICKS.query[CLICKS.session == s][0] for s in telling], minlength=10)
    for session in telling:
        here = np.flatnonzero(CLICKS.session == session)
        rows, places, clicked = CLICKS.row[here], CLICKS.position[here] - 1, CLICKS.clicks[here] > 0
        weight = 1 / counts[CLICKS.query[here[0]]] / 10
        s = SCORES[rows] + (first[places] if debias == "additive" else 0.0)
        ranks = (s[:, None] < s).sum(axis=1)
        discounts = 1 / np.log2(2 + ranks)
        ideal = sum(1 / math.log2(2 + r) for r in range(int(clicked.sum())))
        if debias == "additive":
            own[places] += weight * penalty * first[places]
            own[5 + places] += weight * penalty
        for i in np.flatnonzero(clicked):
            for j in np.flatnonzero(~clicked):
                delta = weight * abs(discounts[i] - discounts[j]) / ideal
                lost = delta * math.log1p(math.exp(s[j] - s[i]))
                wrong = 1 / (1 + math.exp(s[i] - s[j]))
                if debias == "pairwise":
                    own[places[i]] += lost / second[places[j]]
                    own[5 + places[j]] += lost / first[places[i]]
                    lost, delta = (x / first[places[i]] / second[places[j]] for x in (lost, delta))
                else:
                    own[places[i]] -= delta * wrong
                    own[places[j]] += delta * wrong
                    own[5 + places[[i, j]]] += delta * wrong * (1 - wrong)
                value += lost
                d_scores[rows[i]] -= delta * wrong
                d_scores[rows[j]] += delta * wrong
    return value, d_scores, own


@pytest.mark.parametrize(("debias", "penalty"), [("pairwise", 0.0), ("additive", 0.0), ("additive", 0.7)])
def test_with_a_bias_it_is_brute_force_over_sessions(debias: str, penalty: float) -> None:
    parameters = np.random.default_rng(1).uniform(0.3, 2.0, 10)
    options = {"normalize": False, "truncation": None, "debias_penalty": penalty}
    found = bound(debias, **options).value_and_gradient(SCORES, parameters=parameters)
    value, d_scores, own = by_hand(debias, parameters, penalty)
    assert found.value == pytest.approx(value, rel=1e-12)
    np.testing.assert_allclose(found.d_scores, d_scores, atol=1e-13)
    np.testing.assert_allclose(found.d_parameters, own, rtol=1e-10)


def test_factors_divide_what_is_normalized() -> None:
    """The normalization is that of the plain loss, or a list that counts more would be made to count the same."""
    loss, equal = bound("pairwise"), np.concatenate((np.full(5, 0.25), np.full(5, 2.0)))
    plain = loss.value_and_gradient(SCORES, parameters=np.ones(10), curvature=True)
    found = loss.value_and_gradient(SCORES, parameters=equal, curvature=True)
    assert found.value == pytest.approx(plain.value / 0.5)
    np.testing.assert_allclose(found.d_scores, plain.d_scores / 0.5, rtol=1e-10, atol=1e-15)
    np.testing.assert_allclose(found.d2_scores, plain.d2_scores / 0.5, rtol=1e-10, atol=1e-15)
    # The losses by places do not include it.
    bare = bound("pairwise", normalize=False).value_and_gradient(SCORES, parameters=equal)
    np.testing.assert_allclose(found.d_parameters, bare.d_parameters)


def tiny() -> tuple[podium.Clicks, ShownLists]:
    """Two sessions that show x and y: x is clicked at place 1, then y at place 1, x at 2 being left."""
    clicks = podium.Clicks(
        None, [1, 0, 1, 0], qid=[0] * 4, document=list("xyyx"), position=[1, 2, 1, 2], session=[0, 0, 1, 1]
    )
    return clicks, ShownLists.of(clicks, "a test")


def test_factors_of_places_by_hand() -> None:
    clicks, lists = tiny()
    third = podium.Clicks(
        None, [1, 0, 1, 0, 0, 1], qid=[0] * 6, document=list("xyyxxy"), position=[1, 2, 1, 2, 1, 2],
        session=[0, 0, 1, 1, 2, 2],
    )  # fmt: skip
    lists = ShownLists.of(third, "a test")
    loss = ShownLambdas.on(lists, LambdaRankLoss(normalize=False, debias="pairwise", debias_penalty=1.0))
    at = loss.bind(np.zeros(2), [0, 2])
    # x leads y by 1. The pairs: x clicked at 1, y left at 2; y at 1, x at 2; y at 2, x at 1, each of weight Δ.
    delta = 1 - 1 / math.log2(3)
    right, wrong = delta * math.log1p(math.exp(-1)), delta * math.log1p(math.exp(1))
    found = at.value_and_gradient([1.0, 0.0], parameters=[1.0, 0.5, 1.0, 2.0])
    plus = np.array([(right + wrong) / 2, wrong / 1])  # divided by t⁻ of the other place
    minus = np.array([wrong / 0.5, (right + wrong) / 1])  # by t⁺ of the place of the click
    np.testing.assert_allclose(found.d_parameters, np.concatenate((plus, minus)) / 3, rtol=1e-12)
    assert found.value == pytest.approx(((right + wrong) / (1 * 2) + wrong / (0.5 * 1)) / 3)
    renewed = loss.renewed(np.array([1.0, 0.5, 1.0, 2.0]), found.d_parameters)
    np.testing.assert_allclose(renewed, np.sqrt([1, plus[1] / plus[0], 1, minus[1] / minus[0]]))
    # Where no pair has the first place, nothing can be compared with it.
    np.testing.assert_array_equal(loss.renewed(np.ones(4), np.array([0.0, 1.0, 1.0, 1.0])), np.ones(4))
    # A place without a pair keeps its factors, and none is below .01.
    renewed = loss.renewed(np.array([1.0, 0.5, 1.0, 0.3]), np.array([1.0, 0.0, 1e6, 0.01]))
    assert renewed.tolist() == [1, 0.5, 1, 0.01]
    assert clicks.queries.n_documents == 2


def test_newton_steps_of_places_by_hand() -> None:
    _, lists = tiny()
    loss = ShownLambdas.on(lists, LambdaRankLoss(normalize=False, debias="additive", debias_penalty=0.25), rate=0.5)
    at = loss.bind(np.zeros(2), [0, 2])
    b = np.array([0.2, -0.1, 0.0, 0.0])
    found = at.value_and_gradient([0.0, 0.0], parameters=b)
    # In both sessions the document clicked at place 1 leads by .3, and Δ is 1 − 1/log2 3; the mean is over sessions.
    delta, wrong = 1 - 1 / math.log2(3), 1 / (1 + math.exp(0.3))
    slope, bend = delta * wrong, delta * wrong * (1 - wrong)
    expected = [-slope + 0.25 * 0.2, slope - 0.25 * 0.1, bend + 0.25, bend + 0.25]
    np.testing.assert_allclose(found.d_parameters, expected, rtol=1e-12)
    renewed = loss.renewed(b, found.d_parameters)
    np.testing.assert_allclose(renewed[:2], b[:2] - 0.5 * np.array(expected[:2]) / expected[2:])
    assert renewed[2:].tolist() == [0, 0]


def test_equal_scores_are_ranked_anew_for_each_tree_by_no_row_order() -> None:
    """One click at place 1 of three, all scores equal: over many epochs, both others get the same gradient."""
    clicks = podium.Clicks(None, [1, 0, 0], qid=[0] * 3, document=list("xyz"), position=[1, 2, 3], session=[0] * 3)
    loss = bound("pairwise", ShownLists.of(clicks, "a test"), clicks, normalize=False)
    found = []
    for epoch in range(300):
        loss.start_epoch(epoch)
        found.append(loss.value_and_gradient(np.zeros(3)).d_scores)
    assert len(np.unique(found, axis=0)) == 6  # all orders occur
    mean = np.mean(found, axis=0)
    assert mean[1] == pytest.approx(mean[2], rel=0.1)


def test_queries_without_lists_are_zero_and_others_are_refused() -> None:
    more = podium.losses.LambdaRankLoss(debias="pairwise")
    offsets = np.append(CLICKS.queries.offsets, N + 2)
    result = ShownLambdas.on(LISTS, more).bind(np.zeros(N + 2), offsets).value_and_gradient(np.append(SCORES, [1, 0]))
    assert result.d_scores[-2:].tolist() == [0, 0]
    with pytest.raises(ValueError, match="not the queries that the lists were shown for"):
        ShownLambdas.on(LISTS, more).bind([0.0, 0.0], [0, 2])
    with pytest.raises(ValueError, match=r"debias='pairwise' learns .* ranker\.fit\(clicks\)"):
        more.bind([1, 0], [0, 2])


def test_some_queries_and_any_number_of_threads_give_the_same_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    loss = bound("pairwise", truncated_ideal=True)
    parameters = np.random.default_rng(1).uniform(0.3, 2.0, 10)
    whole = loss.value_and_gradient(SCORES, parameters=parameters, curvature=True)
    some = loss.value_and_gradient(SCORES, parameters=parameters, curvature=True, queries=np.array([1, 4]))
    offsets = CLICKS.queries.offsets
    for q in range(10):
        here = slice(offsets[q], offsets[q + 1])
        np.testing.assert_array_equal(some.d_scores[here], whole.d_scores[here] * (q in (1, 4)))
    monkeypatch.setattr(pool, "LITTLE_WORK", 0)
    for n_threads in (1, 3):
        monkeypatch.setattr(pool, "_available", lambda n=n_threads: n)
        again = loss.value_and_gradient(SCORES, parameters=parameters, curvature=True)
        assert again.value == whole.value
        np.testing.assert_array_equal(again.d_scores, whole.d_scores)
        np.testing.assert_array_equal(again.d_parameters, whole.d_parameters)

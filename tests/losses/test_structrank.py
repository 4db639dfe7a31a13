"""StructRank: the network's terms written out, edge by edge."""

from __future__ import annotations

import numpy as np
import pytest

from podium import Preferences
from podium.losses import ListMLELoss, RankNetLoss, StructRankLoss


def edges(labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return np.nonzero(labels[:, None] > labels[None, :])


def by_hand(
    scores: np.ndarray, winner: np.ndarray, loser: np.ndarray, weight: np.ndarray, w: tuple[float, float]
) -> tuple[float, np.ndarray, np.ndarray]:
    """Value, gradient and derivatives of w of the fully connected network, from the full matrix of its terms."""
    r = scores[winner] - scores[loser]
    a, b = -w[0] * r[:, None], -w[1] * r[None, :]
    log_total = np.logaddexp(np.logaddexp(a, b), 0)
    both = weight[:, None] * weight[None, :]
    np.fill_diagonal(both, 0)
    both = both / both.sum()
    of_a, of_b = both * np.exp(a - log_total), both * np.exp(b - log_total)
    slope = -w[0] * of_a.sum(1) - w[1] * of_b.sum(0)
    gradient = np.zeros(len(scores))
    np.add.at(gradient, winner, slope)
    np.add.at(gradient, loser, -slope)
    d_w = np.array([-(of_a.sum(1) * r).sum(), -(of_b.sum(0) * r).sum()])
    return float((both * log_total).sum()), gradient, d_w


@pytest.mark.parametrize("w", [(1.0, 1.0), (0.3, 2.0)])
@pytest.mark.parametrize("span", [0.5, 5.0, 60.0])
@pytest.mark.parametrize("n", [5, 12, 60])  # edges themselves, then grids
def test_full_keeps_its_tolerance_up_to_a_range_of_60(n: int, span: float, w: tuple[float, float]) -> None:
    rng = np.random.default_rng(n)
    labels = rng.integers(0, 3, n)
    scores = rng.uniform(0, span, n)
    winner, loser = edges(labels)
    value, gradient, d_w = by_hand(scores, winner, loser, np.ones(len(winner)), w)
    v = StructRankLoss().value_and_gradient(scores, labels, [0, n], parameters=w)
    assert v.value == pytest.approx(value, rel=1e-6)
    np.testing.assert_allclose(v.d_scores, gradient, atol=1e-6 * np.abs(gradient).max())
    # Derivatives of w are margins, weighted; they nearly cancel where margins of both signs do.
    np.testing.assert_allclose(v.d_parameters, d_w, atol=1e-6 * np.abs(scores[winner] - scores[loser]).mean())


@pytest.mark.parametrize("n_pairs", [6, 400])
def test_full_on_given_preferences_with_weights_and_cycles(n_pairs: int) -> None:
    rng = np.random.default_rng(1)
    n = 25
    winner = rng.integers(0, n, n_pairs)
    loser = (winner + rng.integers(1, n, n_pairs)) % n
    given = Preferences(winner, loser, rng.uniform(0.5, 2, n_pairs))
    scores = rng.standard_normal(n)
    value, gradient, d_w = by_hand(scores, given.winner, given.loser, given.weight, (1.2, 0.8))
    v = StructRankLoss().value_and_gradient(scores, given, [0, n], parameters=[1.2, 0.8])
    assert v.value == pytest.approx(value, rel=1e-6)
    np.testing.assert_allclose(v.d_scores, gradient, atol=1e-6 * np.abs(gradient).max())
    np.testing.assert_allclose(v.d_parameters, d_w, atol=1e-6)


@pytest.mark.parametrize("topology", ["full", "none", "random"])
def test_preferences_that_say_what_grades_say_give_the_same(topology: str) -> None:
    rng = np.random.default_rng(2)
    labels, scores, offsets = rng.integers(0, 3, 20), rng.standard_normal(20), np.array([0, 8, 9, 20])
    loss = StructRankLoss(topology)
    from_grades = loss.value_and_gradient(scores, labels, offsets)
    query = np.searchsorted(offsets, np.arange(20), side="right")
    better, worse = np.nonzero((labels[:, None] > labels) & (query[:, None] == query))
    from_pairs = loss.value_and_gradient(scores, Preferences(better, worse), offsets)
    # `random` numbers the edges of the two in another order and so draws other pairs of them.
    tolerance = 0.05 if topology == "random" else 1e-6
    assert from_pairs.value == pytest.approx(from_grades.value, rel=tolerance)


@pytest.mark.parametrize("n", [9, 300])
def test_none_is_ranknet(n: int) -> None:
    rng = np.random.default_rng(3)
    labels, scores = rng.integers(0, 4, n), rng.standard_normal(n)
    v = StructRankLoss("none").value_and_gradient(scores, labels, [0, n], parameters=[1.0, 1.0])
    ranknet = RankNetLoss().value_and_gradient(scores, labels, [0, n])
    assert v.value == pytest.approx(ranknet.value, rel=1e-6)
    np.testing.assert_allclose(v.d_scores, ranknet.d_scores, atol=1e-6 * np.abs(ranknet.d_scores).max())
    assert v.d_parameters[1] == 0


def test_the_factor_of_two_edges_from_one_document_is_plackett_luces() -> None:
    # Document 0 over 1 and over 2: the network's function 1/(1 + e^{-r} + e^{-r'}) is the probability that it comes
    # first.
    scores = np.array([0.4, -0.3, 1.1])
    v = StructRankLoss().value_and_gradient(scores, [1, 0, 0], [0, 3], parameters=[1.0, 1.0])
    first = np.exp(scores[0]) / np.exp(scores).sum()
    assert v.value == pytest.approx(-np.log(first))
    rest = ListMLELoss().value_and_gradient(scores[1:], [1, 0], [0, 2]).value
    whole = ListMLELoss().value_and_gradient(scores, [2, 1, 0], [0, 3]).value
    assert v.value + rest == pytest.approx(whole)


def test_random_is_an_average_of_fulls_terms() -> None:
    rng = np.random.default_rng(4)
    labels, scores = rng.integers(0, 3, 15), rng.standard_normal(15)
    full = StructRankLoss().value_and_gradient(scores, labels, [0, 15])
    random = StructRankLoss("random", neighbours=400, draws=5, most_terms=10**9)
    drawn = random.value_and_gradient(scores, labels, [0, 15])
    assert drawn.value == pytest.approx(full.value, rel=5e-3)
    np.testing.assert_allclose(drawn.d_scores, full.d_scores, atol=2e-2 * np.abs(full.d_scores).max())


def test_random_is_seeded_and_drawn_anew_in_each_epoch() -> None:
    rng = np.random.default_rng(5)
    labels, scores = rng.integers(0, 3, 40), rng.standard_normal(40)
    bound = StructRankLoss("random", random_state=1).bind(labels, [0, 40])
    first = bound.value_and_gradient(scores).value
    assert StructRankLoss("random", random_state=1).value_and_gradient(scores, labels, [0, 40]).value == first
    assert StructRankLoss("random", random_state=2).value_and_gradient(scores, labels, [0, 40]).value != first
    bound.start_epoch(1)
    assert bound.value_and_gradient(scores).value != first
    bound.start_epoch(0)
    assert bound.value_and_gradient(scores).value == first


@pytest.mark.parametrize("topology", ["full", "none", "random"])
def test_lists_that_say_nothing(topology: str) -> None:
    loss = StructRankLoss(topology)
    v = loss.value_and_gradient([1.0, 2.0, 3.0, 0.5], [1, 1, 1, 0], [0, 3, 4, 4])  # all tied; one document; empty
    assert v.value == 0
    assert not v.d_scores.any()
    one_edge = loss.value_and_gradient([1.0, 0.0], [1, 0], [0, 2])
    # One edge has no other to be connected to.
    assert one_edge.value == (pytest.approx(np.log1p(np.exp(-1.0))) if topology == "none" else 0)


def test_long_lists_and_wide_scores_stay_finite() -> None:
    rng = np.random.default_rng(6)
    n = 5000
    labels, scores = rng.integers(0, 5, n), rng.uniform(-50, 50, n).astype(np.float32)
    v = StructRankLoss().value_and_gradient(scores, labels, [0, n], parameters=[2.0, 0.5])
    assert np.isfinite(v.value)
    assert np.isfinite(v.d_scores).all()
    assert v.d_scores.sum() == pytest.approx(0, abs=1e-4)


def test_other_losses_refuse_preferences() -> None:
    with pytest.raises(ValueError, match="learns from grades, not from preference pairs"):
        ListMLELoss().value_and_gradient([0.0, 1.0], Preferences([0], [1]), [0, 2])
    with pytest.raises(ValueError, match="topology must be one of"):
        StructRankLoss("complete").value_and_gradient([0.0, 1.0], [0, 1], [0, 2])


@pytest.mark.parametrize("span", [1e3, 1e6, 1e18])
def test_full_on_wide_scores(span: float) -> None:
    rng = np.random.default_rng(3)
    labels, scores = rng.integers(0, 3, 20), span * rng.normal(size=20)
    result = StructRankLoss().value_and_gradient(scores, labels, [0, 20], parameters=[5.0, 2.0])
    winner, loser = edges(labels)
    value, gradient, d_weights = by_hand(scores, winner, loser, np.ones(len(winner)), (5.0, 2.0))
    assert result.value == pytest.approx(value, rel=1e-12)
    np.testing.assert_allclose(result.d_scores, gradient, rtol=1e-9, atol=1e-12 * np.abs(gradient).max())
    np.testing.assert_allclose(result.d_parameters, d_weights, rtol=1e-9)

"""Ordered partitions with the geometric potential, by samplers, and with a potential of one's own."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest
from numba import njit

from podium.losses import DavidsonLoss, PMOPLoss


def geometric_by_enumeration(scores: np.ndarray, labels: np.ndarray) -> float:
    value = 0.0
    for grade in sorted(set(labels), reverse=True):
        remaining = np.flatnonzero(labels <= grade)
        subsets = (c for m in range(1, len(remaining) + 1) for c in combinations(remaining, m))
        value += np.log(sum(np.exp(scores[list(c)].mean()) for c in subsets)) - scores[labels == grade].mean()
    return value


@pytest.mark.parametrize("n", [1, 2, 5, 12])
@pytest.mark.parametrize("scale", [0.3, 3.0])
def test_geometric_against_enumeration(n: int, scale: float) -> None:
    rng = np.random.default_rng(n)
    scores, labels = rng.standard_normal(n) * scale, rng.integers(0, 3, n)
    v = PMOPLoss("geometric").value_and_gradient(scores, labels, [0, n])
    assert v.value == pytest.approx(geometric_by_enumeration(scores, labels))


@pytest.mark.parametrize("potential", ["arithmetic", "geometric"])
@pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
def test_probabilities_of_all_ordered_partitions_add_up(potential: str, n: int) -> None:
    scores = np.random.default_rng(7).standard_normal(n) * 2
    partitions = [p for p in product(range(n), repeat=n) if set(p) == set(range(max(p) + 1))]
    assert len(partitions) == [1, 3, 13, 75, 541][n - 1]  # Fubini's numbers
    loss = PMOPLoss(potential)
    total = sum(np.exp(-loss.value_and_gradient(scores, p, [0, n]).value) for p in partitions)
    assert total == pytest.approx(1)


def test_two_documents_are_davidsons_model() -> None:
    for labels in ([1, 0], [0, 1], [1, 1]):
        pmop = PMOPLoss("geometric").value_and_gradient([0.4, -1.1], labels, [0, 2])
        davidson = DavidsonLoss().value_and_gradient([0.4, -1.1], labels, [0, 2], parameters=[0.0])
        assert pmop.value == pytest.approx(davidson.value)
        np.testing.assert_allclose(pmop.d_scores, davidson.d_scores)


@pytest.mark.parametrize("scale", [1.0, 300.0, 1000.0])
def test_geometric_is_stable_for_wide_scores(scale: float) -> None:
    rng = np.random.default_rng(3)
    scores, labels = rng.uniform(-scale, scale, 60), rng.integers(0, 3, 60)
    v = PMOPLoss("geometric").value_and_gradient(scores, labels, [0, 60])
    direction = rng.standard_normal(60)
    step = 1e-4
    up, down = (
        PMOPLoss("geometric").value_and_gradient(scores + e * direction, labels, [0, 60]) for e in (step, -step)
    )
    assert v.d_scores @ direction == pytest.approx((up.value - down.value) / (2 * step), rel=1e-5)


@pytest.mark.parametrize("potential", ["arithmetic", "geometric"])
@pytest.mark.parametrize(("method", "steps"), [("gibbs", 6), ("mh", 60)])
def test_samplers_agree_with_the_exact_gradient_on_average(potential: str, method: str, steps: int) -> None:
    # Chains long enough to forget their start estimate the exact gradient without bias.
    rng = np.random.default_rng(4)
    scores, labels = rng.standard_normal(6), np.array([2, 0, 1, 0, 2, 0])
    exact = PMOPLoss(potential).value_and_gradient(scores, labels, [0, 6]).d_scores
    repeats, epochs = 400, 10  # copies of the query are independent chains
    loss = PMOPLoss(potential, method, steps=steps, average=False)
    bound = loss.bind(np.tile(labels, repeats), np.arange(0, 6 * repeats + 1, 6))
    draws = []
    for epoch in range(epochs):
        bound.start_epoch(epoch)
        draws.append(bound.value_and_gradient(np.tile(scores, repeats)).d_scores.reshape(repeats, 6) * repeats)
    draws = np.concatenate(draws)
    standard_error = draws.std(axis=0) / np.sqrt(len(draws))
    assert (np.abs(draws.mean(axis=0) - exact) < 4.5 * standard_error + 1e-12).all()


@pytest.mark.parametrize("method", ["gibbs", "mh"])
def test_contrastive_divergence_averages_over_the_states_of_a_chain(method: str) -> None:
    """One stage has one chain, and chains of 1, 2 and 3 steps with one seed are the beginnings of one another."""
    scores = np.random.default_rng(8).standard_normal(9)
    last = [
        PMOPLoss("geometric", method, steps, average=False).value_and_gradient(scores, np.zeros(9), [0, 9])
        for steps in (1, 2, 3)
    ]
    mean = PMOPLoss("geometric", method, 3).value_and_gradient(scores, np.zeros(9), [0, 9])
    assert not np.allclose(last[0].d_scores, last[2].d_scores)
    np.testing.assert_allclose(mean.d_scores, np.mean([v.d_scores for v in last], axis=0), atol=1e-14)
    assert mean.value == pytest.approx(np.mean([v.value for v in last]))


@pytest.mark.parametrize("potential", ["arithmetic", "geometric"])
def test_backward_eliminates_the_worst_first(potential: str) -> None:
    """Enumeration: stage by stage, over all subsets of what is not eliminated yet."""
    scores, labels = np.array([0.3, -1.2, 0.8, 0.1, -0.4]), np.array([2, 0, 1, 1, 0])
    mean = (lambda s: np.exp(-s).mean()) if potential == "arithmetic" else (lambda s: np.exp(-s.mean()))
    expected = 0.0
    for grade in sorted(set(labels)):
        left = np.flatnonzero(labels >= grade)
        subsets = [list(c) for m in range(1, len(left) + 1) for c in combinations(left, m)]
        expected += np.log(sum(mean(scores[c]) for c in subsets)) - np.log(mean(scores[labels == grade]))
    loss = PMOPLoss(potential, factorization="backward")
    found = loss.value_and_gradient(scores, labels, [0, 5])
    assert found.value == pytest.approx(expected)
    assert found.value != pytest.approx(PMOPLoss(potential).value_and_gradient(scores, labels, [0, 5]).value)
    for i, step in enumerate(1e-6 * np.eye(5)):
        up, down = (loss.value_and_gradient(scores + d, labels, [0, 5]).value for d in (step, -step))
        assert found.d_scores[i] == pytest.approx((up - down) / 2e-6, abs=1e-7)
    partitions = [p for p in product(range(4), repeat=4) if set(p) == set(range(max(p) + 1))]
    assert sum(np.exp(-loss.value_and_gradient(scores[:4], p, [0, 4]).value) for p in partitions) == pytest.approx(1)


def test_short_chains_from_the_data_are_seeded() -> None:
    rng = np.random.default_rng(5)
    scores, labels = rng.standard_normal(20), rng.integers(0, 3, 20)
    one, again, other = (
        PMOPLoss("geometric", "gibbs", random_state=seed).value_and_gradient(scores, labels, [0, 20]).d_scores
        for seed in (1, 1, 2)
    )
    assert np.array_equal(one, again)
    assert not np.array_equal(one, other)


@njit
def geometric_again(scores, members, slope):
    total, size = 0.0, 0
    for i in range(len(scores)):
        if members[i]:
            total += scores[i]
            size += 1
    for i in range(len(scores)):
        slope[i] = 1.0 / size
    return total / size


@pytest.mark.parametrize("method", ["gibbs", "mh"])
def test_a_potential_of_ones_own(method: str) -> None:
    # The geometric potential written by a user draws the same chains as the built-in one.
    rng = np.random.default_rng(6)
    scores, labels = rng.standard_normal(15), rng.integers(0, 3, 15)
    mine = PMOPLoss(geometric_again, method, steps=2).value_and_gradient(scores, labels, [0, 15])
    built_in = PMOPLoss("geometric", method, steps=2).value_and_gradient(scores, labels, [0, 15])
    assert mine.value == pytest.approx(built_in.value)
    np.testing.assert_allclose(mine.d_scores, built_in.d_scores, atol=1e-12)


def test_refusals_say_what_to_do() -> None:
    with pytest.raises(ValueError, match="lists of up to 1000"):
        PMOPLoss("geometric").bind(np.zeros(1001), [0, 1001])
    with pytest.raises(ValueError, match=r"use method=.gibbs. or .mh."):
        PMOPLoss(geometric_again).bind([0.0], [0, 1])
    with pytest.raises(ValueError, match=r"decorate it with numba\.njit"):
        PMOPLoss(lambda scores, members, slope: 0.0, "gibbs").bind([0.0], [0, 1])
    with pytest.raises(ValueError, match="potential must be one of"):
        PMOPLoss("harmonic").bind([0.0], [0, 1])
    with pytest.raises(ValueError, match="steps must be a whole number"):
        PMOPLoss("geometric", "gibbs", steps=0).bind([0.0], [0, 1])

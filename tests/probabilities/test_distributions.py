"""Every distribution over rankings against the enumeration of all rankings, or of all ordered partitions."""

from __future__ import annotations

from collections.abc import Callable
from itertools import permutations, product

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from podium.losses import PMOPLoss
from podium.metrics import metric
from podium.numerics.ranks.energy import PAIR_WEIGHTS
from podium.probabilities.arriving import GaussianScores, PlackettLuce
from podium.probabilities.base import ListProbabilities
from podium.probabilities.boltzmann import BoltzmannChains, BoltzmannRankings
from podium.probabilities.partitions import ArithmeticPartitions, GeometricPartitions

SCORES = np.array([0.4, -1.3, 1.1, 0.4, 2.0])
Enumeration = dict[tuple[int, ...], float]
"""The probability of each ranking, given as the group of each document."""


def plackett_luce(scores: np.ndarray) -> Enumeration:
    found = {}
    for order in permutations(range(len(scores))):
        e = np.exp(scores[list(order)])
        found[tuple(np.argsort(order))] = float(np.prod(e / np.cumsum(e[::-1])[::-1]))
    return found


def partitions(potential: str) -> Callable[[np.ndarray], Enumeration]:
    def enumerate_all(scores: np.ndarray) -> Enumeration:
        n = len(scores)
        groups = [p for p in product(range(n), repeat=n) if set(p) == set(range(max(p) + 1))]
        labels = [n - np.array(p) for p in groups]
        values = PMOPLoss(potential).bind(np.concatenate(labels), np.arange(len(groups) + 1) * n)
        return dict(zip(groups, np.exp(-values.per_query(np.tile(scores, len(groups)))).tolist(), strict=True))

    return enumerate_all


def boltzmann(g: str) -> Callable[[np.ndarray], Enumeration]:
    def enumerate_all(scores: np.ndarray) -> Enumeration:
        """The energy as the paper prints it: a sum over pairs."""
        m, weights = len(scores), {}
        for places in permutations(range(m)):
            pairs = [(j, k) for j in range(m) for k in range(m) if places[j] > places[k]]
            of_pair = [PAIR_WEIGHTS[g](np.array([float(places[j] - places[k])]), m)[0] for j, k in pairs]
            energy = sum(w * (scores[j] - scores[k]) for w, (j, k) in zip(of_pair, pairs, strict=True))
            weights[places] = np.exp(-2.0 / max(m * (m - 1), 1) * energy)
        return {places: w / sum(weights.values()) for places, w in weights.items()}

    return enumerate_all


EXACT = {
    "Plackett-Luce": (lambda s: PlackettLuce(s, 0), plackett_luce),
    "arithmetic": (lambda s: ArithmeticPartitions(s, 0), partitions("arithmetic")),
    "Boltzmann": (lambda s: BoltzmannRankings(s, 0, PAIR_WEIGHTS["linear"]), boltzmann("linear")),
    "Boltzmann, logistic": (lambda s: BoltzmannRankings(s, 0, PAIR_WEIGHTS["logistic"]), boltzmann("logistic")),
}
DRAWN = {
    "geometric": (lambda s: GeometricPartitions(s, 0), partitions("geometric")),
    "chains": (lambda s: BoltzmannChains(s, 0, PAIR_WEIGHTS["linear"]), boltzmann("linear")),
}


def require_answers(p: ListProbabilities, expected: Enumeration, tolerance: float) -> None:
    n = p.n
    above, tied, ranks, top = np.zeros((n, n)), np.zeros((n, n)), np.zeros((n, n)), np.zeros((n, n))
    for groups, probability in expected.items():
        g = np.array(groups)
        above += probability * (g[:, None] < g)
        tied += probability * (g[:, None] == g)
        ahead = (g[:, None] > g).sum(axis=1)
        ranks[np.arange(n), ahead] += probability
        for k in range(1, n + 1):
            top[k - 1] += probability * np.clip((k - ahead) / (g[:, None] == g).sum(axis=1), 0, 1)
    close = {"rtol": 0, "atol": tolerance}
    np.testing.assert_allclose([[p.above(i, j) for j in range(n)] for i in range(n)], above, **close)
    np.testing.assert_allclose([[p.tied(i, j) for j in range(n)] for i in range(n)], tied, **close)
    np.testing.assert_allclose(p.rank_distribution, ranks, **close)
    np.testing.assert_allclose(p.rank_distribution.sum(axis=1), 1, atol=1e-10)
    for k in range(1, n + 1):
        np.testing.assert_allclose(p.in_top(k), top[k - 1], **close)
        assert p.in_top(k).sum() == pytest.approx(k)
    best = max(expected, key=lambda groups: round(expected[groups], 12))
    assert expected[tuple(p.most_probable)] == pytest.approx(expected[best], rel=1e-9)
    drawn = p.draw(5000)
    for groups in list(expected)[::7]:
        share = (drawn == groups).all(axis=1).mean()
        assert abs(share - expected[groups]) < 0.03


@pytest.mark.parametrize("name", EXACT)
@pytest.mark.parametrize("scale", [0.0, 1.0, 4.0])
def test_exact_answers_are_those_of_an_enumeration(name: str, scale: float) -> None:
    make, enumerate_all = EXACT[name]
    p = make(scale * SCORES)
    require_answers(p, enumerate_all(scale * SCORES), 1e-9)
    assert p.standard_error == 0


@pytest.mark.parametrize("name", DRAWN)
def test_drawn_answers_are_within_their_error(name: str) -> None:
    make, enumerate_all = DRAWN[name]
    p = make(SCORES)
    assert 0 < p.standard_error < 0.02
    require_answers(p, enumerate_all(SCORES), 4.5 * p.standard_error)


@pytest.mark.parametrize("name", [*EXACT, "geometric"])
@pytest.mark.parametrize("n", [1, 2])
def test_short_lists(name: str, n: int) -> None:
    make, enumerate_all = {**EXACT, **DRAWN}[name]
    require_answers(make(SCORES[:n]), enumerate_all(SCORES[:n]), 0.025 if name == "geometric" else 1e-9)


def test_gaussian_scores_are_those_of_a_multivariate_normal() -> None:
    s, sigma = np.array([0.3, -0.2, 0.9]), 0.7
    p = GaussianScores(s, 0, sigma)
    for d, others in ((0, [1, 2]), (1, [0, 2]), (2, [0, 1])):
        # Differences to the others: means s_d − s_o, variance 2σ², covariance σ².
        first = multivariate_normal.cdf(s[d] - s[others], cov=sigma**2 * (np.eye(2) + 1))
        last = multivariate_normal.cdf(s[others] - s[d], cov=sigma**2 * (np.eye(2) + 1))
        np.testing.assert_allclose(p.rank_distribution[d], [first, 1 - first - last, last], atol=1e-4)
    assert p.above(0, 1) == pytest.approx(multivariate_normal.cdf(0.5, cov=2 * sigma**2))
    np.testing.assert_allclose(p.rank_distribution.sum(axis=0), 1)
    assert p.most_probable.tolist() == [1, 2, 0]
    assert (p.draw(4000).argmin(axis=1) == 2).mean() == pytest.approx(p.rank_distribution[2, 0], abs=0.03)


@pytest.mark.parametrize("n", [40, 120])
def test_ranks_of_longer_lists_are_taken_once(n: int) -> None:
    """Columns, too, add up to 1 where there are no ties: somebody has each rank. Scores reach over e^±20."""
    scores = 6.0 * np.random.default_rng(n).standard_normal(n)
    for p in (PlackettLuce(scores, 0), GaussianScores(scores, 0, 1.0)):
        np.testing.assert_allclose(p.rank_distribution.sum(axis=0), 1, atol=1e-9)
        below = np.array([p.above(j, 3) for j in range(n) if j != 3]).sum()
        assert p.rank_distribution[3] @ np.arange(n) == pytest.approx(below)  # the expected rank, by linearity


def test_arithmetic_partitions_of_a_longer_list_agree_with_draws() -> None:
    scores = np.random.default_rng(1).standard_normal(30)
    p = ArithmeticPartitions(scores, 0)
    drawn = p.draw(20_000)
    ahead = (drawn[:, :, None] > drawn[:, None, :]).sum(axis=2)
    expected = np.array([(ahead == r).mean(axis=0) for r in range(30)]).T
    np.testing.assert_allclose(p.rank_distribution, expected, atol=4.5 / (2 * np.sqrt(20_000)))
    assert p.above(0, 1) == pytest.approx((drawn[:, 0] < drawn[:, 1]).mean(), abs=0.016)
    assert p.above(0, 1) + p.above(1, 0) + p.tied(0, 1) == pytest.approx(1)


def test_the_expected_metric_is_a_mean_over_rankings() -> None:
    labels = np.array([1.0, 0.0, 2.0, 0.0, 1.0])
    measure = metric("ndcg@3")
    everything = plackett_luce(SCORES)
    values = [measure.per_query(-np.array(g, float), labels, np.array([0, 5]))[0] for g in everything]
    mean = float(np.dot(values, list(everything.values())))
    deviation = float(np.sqrt(np.dot((np.array(values) - mean) ** 2, list(everything.values()))))
    found = PlackettLuce(SCORES, 0).expected("ndcg@3", labels)
    assert abs(found.mean - mean) < 4 * found.standard_error
    assert found.deviation == pytest.approx(deviation, rel=0.05)
    with pytest.raises(ValueError, match="one per document"):
        PlackettLuce(SCORES, 0).expected("map", labels[:2])

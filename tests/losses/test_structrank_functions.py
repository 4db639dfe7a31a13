"""Networks of Gaussian and of several functions: SciPy's distribution, sums over all pairs of edges, known networks."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy.special import log_ndtr
from scipy.stats import multivariate_normal

from podium import Preferences
from podium.losses import ListMLELoss, ListNetLoss, StructRankLoss
from podium.losses.structrank.gaussian import log_both
from podium.probabilities.preferences import PreferenceNetwork

LABELS = np.array([2.0, 0.0, 1.0, 1.0, 0.0, 2.0])
SCORES = np.array([0.4, -0.9, 1.1, 0.2, 0.3, -0.1])


@pytest.mark.parametrize("correlation", [0.0, 0.5, 0.9])
def test_two_normal_variables_against_scipy(correlation: float) -> None:
    both = multivariate_normal(cov=[[1.0, correlation], [correlation, 1.0]])
    for x, y in product([-3.0, -0.4, 0.0, 1.3, 5.0], repeat=2):
        assert log_both(x, y, correlation) == pytest.approx(np.log(both.cdf([x, y])), rel=1e-6, abs=1e-9)
        assert log_both(x, np.inf, correlation) == pytest.approx(log_ndtr(x), rel=1e-9, abs=1e-9)
    # Where the probability itself is 0 in floating point: independent variables are known.
    assert log_both(-60.0, -50.0, 0.0) == pytest.approx(log_ndtr(-60.0) + log_ndtr(-50.0), rel=1e-9)


def total(scores: np.ndarray, weights: np.ndarray, functions: tuple[str, ...], topology: str) -> float:
    """The loss of all edges, summed, by SciPy's distribution function."""
    network = PreferenceNetwork(scores, 0, topology, weights, functions, 0.5)
    better, worse = np.nonzero(LABELS[:, None] > LABELS)
    return -np.log(network.holds(list(zip(better.tolist(), worse.tolist(), strict=True))))


@pytest.mark.parametrize("topology", ["full", "none"])
@pytest.mark.parametrize("functions", [("gaussian",), ("sigmoid", "gaussian"), ("sigmoid", "sigmoid")])
def test_value_and_derivatives(topology: str, functions: tuple[str, ...]) -> None:
    loss = StructRankLoss(topology, normalize=False, functions=functions, tolerance=1e-9)
    assert loss.n_parameters == 2 * len(functions)
    x = np.concatenate((SCORES, np.linspace(0.6, 1.7, loss.n_parameters)))
    v = loss.value_and_gradient(x[:6], LABELS, [0, 6], parameters=x[6:])
    value = lambda x: total(x[:6], x[6:], functions, topology)  # noqa: E731
    assert v.value == pytest.approx(value(x), rel=1e-8)
    slopes = [(value(x + step) - value(x - step)) / 2e-5 for step in 1e-5 * np.eye(len(x))]
    np.testing.assert_allclose(np.append(v.d_scores, v.d_parameters), slopes, rtol=1e-5, atol=1e-6)


def test_gaussian_on_a_grid_keeps_its_tolerance() -> None:
    rng = np.random.default_rng(1)
    labels, scores, w = rng.integers(0, 3, 24), rng.uniform(0, 6, 24), np.array([0.7, 1.1])
    better, worse = np.nonzero(labels[:, None] > labels)
    n_edges = len(better)
    x, y = (weight * (scores[better] - scores[worse]) for weight in w)
    terms = PreferenceNetwork(scores, 0, "full", w, ("gaussian",))._terms("gaussian", x[:, None], y)
    np.fill_diagonal(terms, 0.0)
    found = StructRankLoss(functions="gaussian").value_and_gradient(scores, labels, [0, 24], parameters=w)
    assert found.value == pytest.approx(terms.sum() / (n_edges * (n_edges - 1)), rel=1e-6)
    # Pairs given one by one, each of them a margin of its own: their grid is another one.
    given = StructRankLoss(functions="gaussian", tolerance=1e-9)
    pairs = given.value_and_gradient(scores, Preferences(better, worse), [0, 24], parameters=w)
    np.testing.assert_allclose(found.d_scores, pairs.d_scores, atol=1e-6 * np.abs(pairs.d_scores).max())
    np.testing.assert_allclose(found.d_parameters, pairs.d_parameters, rtol=1e-5)


def test_gaussian_without_correlation_is_a_product_over_edges() -> None:
    better, worse = np.nonzero(LABELS[:, None] > LABELS)
    margins = SCORES[better] - SCORES[worse]
    loss = StructRankLoss(normalize=False, functions="gaussian", correlation=0.0)
    v = loss.value_and_gradient(SCORES, LABELS, [0, 6], parameters=[0.8, 1.3])
    alone = log_ndtr(0.8 * margins).sum() + log_ndtr(1.3 * margins).sum()
    assert v.value == pytest.approx(-(len(margins) - 1) * alone, rel=1e-8)


def test_equal_functions_average_to_one_of_them_and_random_draws_terms_of_all() -> None:
    one, two = StructRankLoss(), StructRankLoss(functions=["sigmoid", "sigmoid"])
    expected = one.value_and_gradient(SCORES, LABELS, [0, 6], parameters=[0.8, 1.3])
    found = two.value_and_gradient(SCORES, LABELS, [0, 6], parameters=[0.8, 1.3, 0.8, 1.3])
    assert found.value == pytest.approx(expected.value, rel=1e-9)
    np.testing.assert_allclose(found.d_scores, expected.d_scores, rtol=1e-9)
    assert (np.diff(two.initial_parameters()[::2]) > 0).all()  # else they would never part
    drawn = StructRankLoss("random", functions="gaussian", neighbours=300, most_terms=10**6)
    full = StructRankLoss(functions="gaussian")
    values = [loss.value_and_gradient(SCORES, LABELS, [0, 6]) for loss in (drawn, full)]
    assert values[0].value == pytest.approx(values[1].value, rel=0.02)
    np.testing.assert_allclose(values[0].d_scores, values[1].d_scores, atol=0.03)
    pairs = Preferences([], []).with_grades(LABELS, np.array([0, 6]))
    assert full.value_and_gradient(SCORES, pairs, [0, 6]).value == pytest.approx(values[1].value, rel=1e-9)
    with pytest.raises(ValueError, match="functions must be one of"):
        StructRankLoss(functions=["sigmoid", "logit"]).value_and_gradient(SCORES, LABELS, [0, 6])
    with pytest.raises(ValueError, match="functions is empty"):
        StructRankLoss(functions=[]).value_and_gradient(SCORES, LABELS, [0, 6])


def sigmoid(margins: np.ndarray) -> float:
    """The multivariate sigmoid of the paper's section 6.1: a function of any number of preferences."""
    return float(1 / (1 + np.exp(-margins).sum()))


def test_listmle_and_listnet_are_networks_of_multivariate_sigmoids() -> None:
    order = np.array([3, 1, 4, 0, 2, 5])  # who comes first, second, …
    functions = [sigmoid(SCORES[i] - SCORES[order[place + 1 :]]) for place, i in enumerate(order[:-1])]
    labels = np.empty(6)
    labels[order] = np.arange(6)[::-1]
    listmle = ListMLELoss().value_and_gradient(SCORES, labels, [0, 6])
    assert listmle.value == pytest.approx(-np.log(functions).sum())
    first = np.array([sigmoid(SCORES[i] - np.delete(SCORES, i)) for i in range(6)])
    target = np.exp(LABELS) / np.exp(LABELS).sum()
    listnet = ListNetLoss().value_and_gradient(SCORES, LABELS, [0, 6])
    assert listnet.value == pytest.approx(-(target * np.log(first)).sum())


def test_functions_of_the_network_are_distribution_functions() -> None:
    """Section 2: between 0 and 1, 1 where all margins are infinite, and no rectangle has a negative probability."""
    rng = np.random.default_rng(3)
    for _ in range(20):
        low = rng.normal(size=3)
        high = low + rng.exponential(size=3)
        corners = [sigmoid(np.where(choice, high, low)) for choice in product([False, True], repeat=3)]
        signs = [(-1) ** (3 - sum(choice)) for choice in product([False, True], repeat=3)]
        assert 0 < min(corners) < max(corners) < 1
        assert np.dot(signs, corners) > 0
        gaussian = {c: np.exp(log_both(*np.where(c, high[:2], low[:2]), 0.5)) for c in product([0, 1], repeat=2)}
        assert gaussian[1, 1] - gaussian[0, 1] - gaussian[1, 0] + gaussian[0, 0] > 0
    assert sigmoid(np.full(3, np.inf)) == 1


@pytest.mark.parametrize("functions", [("sigmoid",), ("gaussian",), ("sigmoid", "gaussian")])
def test_preferences_that_share_no_function_are_marginally_independent(functions: tuple[str, ...]) -> None:
    edges, weights = [(0, 1), (2, 4), (5, 3)], np.linspace(0.6, 1.7, 2 * len(functions))
    alone = PreferenceNetwork(SCORES, 0, "none", weights, functions)
    joint = alone.holds(edges[:2], network=edges)
    assert joint == pytest.approx(alone.holds(edges[:1]) * alone.holds(edges[1:2]))
    full = PreferenceNetwork(SCORES, 0, "full", weights, functions)
    one, other = (full.holds([edge], network=edges) for edge in edges[:2])
    assert full.holds(edges[:2], network=edges) > one * other * 1.01  # they share a function: positively dependent

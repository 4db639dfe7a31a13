"""Sums over pairs on a grid, against the double loop over documents."""

from __future__ import annotations

import numpy as np
import pytest

from podium.numerics.pairs import graded as gp
from podium.numerics.pairs.grid import gather, grid_under, node_positions, spacing, spread


def groups(labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    order = np.argsort(-labels, kind="stable")
    bounds = np.concatenate(([0], np.flatnonzero(np.diff(labels[order])) + 1, [len(labels)]))
    return order, bounds


def softplus(r: np.ndarray) -> np.ndarray:
    return np.logaddexp(0, -r)


def softplus_slope(r: np.ndarray) -> np.ndarray:
    return -np.exp(-np.logaddexp(0, r))


@pytest.mark.parametrize("tolerance", [1e-3, 1e-6, 1e-9, 1e-12])
@pytest.mark.parametrize("span", [0.0, 1e-3, 1.0, 8.0, 60.0, 300.0])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_logistic_pairs_keep_the_tolerance(span: float, tolerance: float, dtype: type) -> None:
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 4, 80)
    scores = (rng.uniform(-span / 2, span / 2, 80) + 5).astype(dtype)
    order, bounds = groups(labels)
    one, grid = gp.GradedList(scores, order, bounds), grid_under(scores, spacing(tolerance))
    differences = gp.node_differences(grid)

    value = gp.pair_histogram(one, grid) @ softplus(differences)
    gradient = np.zeros(80)
    gp.add_pair_gradient(one, grid, softplus_slope(differences), gradient)

    r = scores[:, None].astype(np.float64) - scores[None].astype(np.float64)
    better = labels[:, None] > labels[None]
    slope = np.where(better, softplus_slope(r), 0)
    expected = slope.sum(1) - slope.sum(0)
    assert value == pytest.approx(np.where(better, softplus(r), 0).sum(), rel=max(tolerance, 1e-13))
    np.testing.assert_allclose(gradient, expected, rtol=0, atol=max(tolerance, 1e-12) * np.abs(expected).max())


def test_tails_keep_a_relative_error() -> None:
    # All pairs far apart: the loss is e^-20 or so, and still right to the tolerance.
    rng = np.random.default_rng(1)
    labels = np.repeat([1, 0], 50)
    scores = rng.uniform(0, 1, 100) + 20 * labels
    order, bounds = groups(labels)
    grid = grid_under(scores, spacing(1e-6))
    value = gp.pair_histogram(gp.GradedList(scores, order, bounds), grid) @ softplus(gp.node_differences(grid))
    assert value == pytest.approx(softplus(scores[:50, None] - scores[None, 50:]).sum(), rel=1e-6)


def test_ties_count_each_pair_once_and_no_document_with_itself() -> None:
    rng = np.random.default_rng(2)
    labels, scores = rng.integers(0, 3, 40), rng.standard_normal(40) * 3
    order, bounds = groups(labels)
    one, grid = gp.GradedList(scores, order, bounds), grid_under(scores, spacing(1e-9))
    d = gp.node_differences(grid)
    value = gp.tie_histogram(one, grid) @ np.log(np.cosh(d / 2))
    gradient = np.zeros(40)
    gp.add_tie_gradient(one, grid, np.tanh(d / 2) / 2, gradient)
    r = scores[:, None] - scores[None]
    tied = (labels[:, None] == labels[None]) & ~np.eye(40, dtype=bool)
    assert value == pytest.approx(np.where(tied, np.log(np.cosh(r / 2)), 0).sum() / 2, rel=1e-9)
    np.testing.assert_allclose(gradient, np.where(tied, np.tanh(r / 2) / 2, 0).sum(1), atol=1e-8)


def test_polynomials_up_to_the_stencil_are_reproduced() -> None:
    scores = np.array([0.0, 0.3, 1.7, 2.0])
    grid = grid_under(scores, 0.25)
    nodes = node_positions(grid)
    for degree in range(12):
        result = np.zeros(4)
        gather(scores, np.arange(4), grid, nodes**degree, 1.0, result)
        np.testing.assert_allclose(result, scores**degree, atol=1e-9)
    counts = np.zeros(grid.n_nodes)
    spread(scores, np.arange(4), grid, counts)
    assert counts.sum() == pytest.approx(4)
    assert counts @ nodes == pytest.approx(scores.sum())


def test_tolerance_is_checked() -> None:
    with pytest.raises(ValueError, match="tolerance must be between"):
        spacing(0.0)

"""Sums of log(1 + e^{y − x}) over two sets of points and over grades: against double loops, and what they cost."""

from __future__ import annotations

import numpy as np
import pytest

from podium.losses.structrank.sums import Slopes, Weights, distinct_pairs_address, graded_full, graded_none
from podium.numerics.pairs.crossing import crossing, new_points
from podium.numerics.pairs.graded import GradedList
from podium.numerics.pairs.graded_crossing import over_grades, over_grades_address
from podium.numerics.pairs.grid import spacing

SPANS = [0.0, 1.0, 30.0, 1e3, 1e9, 1e18]


def sigmoid(t: np.ndarray) -> np.ndarray:
    return np.exp(-np.logaddexp(0.0, -t))


def graded(n: int, n_grades: int, span: float) -> GradedList:
    rng = np.random.default_rng(n)
    labels = rng.permutation(n) % n_grades
    order = np.argsort(-labels, kind="stable")
    bounds = np.concatenate(([0], np.flatnonzero(np.diff(labels[order])) + 1, [n]))
    return GradedList(span * rng.normal(size=n), order.astype(np.uint32), bounds)


@pytest.mark.parametrize("span", SPANS)
@pytest.mark.parametrize(("n", "m"), [(400, 300), (700, 40), (3, 5)])
def test_crossing_is_the_double_sum(n: int, m: int, span: float) -> None:
    """The oracle is NumPy's logaddexp over all pairs; weights of both signs, as stencils have them."""
    rng = np.random.default_rng(0)
    at_x, at_y = np.sort(span * rng.normal(size=n)), np.sort(span * rng.normal(size=m) + 0.1)
    at_x[-1] += 1e9  # one far from the others must not cost them their precision
    alpha, beta = rng.normal(size=n), rng.normal(size=m)
    x, y, work = new_points(at_x, alpha), new_points(at_y, beta), np.zeros(1)
    value = crossing(x, y, work)
    gaps = at_y - at_x[:, None]
    terms, likely, unlikely = np.logaddexp(0.0, gaps), sigmoid(gaps), sigmoid(-gaps)
    sizes = np.abs(alpha)[:, None] * np.abs(beta)
    assert value == pytest.approx(alpha @ terms @ beta, abs=1e-13 * (sizes * terms).sum())
    for result, expected, size in (
        (x.below, likely @ beta, likely @ np.abs(beta)),
        (x.above, unlikely @ beta, unlikely @ np.abs(beta)),
        (y.below, alpha @ likely, np.abs(alpha) @ likely),
    ):
        np.testing.assert_array_less(np.abs(result - expected), 1e-12 * size + 1e-300)


@pytest.mark.parametrize("n_grades", [1, 2, 5, 500])
@pytest.mark.parametrize("span", SPANS)
def test_over_grades_is_the_double_sum(n_grades: int, span: float) -> None:
    one = graded(500, n_grades, span)
    gradient, work = np.zeros(500), np.zeros(1)
    value = over_grades(one.scores, one.order, one.bounds, gradient, work)
    grade = np.empty(500)
    grade[one.order] = -np.repeat(np.arange(n_grades), np.diff(one.bounds))
    gaps, ordered = one.scores - one.scores[:, None], grade[:, None] > grade
    wrong = sigmoid(gaps) * ordered
    assert value == pytest.approx((np.logaddexp(0.0, gaps) * ordered).sum(), rel=1e-13)
    size = wrong.sum(axis=0) + wrong.sum(axis=1)
    np.testing.assert_array_less(np.abs(gradient - (wrong.sum(axis=0) - wrong.sum(axis=1))), 1e-12 * size + 1e-300)


def operations(full: bool, one: GradedList, weight: float) -> float:
    slopes = Slopes(np.zeros(len(one.scores)), np.zeros(2), np.zeros(1))
    h = spacing(1e-6) / weight
    if full:
        graded_full(one, Weights(weight, weight, 0.0), h, distinct_pairs_address(), slopes)
    else:
        graded_none(one, weight, h, over_grades_address(np.diff(one.bounds[[0, -1]])), slopes)
    return float(slopes.work[0])


def test_the_range_of_scores_does_not_decide_what_a_sum_costs() -> None:
    """Operations, not seconds. Narrow scores may cost less, never many times more."""
    for span in SPANS:
        full, none = graded(300, 3, span), graded(5000, 5000, span)
        n_edges = 300 * 300 / 3
        assert operations(True, full, 5.0) < 300 * n_edges  # a square of the edges would be 30,000 per edge
        assert operations(False, none, 5.0) < 1000 * 5000  # pairs would be 2,500 per document

"""IntervalRank and isotonic ranking against a generic solver (Clarabel through CVXPY) on the papers' full programs."""

from __future__ import annotations

import math

import cvxpy as cp
import numpy as np
import pytest

from podium.losses import IntervalRankLoss, IsotonicLoss, RegressionLoss, intervalrank

PAPER = (0, 0.5, 3, 7, 10)  # the targets that the paper gives as an example


def pairs(labels: np.ndarray, better: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """All i, j with i's grade that many steps of the query's own grades above j's, and i's grade, counted from 0."""
    grade = np.unique(labels, return_inverse=True)[1]
    i, j = np.nonzero(grade[:, None] - grade[None, :] == better)
    return i, j, grade[i]


def full_program(
    scores: np.ndarray, labels: np.ndarray, targets: np.ndarray, separation: float, width: float
) -> tuple[float, np.ndarray]:
    """Equation 6 over all pairs of documents of one grade and of neighboring grades: its optimum and δ.

    (For pairs further apart the slacks of the grades between them add up, so they are never tighter than these.)
    """
    n_grades = len(np.unique(labels))
    unit = max(np.abs(scores).max(), np.ptp(targets), 1e-9)  # solvers like numbers around 1; the loss is homogeneous
    z = cp.Variable(len(scores))
    xi, epsilon = cp.Variable(n_grades), cp.Variable(n_grades)
    i, j, g = pairs(labels, 0)
    constraints = [z[i] - z[j] <= xi[g]]
    if n_grades > 1:
        i, j, g = pairs(labels, 1)
        constraints.append(z[i] - z[j] >= (targets[i] - targets[j]) / unit - epsilon[g])
    cost = 0.5 * cp.sum_squares(z - scores / unit)
    cost += separation / 2 * cp.sum_squares(epsilon) + width / 2 * cp.sum_squares(xi)
    problem = cp.Problem(cp.Minimize(cost), constraints)
    problem.solve(solver="CLARABEL", tol_gap_abs=1e-11, tol_gap_rel=1e-11, tol_feas=1e-11)
    return problem.value * unit**2, scores - z.value * unit


@pytest.mark.parametrize("n_grades", range(2, 11))
@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
def test_optimum_is_that_of_the_full_program(n_grades: int, scale: float) -> None:
    rng = np.random.default_rng(n_grades)
    present = np.sort(rng.choice(12, n_grades, replace=False)).astype(float)  # with gaps between some
    labels = np.concatenate((present, rng.choice(present, 8)))
    scores = scale * rng.normal(size=len(labels))
    if n_grades % 2:
        scores = scale * np.round(scores / scale)  # many equal ones
    targets = labels if n_grades > 5 else 2**labels - 1
    separation, width = 10 ** rng.uniform(-1, 1, 2)
    loss = IntervalRankLoss(separation, width, targets="identity" if n_grades > 5 else None)
    result = loss.value_and_gradient(scores, labels, [0, len(scores)])
    value, moves = full_program(scores, labels, targets, separation, width)
    unit = max(scale, np.ptp(targets))
    assert result.value == pytest.approx(value, rel=1e-6, abs=1e-8 * unit**2)
    np.testing.assert_allclose(result.d_scores, moves, atol=3e-6 * unit)


def test_isotonic_is_the_least_move_that_separates_every_pair() -> None:
    rng = np.random.default_rng(0)
    for n_grades in (2, 3, 5):
        labels, scores = rng.integers(0, n_grades, 14), 4 * rng.normal(size=14)
        targets = np.array(PAPER)[labels]
        z = cp.Variable(len(scores))
        i, j = np.nonzero(labels[:, None] > labels[None, :])  # equation 5: all of them, however far apart
        problem = cp.Problem(cp.Minimize(0.5 * cp.sum_squares(z - scores)), [z[i] - z[j] >= targets[i] - targets[j]])
        problem.solve(solver="CLARABEL", tol_gap_abs=1e-11, tol_gap_rel=1e-11, tol_feas=1e-11)
        result = IsotonicLoss(targets=PAPER).value_and_gradient(scores, labels, [0, len(scores)])
        assert result.value == pytest.approx(problem.value, rel=1e-8)
        np.testing.assert_allclose(result.d_scores, scores - z.value, atol=1e-6)
        strict = IntervalRankLoss(separation=math.inf, width=0.0, targets=PAPER)
        same = strict.value_and_gradient(scores, labels, [0, len(scores)])
        np.testing.assert_array_equal(same.d_scores, result.d_scores)


def test_barrier_is_the_optimum_of_the_papers_algorithm_2() -> None:
    rng = np.random.default_rng(1)
    labels, scores, barrier, separation, width = rng.integers(0, 3, 12), 3 * rng.normal(size=12), 100.0, 2.0, 0.5
    lower, upper, xi, epsilon = (cp.Variable(k) for k in (3, 3, 3, 2))
    cost = separation / 2 * cp.sum_squares(epsilon) + width / 2 * cp.sum_squares(xi)
    cost += 0.5 * cp.sum_squares(cp.pos(lower[labels] - scores)) + 0.5 * cp.sum_squares(cp.pos(scores - upper[labels]))
    gaps = lower[1:] - upper[:-1] - np.array([1.0, 2.0])  # targets 0, 1, 3
    logs = cp.sum(cp.log(upper - lower)) + cp.sum(cp.log(lower + xi - upper)) + cp.sum(cp.log(gaps + epsilon))
    problem = cp.Problem(cp.Minimize(cost - logs / barrier))
    problem.solve(solver="CLARABEL")
    loss = IntervalRankLoss(separation, width, barrier=barrier)
    result = loss.value_and_gradient(scores, labels, [0, len(scores)])
    assert result.value == pytest.approx(problem.value, rel=1e-6)
    expected = scores - np.clip(scores, lower.value[labels], upper.value[labels])
    np.testing.assert_allclose(result.d_scores, expected, atol=1e-4)


def test_a_loose_barrier_leaves_more_distance() -> None:
    # Two grades that are already apart by their margin: exactly nothing is left to do, the paper's barrier goes on.
    scores, labels = np.array([1.1, 0.0]), [1, 0]
    assert IntervalRankLoss().value_and_gradient(scores, labels, [0, 2]).d_scores.tolist() == [0.0, 0.0]
    pushed = IntervalRankLoss(barrier=100).value_and_gradient(scores, labels, [0, 2]).d_scores
    assert pushed[0] < 0 < pushed[1]


def test_one_grade_says_nothing_but_what_regression_says() -> None:
    scores, labels, offsets = [3.0, -1.0, 0.5], [2, 2, 2], [0, 3]
    for loss in (IntervalRankLoss(), IntervalRankLoss(barrier=100), IsotonicLoss()):
        result = loss.value_and_gradient(scores, labels, offsets, curvature=True)
        assert result.value == 0.0
        assert result.d_scores.tolist() == result.d2_scores.tolist() == [0.0, 0.0, 0.0]
    result = IntervalRankLoss(regression=0.5).value_and_gradient(scores, labels, offsets, curvature=True)
    assert result.value == pytest.approx(0.5 * 0.5 * (0 + 16 + 2.5**2))  # the target of grade 2 is 3
    assert result.d_scores.tolist() == [0.0, -2.0, -1.25]
    assert result.d2_scores.tolist() == [0.5, 0.5, 0.5]


def test_regression_is_added() -> None:
    rng = np.random.default_rng(2)
    labels, scores, offsets = rng.integers(0, 5, 30), rng.normal(size=30), [0, 12, 30]
    both = IntervalRankLoss(2.0, 0.3, regression=0.7, targets=PAPER).value_and_gradient(scores, labels, offsets)
    ranking = IntervalRankLoss(2.0, 0.3, targets=PAPER).value_and_gradient(scores, labels, offsets)
    points = RegressionLoss(normalize=False, targets=PAPER).value_and_gradient(scores, labels, offsets)
    assert both.value == pytest.approx(ranking.value + 0.7 * points.value)
    np.testing.assert_allclose(both.d_scores, ranking.d_scores + 0.7 * points.d_scores)


@pytest.mark.parametrize("loss", [IntervalRankLoss(5.0, 0.1), IntervalRankLoss(barrier=10), IsotonicLoss()], ids=repr)
def test_the_second_derivative_bounds_every_step(loss: IntervalRankLoss | IsotonicLoss) -> None:
    # Moving all scores at once costs no more than the quadratic with second derivatives of 1.
    rng = np.random.default_rng(3)
    bound = loss.bind(rng.integers(0, 4, 25), [0, 25])
    for scale in (0.01, 1.0, 100.0):
        scores, step = 3 * rng.normal(size=25), scale * rng.normal(size=25)
        here, there = bound.value_and_gradient(scores, curvature=True), bound.value_and_gradient(scores + step).value
        quadratic = here.value + here.d_scores @ step + 0.5 * here.d2_scores @ step**2
        assert there <= quadratic + 1e-9 * (1 + abs(quadratic))


def test_every_label_its_own_grade() -> None:
    # In the order that their labels ask for, and far enough apart, documents may stay. The other way round, all slacks
    # are in use, and what is left is a linear system in the new places.
    n, separation = 500, 10.0
    labels = np.arange(n) / n
    bound = IntervalRankLoss(separation, targets="identity").bind(labels, [0, n])
    assert bound.value_and_gradient(3 * labels).value == pytest.approx(0.0, abs=1e-20)
    step = np.diff(np.eye(n), axis=0)
    places = np.linalg.solve(np.eye(n) + separation * step.T @ step, -labels + separation * step.T @ np.diff(labels))
    assert (step @ places < 1 / n).all()
    np.testing.assert_allclose(bound.value_and_gradient(-labels).d_scores, -labels - places, atol=1e-12)


def test_settings_are_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    labels, offsets = np.array([0.0, 1.0, 5.0]), [0, 3]
    for loss, message in [
        (IntervalRankLoss(separation=-1), "separation must be a finite number of at least 0"),
        (IntervalRankLoss(width=math.nan), "width must be"),
        (IntervalRankLoss(regression=-0.1), "regression must be"),
        (IntervalRankLoss(barrier=0), "barrier must be a finite number above 0"),
        (IntervalRankLoss(barrier=100, width=0), "with a barrier, width must be a finite number above 0"),
        (IntervalRankLoss(tolerance=0), "tolerance must be"),
        (IntervalRankLoss(targets=(0, 1, 3)), "grades 0 to 2; there is none for the label 5"),
        (IntervalRankLoss(targets=(0, 1, 1, 2, 3, 4)), "grow from grade to grade"),
        (IsotonicLoss(targets="exp"), "targets must be None, 'identity' or a number for each grade"),
    ]:
        with pytest.raises(ValueError, match=message):
            loss.bind(labels, offsets)
    with pytest.raises(ValueError, match="2\\^g − 1 of the label 200"):
        IsotonicLoss().bind([200.0], [0, 1])
    monkeypatch.setattr(intervalrank, "MAX_WORK", 8)
    with pytest.raises(ValueError, match="query number 0 has 3 different labels on 3 documents, too many"):
        IntervalRankLoss().bind(labels, offsets)


def test_barriers_end_where_rounding_hides_what_a_step_promises() -> None:
    """Many lists with equal scores, as trees give them: on rare ones Newton's steps went on in vain and gave NaN."""
    rng = np.random.default_rng(44)
    lists = [(np.round(rng.standard_normal(40) * 0.05, 3), rng.integers(0, 3, 40).astype(float)) for _ in range(400)]
    scores, labels = (np.concatenate(part) for part in zip(*lists, strict=True))
    found = IntervalRankLoss(barrier=64.0).value_and_gradient(scores, labels, np.arange(0, len(scores) + 1, 40))
    assert np.isfinite(found.value)

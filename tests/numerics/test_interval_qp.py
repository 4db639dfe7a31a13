"""The chain of springs behind IntervalRank, seen from its optimality conditions: no solver is needed to check those."""

from __future__ import annotations

import math

import numpy as np
import pytest

from podium.numerics.intervals.barrier import solve_with_barrier
from podium.numerics.intervals.chain import SortedGrades, solve_intervals


class Grades:
    """Sorted scores of each grade, worst first, as the solvers want them."""

    def __init__(self, groups: list[list[float]], margins: list[float]) -> None:
        self.groups = [np.sort(np.asarray(group, dtype=float)) for group in groups]
        self.scores = np.concatenate(self.groups)
        self.sums, self.squares = (np.concatenate(([0.0], np.cumsum(x))) for x in (self.scores, self.scores**2))
        self.bounds = np.concatenate(([0], np.cumsum([len(group) for group in groups])))
        self.margins = np.asarray(margins, dtype=float)

    @classmethod
    def random(cls, rng: np.random.Generator, n_grades: int, scale: float) -> Grades:
        groups = [scale * rng.normal(size=rng.integers(1, 8)) for _ in range(n_grades)]
        if rng.random() < 0.5:  # many equal scores, and ends that fall on them
            groups = [scale * np.round(group / scale) for group in groups]
        return cls([group.tolist() for group in groups], rng.choice([0.5, 1.0, 2.0, 4.0], n_grades - 1).tolist())

    def grades(self, separation: float, width: float) -> SortedGrades:
        margins = (self.margins, separation, width)
        return SortedGrades(self.scores, self.sums, self.squares, self.bounds, *margins)

    def solve(self, separation: float, width: float) -> tuple[np.ndarray, np.ndarray]:
        lower, upper = np.empty(len(self.groups)), np.empty(len(self.groups))
        solve_intervals(self.grades(separation, width), lower, upper)
        return lower, upper

    def solve_with_barrier(self, separation: float, width: float, barrier: float) -> tuple[np.ndarray, np.ndarray]:
        lower, upper = self.solve(separation, width)
        assert solve_with_barrier(self.grades(separation, width), barrier, 1e-8, lower, upper)
        return lower, upper

    def pulls(self, lower: np.ndarray, upper: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """How strongly the documents pull each lower end down and push each upper end up."""
        pairs = list(zip(self.groups, lower, upper, strict=True))
        down = np.array([np.maximum(low - s, 0).sum() for s, low, _ in pairs])
        return down, np.array([np.maximum(s - high, 0).sum() for s, _, high in pairs])


def test_two_documents_by_hand() -> None:
    # 1 ahead where it should be 1 behind; both move by x, at 2 · ½x² + λ1/2 (2 − 2x)²: x = 2λ1 / (1 + 2λ1).
    lower, upper = Grades([[1.0], [0.0]], [1.0]).solve(separation=0.5, width=1.0)
    np.testing.assert_allclose(lower, [0.5, 0.5])
    np.testing.assert_allclose(upper, [0.5, 0.5])
    # At any price they swap places and stand 1 apart.
    lower, upper = Grades([[1.0], [0.0]], [1.0]).solve(separation=math.inf, width=1.0)
    np.testing.assert_allclose(lower, [0.0, 1.0], atol=1e-15)


def test_width_alone_by_hand() -> None:
    # Both ends of {0, 1} move in by x, at 2 · ½x² + λ2/2 (1 − 2x)²: x = λ2 / (1 + 2λ2) = 1/4 for λ2 = ½.
    lower, upper = Grades([[0.0, 1.0], [8.0]], [1.0]).solve(separation=1.0, width=0.5)
    assert (lower[0], upper[0]) == pytest.approx((0.25, 0.75))
    assert lower[1] <= 8.0 <= upper[1]


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
def test_optimality_conditions(scale: float) -> None:
    rng = np.random.default_rng(0)
    for n_grades in [*range(2, 11), 40]:
        for separation, width in [(1.0, 1.0), (0.01, 30.0), (200.0, 0.03), (0.0, 1.0), (1.0, 0.0)]:
            grades = Grades.random(rng, n_grades, scale)
            lower, upper = grades.solve(separation, width)
            assert (lower <= upper).all()
            down, up = grades.pulls(lower, upper)
            push = separation * np.maximum(grades.margins - (lower[1:] - upper[:-1]), 0)  # between neighbors
            squeeze = width * (upper - lower)
            on_lower = np.concatenate(([0], push)) + squeeze - down  # what moves each end up …
            on_upper = up - np.concatenate((push, [0])) - squeeze
            size = 1e-11 * max(scale, 10.0) * max(separation, width, 10.0)
            # … is nothing, but where the two ends meet: there they may press against each other.
            np.testing.assert_allclose(on_lower + on_upper, 0, atol=size)
            assert (on_lower >= -size).all()
            np.testing.assert_allclose(on_lower * (upper - lower), 0, atol=size * max(scale, 10.0))


def test_isotonic_limit_is_that_of_strong_separation() -> None:
    rng = np.random.default_rng(1)
    for _ in range(30):
        grades = Grades.random(rng, int(rng.integers(2, 7)), 2.0)
        lower, upper = grades.solve(math.inf, 0.0)
        assert (lower[1:] - upper[:-1] >= grades.margins - 1e-12).all()
        near_lower, near_upper = grades.solve(1e8, 0.0)
        for s, *ends in zip(grades.groups, lower, upper, near_lower, near_upper, strict=True):
            np.testing.assert_allclose(np.clip(s, *ends[:2]), np.clip(s, *ends[2:]), atol=1e-5)


@pytest.mark.parametrize("barrier", [0.1, 100.0, 1e7])
def test_barrier_is_stationary_and_tends_to_the_exact_optimum(barrier: float) -> None:
    rng = np.random.default_rng(2)
    for n_grades in range(2, 9):
        grades = Grades.random(rng, n_grades, 10.0 ** rng.uniform(-2, 2))
        separation, width = 10.0 ** rng.uniform(-1, 1, 2)
        lower, upper = grades.solve_with_barrier(separation, width, barrier)
        assert (lower < upper).all()
        down, up = grades.pulls(lower, upper)

        def slack(d: np.ndarray, weight: float) -> np.ndarray:  # λ ε = 1 / (μ (ε − d)), solved for ε
            return (d + np.sqrt(d**2 + 4 / (barrier * weight))) / 2

        push = separation * slack(grades.margins - (lower[1:] - upper[:-1]), separation)
        squeeze = width * slack(upper - lower, width) - 1 / (barrier * (upper - lower))
        on_lower, on_upper = np.concatenate(([0], push)) + squeeze - down, up - np.concatenate((push, [0])) - squeeze
        size = 1e-6 * (1 + down.max() + up.max())
        np.testing.assert_allclose(on_lower + on_upper, 0, atol=size)
        if barrier < 1e7:  # else the steps end before intervals of width 1e-8 are known to many digits
            np.testing.assert_allclose(on_lower, 0, atol=size)
        else:
            for s, *ends in zip(grades.groups, lower, upper, *grades.solve(separation, width), strict=True):
                np.testing.assert_allclose(np.clip(s, *ends[:2]), np.clip(s, *ends[2:]), atol=2e-3)

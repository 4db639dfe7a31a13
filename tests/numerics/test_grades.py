"""Preparation of labels: NumPy's own sort and counts as oracle."""

from __future__ import annotations

import numpy as np
import pytest

from podium.numerics.grades import count_pairs, grade_index, label_groups, pair_scale, shuffle_ties
from podium.numerics.random import streams


@pytest.fixture
def lists() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    sizes = np.array([5, 0, 1, 250, 8, 0, 700])  # both ways of sorting, and lists of nothing and of one
    offsets = np.concatenate(([0], np.cumsum(sizes)))
    return rng.choice([-2.0, 0.0, 0.5, 3.0], size=offsets[-1]), offsets


def test_order_is_stable_and_bounds_part_the_grades(lists: tuple[np.ndarray, np.ndarray]) -> None:
    labels, offsets = lists
    groups = label_groups(labels, offsets)
    grade = grade_index(groups, offsets)
    for q in range(len(offsets) - 1):
        y = labels[offsets[q] : offsets[q + 1]]
        order = groups.order[offsets[q] : offsets[q + 1]]
        np.testing.assert_array_equal(order, np.argsort(-y, kind="stable"))
        bounds = groups.bounds[groups.first[q] : groups.first[q + 1]]
        best_first = np.unique(y)[::-1]
        np.testing.assert_array_equal(bounds, [0, *np.cumsum([(y == value).sum() for value in best_first])])
        np.testing.assert_array_equal(best_first[grade[offsets[q] : offsets[q + 1]]] if len(y) else y, y)


def test_pairs(lists: tuple[np.ndarray, np.ndarray]) -> None:
    labels, offsets = lists
    groups = label_groups(labels, offsets)
    pairs = count_pairs(groups)
    for q in range(len(offsets) - 1):
        y = labels[offsets[q] : offsets[q + 1]]
        assert pairs[q] == (y[:, None] > y[None, :]).sum()
    np.testing.assert_array_equal(pair_scale(groups, False), 1)
    mean = pair_scale(groups, True)
    assert (mean[pairs == 0] == 0).all()
    np.testing.assert_allclose(mean[pairs > 0] * pairs[pairs > 0], 1)


def test_shuffling_stays_within_grades(lists: tuple[np.ndarray, np.ndarray]) -> None:
    labels, offsets = lists
    groups = label_groups(labels, offsets)
    shuffled = shuffle_ties(groups, offsets, streams(0, 0, len(offsets) - 1))
    assert (shuffled != groups.order).any()
    for q in range(len(offsets) - 1):
        rows = slice(offsets[q], offsets[q + 1])
        assert sorted(shuffled[rows]) == sorted(groups.order[rows])
        np.testing.assert_array_equal(labels[rows][shuffled[rows]], labels[rows][groups.order[rows]])

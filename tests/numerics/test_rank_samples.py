"""Rank samples: counts by hand, all rankings by itertools, and the mixture that the paper describes."""

from __future__ import annotations

from itertools import permutations
from math import factorial

import numpy as np
import pytest

from podium.numerics.grades import label_groups
from podium.numerics.random import streams
from podium.numerics.ranks.samples import all_rankings, count_rankings, sample_rankings


def sample(labels: np.ndarray, n_rankings: int = 100, seed: int = 0) -> np.ndarray:
    groups = label_groups(np.asarray(labels, float), np.array([0, len(labels)]))
    places = np.full((n_rankings, len(labels)), 99, np.uint16)
    sample_rankings(groups.order, groups.bounds, streams(seed, 0, 1), places)
    return places


def by_place(labels: np.ndarray, places: np.ndarray) -> np.ndarray:
    """Labels from first to last place, one row per ranking."""
    return np.array([np.asarray(labels)[np.argsort(p)] for p in places])


def test_how_many_rankings() -> None:
    sizes = np.array([0, 1, 2, 3, 4, 5, 21, 60_000])
    assert count_rankings(sizes, 100).tolist() == [1, 1, 2, 6, 24, 100, 100, 100]
    assert count_rankings(np.array([6]), 10**6).tolist() == [720]


@pytest.mark.parametrize("n", [1, 2, 3, 6])
def test_all_rankings_are_those_of_itertools(n: int) -> None:
    places = np.empty((factorial(n), n), np.uint16)
    all_rankings(places)
    assert places.tolist() == [list(p) for p in permutations(range(n))]


@pytest.mark.parametrize("labels", [[1, 0], [2, 0, 1, 0, 2, 1, 0], [5, 3, 3, 1, 0, 0, 9, 3], [0.5] * 9 + [0.25]])
def test_each_row_is_a_ranking_and_the_first_two_are_best_and_worst(labels: list[float]) -> None:
    places = sample(np.array(labels))
    assert (np.sort(places, axis=1) == np.arange(len(labels))).all()
    ranked = by_place(np.array(labels), places)
    assert ranked[0].tolist() == sorted(labels, reverse=True)
    assert ranked[1].tolist() == sorted(labels)


def test_the_mixture_for_three_grades() -> None:
    labels = np.repeat([2, 1, 0], [6, 9, 15])
    ranked = by_place(labels, sample(labels))
    top, lower, rest = ranked[2:37], ranked[37:57], ranked[57:]
    # Swaps between grades 2 and 1 leave the last 15 places to grade 0; those between 1 and 0 the first 6 to grade 2.
    assert (top[:, 15:] == 0).all()
    assert (top[:, :6] == 1).any(axis=1).all()
    assert (lower[:, :6] == 2).all()
    assert (lower[:, 6:15] == 0).any(axis=1).all()
    # Extreme swaps leave grade 1 where it is; they alternate with shuffles, which hardly ever do.
    extreme = (rest[:, 6:15] == 1).all(axis=1)
    assert extreme.tolist() == [k % 2 == 0 for k in range(57, 100)]
    assert (rest[extreme][:, :6] == 0).any(axis=1).all()


def test_more_grades_swap_neighbours_and_extremes() -> None:
    labels = np.repeat([4, 3, 2, 1, 0], 8)
    ranked = by_place(labels, sample(labels))
    assert (ranked[2:37, 16:] == labels[16:]).all()
    lower = ranked[37:57]
    assert (lower[:, :8] == 4).all()
    touched = (lower.reshape(20, 5, 8) != labels.reshape(5, 8)).any(axis=2)
    pairs = {tuple(np.flatnonzero(row).tolist()) for row in touched}
    assert pairs == {(1, 2), (2, 3), (3, 4)}


def test_two_grades_have_one_pair() -> None:
    labels = np.repeat([1, 0], [5, 20])
    ranked = by_place(labels, sample(labels))
    n_swapped = (ranked[2:57, :5] == 0).sum(axis=1)
    assert n_swapped.min() == 1
    assert n_swapped.max() == 5


def test_ties_are_broken_at_random() -> None:
    labels = np.repeat([2, 1, 0], 10)
    first_by_seed = {int(np.argmin(sample(labels, 2, seed)[0])) for seed in range(200)}
    assert first_by_seed == set(range(10))


def test_the_seed_decides() -> None:
    labels = np.arange(12) % 3
    assert (sample(labels, seed=1) == sample(labels, seed=1)).all()
    assert (sample(labels, seed=1) != sample(labels, seed=2)).any()


@pytest.mark.parametrize("n_rankings", [1, 2, 3, 5])
def test_small_samples(n_rankings: int) -> None:
    labels = np.array([0, 1, 2, 2])
    assert (np.sort(sample(labels, n_rankings), axis=1) == np.arange(4)).all()

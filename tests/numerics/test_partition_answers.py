"""Answers of ordered-partition models against all ordered partitions of a short list."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy.stats import chisquare

from podium.numerics.random import streams
from podium.numerics.subsets.answers import best_group, sample_partitions
from podium.numerics.subsets.sampling import ARITHMETIC, GEOMETRIC

KINDS = pytest.mark.parametrize("kind", [ARITHMETIC, GEOMETRIC], ids=["arithmetic", "geometric"])


def potential(kind: int, s: np.ndarray) -> float:
    return float(np.exp(s).mean() if kind == ARITHMETIC else np.exp(s.mean()))


def all_partitions(kind: int, scores: np.ndarray) -> dict[tuple[int, ...], float]:
    """The probability of every ordered partition, by the definition: stage by stage over all subsets."""
    n = len(scores)
    result: dict[tuple[int, ...], float] = {}
    for groups in product(range(n), repeat=n):
        if sorted(set(groups)) != list(range(max(groups) + 1)):
            continue
        p = 1.0
        for k in range(max(groups) + 1):
            remaining = [i for i in range(n) if groups[i] >= k]
            total = sum(
                potential(kind, scores[[i for bit, i in enumerate(remaining) if mask >> bit & 1]])
                for mask in range(1, 2 ** len(remaining))
            )
            p *= potential(kind, scores[[i for i in range(n) if groups[i] == k]]) / total
        result[groups] = p
    return result


@KINDS
def test_probabilities_of_all_partitions_add_up(kind: int) -> None:
    assert sum(all_partitions(kind, np.array([0.5, -1.0, 0.2, 1.0])).values()) == pytest.approx(1)


@KINDS
@pytest.mark.parametrize("n", [1, 2, 4])
def test_best_group_is_exact(kind: int, n: int) -> None:
    scores = np.array([0.5, -1.0, 0.2, 2.0])[:n]
    expected = np.zeros(n)
    for groups, p in all_partitions(kind, scores).items():
        expected += p * (np.array(groups) == 0)
    np.testing.assert_allclose(best_group(kind, scores, np.array([0, n])), expected)


@KINDS
def test_long_lists_do_not_overflow(kind: int) -> None:
    scores = np.random.default_rng(0).standard_normal(900)
    p = best_group(kind, scores, np.array([0, 900]))
    assert ((p > 0) & (p < 1)).all()
    assert p[scores.argmax()] == p.max()


@KINDS
def test_sampled_partitions_follow_the_model(kind: int) -> None:
    scores, n_samples = np.array([0.5, -1.0, 1.2]), 30_000
    drawn = sample_partitions(kind, scores, n_samples, streams(5, 0, n_samples))
    model = all_partitions(kind, scores)
    counts = dict.fromkeys(model, 0)
    for row in drawn.tolist():
        counts[tuple(row)] += 1
    expected = np.array(list(model.values())) * n_samples
    assert len(model) == 13  # Fubini's number
    assert chisquare(list(counts.values()), expected).pvalue > 1e-3

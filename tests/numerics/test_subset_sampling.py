"""Long-run frequencies of both chains against the enumerated distribution (chi-square, seeded)."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from numba import njit
from scipy.stats import chisquare

from podium.numerics.random import integer, next_word, streams, uniform
from podium.numerics.subsets.sampling import ARITHMETIC, GEOMETRIC, fill_terms, gibbs_sweep, metropolis_step

SCORES = np.array([0.3, -0.8, 1.1, 0.0])


def distribution(kind: int, scores: np.ndarray) -> np.ndarray:
    """Probability of each subset, indexed by its bits."""
    n = len(scores)
    weights = np.zeros(2**n)
    for m in range(1, n + 1):
        for subset in combinations(range(n), m):
            chosen = scores[list(subset)]
            weights[sum(1 << i for i in subset)] = (
                np.exp(chosen).mean() if kind == ARITHMETIC else np.exp(chosen.mean())
            )
    return weights / weights.sum()


@njit
def frequencies(kind, scores, gibbs, corrected, n_samples, thin, stream):
    n = len(scores)
    terms, shuffled = np.empty(n), np.empty(n, np.int64)
    fill_terms(kind, scores, terms)
    members = np.ones(n, np.bool_)
    counts = np.zeros(2**n, np.int64)
    for _ in range(n_samples):
        for _ in range(thin):
            if gibbs:
                gibbs_sweep(kind, terms, members, stream)
            else:
                metropolis_step(kind, terms, members, corrected, stream, shuffled)
        bits = 0
        for i in range(n):
            bits += int(members[i]) << i
        counts[bits] += 1
    return counts


@pytest.mark.parametrize("kind", [ARITHMETIC, GEOMETRIC])
@pytest.mark.parametrize("gibbs", [True, False])
def test_chains_reach_the_model(kind: int, gibbs: bool) -> None:
    n_samples = 40_000
    counts = frequencies(kind, SCORES, gibbs, True, n_samples, 8, streams(7, 0, 1))
    expected = distribution(kind, SCORES) * n_samples
    assert counts[0] == 0  # the empty set is not a state
    assert chisquare(counts[1:], expected[1:]).pvalue > 1e-3


def test_the_papers_acceptance_has_another_stationary_distribution() -> None:
    # Without the correction a subset of size m is visited in proportion to Φ(S)/C(N, m).
    n_samples = 40_000
    counts = frequencies(GEOMETRIC, SCORES, False, False, n_samples, 8, streams(7, 0, 1))
    model = distribution(GEOMETRIC, SCORES)
    assert chisquare(counts[1:], model[1:] * n_samples).pvalue < 1e-12
    size = np.array([bin(b).count("1") for b in range(16)])
    biased = model / np.array([1, 4, 6, 4, 1])[size]
    assert chisquare(counts[1:], (biased / biased.sum())[1:] * n_samples).pvalue > 1e-3


def test_wide_scores_do_not_break_the_incremental_sums() -> None:
    scores = np.array([1000.0, 0.0, -1000.0])
    counts = frequencies(ARITHMETIC, scores, True, True, 4_000, 3, streams(1, 0, 1))
    # The first document carries all weight: Φ is e^1000/|S| for the four subsets that hold it, so 1, ½, ½, ⅓.
    expected = np.array([1, 0.5, 0.5, 1 / 3])
    assert chisquare(counts[[1, 3, 5, 7]], expected / expected.sum() * 4_000).pvalue > 1e-3
    assert counts[[0, 2, 4, 6]].sum() == 0


def test_streams_are_reproducible_uniform_and_distinct() -> None:
    assert np.array_equal(streams(3, 1, 5), streams(3, 1, 5))
    assert len({*streams(3, 1, 100), *streams(3, 2, 100), *streams(4, 1, 100)}) == 300

    @njit
    def draw(stream, n):
        out = np.empty(n)
        for i in range(n):
            out[i] = uniform(stream)
        return out, integer(stream, 10), next_word(stream)

    values, _, _ = draw(streams(0, 0, 1), 100_000)
    assert 0 <= values.min() < values.max() < 1
    assert chisquare(np.histogram(values, 50, (0, 1))[0]).pvalue > 1e-3
    assert abs(np.corrcoef(values[1:], values[:-1])[0, 1]) < 0.01

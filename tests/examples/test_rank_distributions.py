"""The example that redraws the BoltzRank paper's figures says what the paper says."""

from __future__ import annotations

import runpy
from pathlib import Path

import numpy as np

EXAMPLE = runpy.run_path(str(Path(__file__).parents[2] / "examples" / "rank_distributions.py"))


def test_boltzmann_is_closest_then_rank_binomial_then_normal() -> None:
    mean = {name: values.mean() for name, values in EXAMPLE["measure"](100).items()}
    assert 0 < mean["Boltzmann"] < 0.1 * mean["rank-binomial"]
    assert mean["rank-binomial"] < mean["normal"]


def test_the_truth_is_what_sorting_draws_gives() -> None:
    scores = np.array([1.1, 1.0, 0.7])
    draws = np.random.default_rng(0).normal(scores, EXAMPLE["SIGMA"], (200_000, 3))
    ranks = np.argsort(np.argsort(-draws, axis=1), axis=1) + 1
    frequencies = [(ranks == row).all(axis=1).mean() for row in EXAMPLE["RANKS"]]
    np.testing.assert_allclose(EXAMPLE["truth"](scores), frequencies, atol=0.005)

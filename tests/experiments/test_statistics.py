"""Differences, effects, ranks: against scipy and hand arithmetic."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from podium.experiments.result.statistics import against, critical_difference, paired


def values(n=60, k=4, seed=0):
    rng = np.random.default_rng(seed)
    base = rng.random(n)
    found = {f"m{i}": np.round(base + 0.2 * rng.random(n) + 0.05 * i, 2) for i in range(k)}
    found["m1"][:5] = found["m2"][:5]  # some ties
    return found


def test_two_methods_by_hand():
    found = paired(np.array([0.5, 0.6, 0.9, 0.7, np.nan]), np.array([0.4, 0.4, 0.9, 0.8, 0.1]))
    # differences .1 .2 0 −.1: mean .05, deviation sqrt(.05 / 3); of 8 sign patterns 6 sum to .2 or more in size
    assert found.difference == pytest.approx(0.05)
    assert found.effect == pytest.approx(0.05 / np.sqrt(0.05 / 3))
    assert found.p_value == 0.75
    assert (found.wins, found.ties, found.losses) == (2, 1, 1)
    assert -0.1 <= found.low < 0.05 < found.high <= 0.2


def test_two_methods_against_scipy():
    all_values = values()
    a, b = all_values["m3"], all_values["m0"]
    found = paired(a, b)
    resampled = stats.bootstrap((a - b,), np.mean, method="percentile", n_resamples=10_000, rng=1)
    assert found.low == pytest.approx(resampled.confidence_interval.low, abs=0.003)
    assert found.high == pytest.approx(resampled.confidence_interval.high, abs=0.003)
    test = stats.permutation_test(
        (all_values["m1"], all_values["m0"]), lambda x, y: np.mean(x - y), permutation_type="samples", rng=1
    )
    assert paired(all_values["m1"], all_values["m0"]).p_value == pytest.approx(test.pvalue, abs=0.01)
    assert paired(a, b).difference == pytest.approx(-paired(b, a).difference)
    assert (paired(a, a).effect, paired(a, a).p_value, paired(a, a).ties) == (0.0, 1.0, 60)


def test_all_against_one_is_corrected_for_their_number():
    all_values = values()
    found = against(all_values, "m3")
    assert list(found) == ["m0", "m1", "m2"]
    raw = sorted(paired(all_values[name], all_values["m3"]).p_value for name in found)
    smallest = min(pair.p_value for pair in found.values())
    assert smallest == pytest.approx(min(1.0, 3 * raw[0]))  # Holm: the smallest times their number
    assert found["m0"].difference < 0


def test_friedman_and_ranks_against_scipy():
    all_values = values()
    found = critical_difference(all_values)
    assert found.p_value == pytest.approx(stats.friedmanchisquare(*all_values.values()).pvalue)
    ranks = stats.rankdata(-np.column_stack(list(all_values.values())), axis=1).mean(axis=0)
    assert found.ranks == pytest.approx(dict(zip(all_values, ranks, strict=True)))
    assert list(found.ranks.values()) == sorted(ranks)
    assert found.n_queries == 60


def test_nemenyi_by_the_published_table():
    # Demšar (2006), Table 5a: q(0.05) is 2.569 for 4 methods; his example with 14 data sets has CD = 1.25
    rng = np.random.default_rng(0)
    found = critical_difference({name: rng.random(14) for name in "abcd"})
    assert found.distance == pytest.approx(2.569 * np.sqrt(4 * 5 / (6 * 14)), abs=1e-3)
    assert round(found.distance, 2) == 1.25
    assert critical_difference({name: rng.random(14) for name in "abcd"}, 0.10).distance == pytest.approx(
        1.12, abs=5e-3
    )


def test_groups_are_the_longest_runs():
    n = 400  # ranks 1, 2, 3 and 4 on every query, but a and b in either order: CD is small
    rng = np.random.default_rng(0)
    swap = rng.random(n) < 0.5
    a, b = np.where(swap, 4.0, 3.0), np.where(swap, 3.0, 4.0)
    found = critical_difference({"d": np.zeros(n), "a": a, "b": b, "c": np.ones(n)})
    assert found.groups == [tuple(sorted(("a", "b"), key=found.ranks.__getitem__))]
    alike = critical_difference({"a": np.ones(9), "b": np.ones(9)})
    assert alike.groups == [("a", "b")]
    assert alike.p_value == 1.0


def test_too_little_to_compare():
    assert critical_difference({"a": np.ones(3)}).groups == []
    assert critical_difference({"a": np.full(3, np.nan), "b": np.ones(3)}).p_value == 1.0
    with pytest.raises(ValueError, match="level"):
        critical_difference({"a": np.ones(3)}, 2.0)

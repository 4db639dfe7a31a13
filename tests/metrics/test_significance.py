from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import stats

from podium.metrics.significance import bootstrap_interval, holm, paired_t_test, randomization_test

GENERATOR = np.random.default_rng(0)
A = GENERATOR.random(60)
B = A + GENERATOR.normal(0.02, 0.1, 60)


def test_bootstrap_agrees_with_scipy() -> None:
    scipy_interval = stats.bootstrap((A,), np.mean, n_resamples=20_000, method="percentile", rng=1).confidence_interval
    low, high = bootstrap_interval(A, n_resamples=20_000)
    error = A.std() / np.sqrt(len(A))  # both are estimates: to a twentieth of a standard error
    assert low == pytest.approx(scipy_interval.low, abs=error / 20)
    assert high == pytest.approx(scipy_interval.high, abs=error / 20)


def test_bootstrap_covers() -> None:
    """About 90 of 100 intervals at level 0.9 hold the true mean: between 80 and 98 with probability 0.999."""
    samples = np.random.default_rng(1).normal(size=(100, 50))
    intervals = [bootstrap_interval(sample, level=0.9, n_resamples=500) for sample in samples]
    assert 80 <= sum(low <= 0.0 <= high for low, high in intervals) <= 98


def test_bootstrap_is_seeded_and_leaves_nan_out() -> None:
    assert bootstrap_interval(A) == bootstrap_interval(A)
    assert bootstrap_interval(A, random_state=1) != bootstrap_interval(A)
    assert bootstrap_interval([*A, np.nan]) == bootstrap_interval(A)
    assert bootstrap_interval([0.5]) == (0.5, 0.5)
    assert all(np.isnan(bootstrap_interval([])))
    with pytest.raises(ValueError, match="level must lie between 0 and 1"):
        bootstrap_interval(A, level=95)


def test_drawing_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    from podium.metrics import significance

    interval, p_value = bootstrap_interval(A), randomization_test(A, B)
    monkeypatch.setattr(significance, "BLOCK", 60 * 128)
    assert bootstrap_interval(A) == pytest.approx(interval, abs=0.005)
    assert randomization_test(A, B) == pytest.approx(p_value, abs=0.01)


def test_randomization_is_exact_for_few_queries() -> None:
    for n in (1, 2, 5, 9):
        d = A[:n] - B[:n]
        by_hand = [
            abs(sum(s * x for s, x in zip(signs, d, strict=True))) for signs in itertools.product((1, -1), repeat=n)
        ]
        wanted = np.mean([x >= abs(d.sum()) - 1e-12 for x in by_hand])
        assert randomization_test(A[:n], B[:n]) == wanted


def test_randomization_agrees_with_scipy() -> None:
    for n in (12, 60):  # all patterns, and a sample of them
        ours = randomization_test(A[:n], B[:n], n_resamples=20_000)
        theirs = stats.permutation_test(
            (A[:n], B[:n]),
            lambda x, y, axis: np.mean(x - y, axis=axis),
            permutation_type="samples",
            vectorized=True,
            n_resamples=20_000,
            rng=2,
        ).pvalue
        assert ours == pytest.approx(theirs, abs=1e-12 if n == 12 else 0.02)


def test_randomization_counts_ties_with_the_observed_difference() -> None:
    """0.1 + 0.2 − 0.3 is not 0 in floating point; equal differences in another order must still tie."""
    a, b = np.array([0.1, 0.2, 0.3, 0.4]), np.array([0.4, 0.3, 0.2, 0.1])
    assert randomization_test(a, b) == 1.0
    assert randomization_test([0.3, 0.1, 0.7], [0.2, 0.0, 0.6]) == 0.25  # of 8 patterns only + + + and − − −


def test_randomization_ignores_queries_without_difference_or_value() -> None:
    a, b = np.append(A[:10], [0.5] * 100), np.append(B[:10], [0.5] * 100)
    assert randomization_test(a, b) == randomization_test(A[:10], B[:10])
    assert randomization_test([*A, np.nan, 1.0], [*B, 0.0, np.nan]) == randomization_test(A, B)
    assert randomization_test(A, A) == 1.0
    assert randomization_test([], []) == 1.0


def test_sampled_p_value_is_never_zero() -> None:
    assert randomization_test(np.ones(40), np.zeros(40), n_resamples=999) == 1 / 1000


def test_t_test_agrees_with_scipy() -> None:
    for n in (2, 5, 60):
        assert paired_t_test(A[:n], B[:n]) == pytest.approx(stats.ttest_rel(A[:n], B[:n]).pvalue, rel=1e-12)
    assert paired_t_test(A, A) == 1.0
    assert paired_t_test([1.0, 2.0, 3.0], [0.0, 1.0, 2.0]) == 0.0
    with pytest.raises(ValueError, match="needs two queries or more; got 1"):
        paired_t_test([1.0], [2.0])


def test_holm_by_hand() -> None:
    # Sorted 0.005, 0.01, 0.03, 0.04: times 4, 3, 2, 1, never falling.
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.9, 0.8]).tolist() == [1.0, 1.0]
    assert holm([0.5]).tolist() == [0.5]
    assert holm([]).shape == (0,)


def test_shapes_must_agree() -> None:
    with pytest.raises(ValueError, match=r"the same queries; got \(60,\) and \(59,\)"):
        randomization_test(A, B[1:])

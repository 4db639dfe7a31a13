"""Uncertainty of a mean over queries, or of the difference of two.

The unit is the query: intervals resample queries, and tests compare two systems on the same queries. Queries
without a value (NaN) are left out.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

__all__ = ["bootstrap_interval", "holm", "paired_t_test", "randomization_test"]

EXACT_UP_TO = 16
"""With this many queries on which two systems differ, all 2^16 patterns of signs are tried instead of a sample."""
BLOCK = 4_000_000
"""Random numbers drawn at a time."""


def bootstrap_interval(
    values: Any, level: float = 0.95, n_resamples: int = 10_000, random_state: Any = 0
) -> tuple[float, float]:
    """Return the percentile bootstrap interval of the mean.

    Parameters
    ----------
    values : (n_queries,) array
        A metric of each query; NaN where it has none.
    level : float
        Coverage.
    n_resamples : int
        Resamples of the queries.
    random_state : int or numpy.random.Generator
        What they are drawn with.

    Returns
    -------
    tuple of float
        Lower and upper end.

    Examples
    --------
    >>> low, high = bootstrap_interval([0.1, 0.4, 0.5, 0.9, 0.3])
    >>> 0.1 < low < 0.44 < high < 0.9
    True
    """
    sample = _values(values)
    if not 0.0 < level < 1.0:
        raise ValueError(f"level must lie between 0 and 1; got {level}")
    if len(sample) == 0:
        return np.nan, np.nan
    generator = np.random.default_rng(random_state)
    means = np.concatenate(
        [
            sample[generator.integers(0, len(sample), size=(rows, len(sample)))].mean(axis=1)
            for rows in _blocks(n_resamples, len(sample))
        ]
    )
    low, high = np.quantile(means, [(1.0 - level) / 2.0, (1.0 + level) / 2.0])
    return float(low), float(high)


def randomization_test(a: Any, b: Any, n_resamples: int = 10_000, random_state: Any = 0) -> float:
    """Return the two-sided p-value of the paired randomization test.

    If the two systems were the same, each query's difference could as well have had the other sign. The p-value is the
    share of sign patterns whose mean difference is at least as large as the one observed: over all patterns if the
    systems differ on at most 16 queries, else over a random sample to which the observed pattern is added, so that it
    is never 0.

    Parameters
    ----------
    a, b : (n_queries,) array
        A metric of two systems on the same queries.
    n_resamples : int
        Size of that sample.
    random_state : int or numpy.random.Generator
        What it is drawn with.

    Returns
    -------
    float
        Two-sided p-value.

    Examples
    --------
    >>> randomization_test([0.5, 0.6, 0.7], [0.4, 0.4, 0.4])  # of 8 patterns, the observed one and its opposite
    0.25
    """
    difference = _paired(a, b)
    difference = difference[difference != 0.0]  # their signs change nothing
    n = len(difference)
    if n == 0:
        return 1.0
    # Sums in another order differ in the last digits: patterns that tie with the observed one must count.
    observed = abs(difference.sum()) - 1e-12 * np.abs(difference).sum()
    if n <= EXACT_UP_TO:
        patterns = (np.arange(2**n)[:, None] >> np.arange(n)) & 1
        return float((np.abs((1.0 - 2.0 * patterns) @ difference) >= observed).mean())
    generator = np.random.default_rng(random_state)
    extreme = 0
    for rows in _blocks(n_resamples, n):
        signs = 1.0 - 2.0 * generator.integers(0, 2, size=(rows, n), dtype=np.int8)
        extreme += int((np.abs(signs @ difference) >= observed).sum())
    return (extreme + 1) / (n_resamples + 1)


def paired_t_test(a: Any, b: Any) -> float:
    """Return the two-sided p-value of Student's paired t-test.

    Parameters
    ----------
    a, b : (n_queries,) array
        A metric of two systems on the same queries.

    Returns
    -------
    float
        Two-sided p-value; 1 if the systems do not differ on any query.

    Examples
    --------
    >>> round(paired_t_test([3, 5, 4, 6], [2, 3, 3, 4]), 4)  # t = 1.5 / (0.5774 / 2), 3 degrees of freedom
    0.0138
    """
    from scipy.special import stdtr

    difference = _paired(a, b)
    n = len(difference)
    if n < 2:
        raise ValueError(f"a t-test needs two queries or more; got {n}")
    if not difference.any():
        return 1.0
    error = difference.std(ddof=1) / np.sqrt(n)
    if error == 0.0:
        return 0.0
    return float(2.0 * stdtr(n - 1, -abs(difference.mean()) / error))


def holm(p_values: Any) -> np.ndarray:
    """Return p-values corrected for their number by Holm's step-down method.

    Parameters
    ----------
    p_values : array of float
        One per comparison.

    Returns
    -------
    numpy.ndarray
        Corrected p-values, in the order given.

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03]).tolist()  # 3 × 0.01, then 2 × 0.03; 1 × 0.04 may not be less than that
    [0.03, 0.06, 0.06]
    """
    p = np.asarray(p_values, dtype=np.float64)
    order = np.argsort(p, kind="stable")
    corrected = np.empty_like(p)
    corrected[order] = np.minimum(np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1)), 1.0)
    return corrected


def student_interval(mean: float, error: float, freedom: int, level: float = 0.95) -> tuple[float, float]:
    """Return Student's interval of a mean with this standard error; NaN if there are not two units to judge it by."""
    from scipy.special import stdtrit

    if freedom < 1:
        return np.nan, np.nan
    reach = float(stdtrit(freedom, (1.0 + level) / 2.0)) * error
    return mean - reach, mean + reach


def student_p_value(mean: float, error: float, freedom: int) -> float:
    """Return the two-sided p-value of Student's test that a mean with this standard error is of 0."""
    from scipy.special import stdtr

    if freedom < 1:
        return np.nan
    if error == 0.0:
        return 1.0 if mean == 0.0 else 0.0
    return float(2.0 * stdtr(freedom, -abs(mean) / error))


def _values(values: Any) -> np.ndarray:
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1:
        raise ValueError(f"values must be one per query; got shape {array.shape}")
    return array[~np.isnan(array)]


def _paired(a: Any, b: Any) -> np.ndarray:
    """Return the differences on the queries that have both values."""
    first, second = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    if first.shape != second.shape or first.ndim != 1:
        raise ValueError(
            f"both systems need one value for each of the same queries; got {first.shape} and {second.shape}"
        )
    return _values(first - second)


def _blocks(n_rows: int, n_columns: int) -> Iterator[int]:
    """Yield numbers of rows that add up to ``n_rows``, each with at most about ``BLOCK`` entries."""
    size = max(BLOCK // max(n_columns, 1), 1)
    for start in range(0, n_rows, size):
        yield min(size, n_rows - start)

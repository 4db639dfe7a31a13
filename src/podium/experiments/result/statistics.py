"""Paired comparison of methods, query by query, and the critical difference of many.

Values of two methods are paired by query. Queries for which a method has no value (NaN) are left out of its
comparisons.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from podium.metrics.significance import bootstrap_interval, holm, randomization_test

TIE = 1e-12
"""Differences below this are rounding."""


@dataclass(frozen=True, slots=True)
class Paired:
    """One method against another on the same queries. Positive differences favor the first."""

    difference: float
    """Difference of the means."""
    low: float
    high: float
    """95 % bootstrap interval of the difference, over queries."""
    effect: float
    """Cohen's d of paired values: mean difference in standard deviations of the differences; 0 if there are none."""
    p_value: float
    """Two-sided p-value of the paired randomization test; corrected by Holm's method if one of several."""
    wins: int
    ties: int
    losses: int
    """Queries on which the first is better, equal, worse."""


def interval(values: np.ndarray) -> tuple[float, float]:
    """Return the 95 % bootstrap interval of a mean; of many values with fewer resamples, which then suffice."""
    return bootstrap_interval(values, n_resamples=10_000 if len(values) <= 2_000 else 1_000)


def paired(a: np.ndarray, b: np.ndarray) -> Paired:
    """Compare two methods by their values on the same queries.

    Examples
    --------
    >>> found = paired([0.5, 0.6, 0.9, 0.7], [0.4, 0.4, 0.9, 0.8])
    >>> found.difference, found.p_value, (found.wins, found.ties, found.losses)
    (0.05, 0.75, (2, 1, 1))
    """
    difference = np.asarray(a, float) - np.asarray(b, float)
    p_value = randomization_test(a, b)
    difference = difference[~np.isnan(difference)]
    difference = np.where(np.abs(difference) < TIE, 0.0, difference)
    deviation = difference.std(ddof=1) if len(difference) > 1 else 0.0
    mean = float(difference.mean()) if len(difference) else float("nan")
    return Paired(
        round(mean, 15),
        *interval(difference),
        float(mean / deviation) if deviation > 0 else 0.0,
        p_value,
        wins=int((difference > 0).sum()),
        ties=int((difference == 0).sum()),
        losses=int((difference < 0).sum()),
    )


def against(values: Mapping[str, np.ndarray], reference: str) -> dict[str, Paired]:
    """Compare every other method with ``reference``; p-values are corrected for their number by Holm's method."""
    others = [name for name in values if name != reference]
    found = [paired(values[name], values[reference]) for name in others]
    corrected = holm([pair.p_value for pair in found])
    return {n: replace(pair, p_value=float(p)) for n, pair, p in zip(others, found, corrected, strict=True)}


@dataclass(frozen=True, slots=True)
class CriticalDifference:
    """Mean ranks of methods over queries, after Demšar (JMLR 2006)."""

    ranks: dict[str, float]
    """By method, best first; 1 is best."""
    distance: float
    """Nemenyi's critical difference: methods whose mean ranks are further apart differ significantly."""
    p_value: float
    """p-value of Friedman's test that all methods are equal; 1 if they never differ."""
    groups: list[tuple[str, ...]]
    """Longest runs of two or more methods, in order of rank, that do not differ significantly."""
    n_queries: int
    level: float


def critical_difference(values: Mapping[str, np.ndarray], level: float = 0.05) -> CriticalDifference:
    """Rank the methods on each query and compare their mean ranks.

    On many queries two methods have equal values; these share the mean of their ranks, and Friedman's statistic is
    corrected for such ties.

    Parameters
    ----------
    values : mapping from method to (n_queries,)
    level : float
        Significance level of Nemenyi's test, for all pairs at once.
    """
    from scipy.stats import chi2, rankdata, studentized_range

    if not 0.0 < level < 1.0:
        raise ValueError(f"level must lie between 0 and 1; got {level}")
    names = list(values)
    matrix = np.column_stack([np.asarray(values[name], float) for name in names]) if names else np.empty((0, 0))
    matrix = np.round(matrix[~np.isnan(matrix).any(axis=1)], 12)
    n, k = matrix.shape
    if n == 0 or k < 2:
        return CriticalDifference(dict.fromkeys(names, 1.0), float("inf"), 1.0, [], n, level)
    ranks = rankdata(-matrix, axis=1)
    mean = ranks.mean(axis=0)
    # Friedman's statistic in the form that needs no correction term for ties (Conover): variation of the mean ranks
    # over that of the single ranks.
    between = n**2 * np.sum((mean - (k + 1) / 2) ** 2)
    within = np.sum((ranks - (k + 1) / 2) ** 2)
    p_value = float(chi2.sf((k - 1) * between / within, k - 1)) if within > 0 else 1.0
    distance = float(studentized_range.ppf(1 - level, k, np.inf) / np.sqrt(2) * np.sqrt(k * (k + 1) / (6 * n)))
    order = np.argsort(mean, kind="stable")
    sorted_names, sorted_ranks = [names[i] for i in order], mean[order]
    return CriticalDifference(
        dict(zip(sorted_names, map(float, sorted_ranks), strict=True)),
        distance,
        p_value,
        _groups(sorted_names, sorted_ranks, distance),
        n,
        level,
    )


def _groups(names: list[str], ranks: np.ndarray, distance: float) -> list[tuple[str, ...]]:
    """Return the runs within the distance that are not part of a longer one."""
    found: list[tuple[str, ...]] = []
    reached = 0
    for start in range(len(names)):
        end = int(np.searchsorted(ranks, ranks[start] + distance, side="right"))
        if end - start > 1 and end > reached:
            found.append(tuple(names[start:end]))
            reached = end
    return found

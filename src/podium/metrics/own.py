"""Metrics of the user's own: a function of one ranked list, called list by list."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, permutations, product
from math import factorial, isinf, prod
from numbers import Real
from typing import TYPE_CHECKING

import numpy as np

from podium.metrics.checks import NameQuery
from podium.metrics.kernel import Shown

if TYPE_CHECKING:
    from podium.metrics.definition import Metric

MOST_ORDERS = 120
"""Up to so many orders of tied documents the mean is over all of them, beyond that over this many random ones."""


def measure_own(metric: Metric, shown: Shown, nothing: float, name_query: NameQuery) -> np.ndarray:
    """Return the metric of each query, (n_queries,)."""
    scores, labels, offsets, keys, pool = shown
    kind, rules = metric.kind, metric.rules
    binary = kind.seeks == "relevant"
    from_grade = rules.relevant_from if binary else np.nextafter(0.0, 1.0)
    values = np.empty(len(offsets) - 1)
    for q in range(len(values)):
        of_query = slice(offsets[q], offsets[q + 1])
        found = pool[of_query] >= from_grade
        if not found.any() and (kind.normalized or np.isnan(nothing) or len(found) == 0):
            values[q] = nothing
            continue
        given = (labels[of_query] >= from_grade).astype(np.float64) if binary else labels[of_query]
        best = np.sort(found.astype(np.float64) if binary else pool[of_query])[::-1]
        rankings = _rankings(scores[of_query], given, keys[of_query] if len(keys) else keys, rules.ties == "average")
        over_orders = [_call(metric, grades, best, name_query(q)) for grades in rankings]
        values[q] = sum(over_orders) / len(over_orders)
    return values


def _call(metric: Metric, grades: np.ndarray, best: np.ndarray, query: str) -> float:
    arguments: list[object] = [grades]
    if metric.kind.takes_best:
        arguments.append(best.copy())
    if metric.kind.cutoff != "none":
        arguments.append(len(grades) if metric.cutoff is None else metric.cutoff)
    try:
        value = metric.kind.function(*arguments)
    except Exception as error:
        raise ValueError(f"the metric {metric.name} fails on {query}: {type(error).__name__}: {error}") from error
    number = value.item() if isinstance(value, np.ndarray | np.generic) and value.ndim == 0 else value
    if not isinstance(number, Real):
        raise ValueError(f"the metric {metric.name} must return a number; for {query} it returned {value!r}")
    if isinf(number):
        raise ValueError(f"the metric {metric.name} is {value} for {query}; return a number, or NaN for no value")
    return float(number)


def _rankings(scores: np.ndarray, labels: np.ndarray, keys: np.ndarray, average: bool) -> Iterator[np.ndarray]:
    """Yield the labels of the retrieved documents in rank order, for each order of tied documents to average over."""
    retrieved = np.flatnonzero(scores > -np.inf)
    by_score = -scores[retrieved]
    order = retrieved[np.lexsort((keys[retrieved], by_score) if len(keys) else (by_score,))]
    groups = np.split(labels[order], np.flatnonzero(scores[order][1:] != scores[order][:-1]) + 1)
    if not average or all((group == group[0]).all() for group in groups if len(group)):
        yield labels[order]
    elif prod(factorial(len(group)) for group in groups) <= MOST_ORDERS:
        for parts in product(*(permutations(group.tolist()) for group in groups)):
            yield np.fromiter(chain.from_iterable(parts), np.float64, len(order))
    else:
        generator = np.random.default_rng(0)  # the same for every list: no value depends on the other queries
        for _ in range(MOST_ORDERS):
            yield labels[retrieved[np.lexsort((generator.random(len(retrieved)), by_score))]]

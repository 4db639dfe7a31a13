"""Metrics that cannot tell methods apart: where every order of the documents gets the same value.

If all documents of a query are relevant, average precision is 1 whatever the order, and so is the mean over such
queries of every method, chance included. A metric like that must not choose anything.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from podium.data.queries import Queries
from podium.metrics import Metric, metric

OTHERS = ("ndcg@10", "ndcg", "map")
"""Asked for in this order where the metric given cannot tell."""


def can_tell(measure: Metric, queries: Queries) -> bool:
    """Return whether some order of some query has another value than another order of it."""
    labels, offsets = queries.labels, queries.offsets
    shuffled = np.random.default_rng(0).random((2, len(labels)))
    values = [measure.per_query(scores, labels, offsets) for scores in (labels, -labels, *shuffled)]
    return any(bool((np.abs(other - values[0]) > 1e-12).any()) for other in values[1:])


def first_that_tells(asked: Sequence[Metric], queries: Queries) -> tuple[Metric, list[str]]:
    """Return the first metric that can tell methods apart on these labels, and a line for each that cannot.

    After those asked for, NDCG and MAP under the same convention are tried.

    Raises
    ------
    ValueError
        If none can.
    """
    more: Iterable[Metric] = (metric(name, asked[0].convention) for name in OTHERS)
    failing: list[str] = []
    for measure in dict.fromkeys([*asked, *more]):
        if can_tell(measure, queries):
            return measure, [f"{name} cannot tell methods apart here: {_reason(queries)}" for name in failing[:1]] + (
                [f"{measure.name} chooses instead"] if failing else []
            )
        failing.append(measure.name)
    raise ValueError(f"no metric can tell methods apart here ({', '.join(failing)}): {_reason(queries)}")


def _reason(queries: Queries) -> str:
    if np.array_equal(*_extremes(queries)):
        return "within each query, all documents have the same grade"
    lowest = float(queries.labels.min())
    if lowest > 0:
        return f"grades begin at {lowest:g}, so that every document counts as relevant"
    return "every order of a query's documents has the same value"


def _extremes(queries: Queries) -> tuple[np.ndarray, np.ndarray]:
    filled = queries.offsets[:-1][queries.sizes > 0]
    return np.minimum.reduceat(queries.labels, filled), np.maximum.reduceat(queries.labels, filled)

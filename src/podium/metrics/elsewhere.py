"""Metrics of queries that are elsewhere, on a cluster: each part's are computed next to it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from podium.data.queries import Queries
from podium.data.remote import RemoteQueries
from podium.metrics.definition import Metric
from podium.metrics.measuring import measure


def with_highest_grade(metric: Metric, queries: Any) -> Metric:
    """Return the metric with the highest grade of all queries as the highest there is, if it takes it from the data.

    A part of queries elsewhere knows its own grades only. For queries in this process nothing changes.
    """
    if not isinstance(queries, RemoteQueries) or not metric.needs_max_grade:
        return metric
    return replace(metric, rules=replace(metric.rules, max_grade=queries.highest_grade()))


def measure_remote(metrics: Sequence[Metric], scores: Any, queries: RemoteQueries) -> np.ndarray:
    """Return the metrics of each query, (n_queries, n_metrics), for scores in the caller's order."""
    asked = [with_highest_grade(metric, queries) for metric in metrics]
    per_part = [(part,) for part in queries.split(scores, "scores")]
    return np.concatenate(queries.each(_measure_part, asked, per_part=per_part))


def _measure_part(part: Queries, scores: np.ndarray, metrics: Sequence[Metric]) -> np.ndarray:
    name: Callable[[int], str] = lambda q: f"query {part.qids[q : q + 1].tolist()[0]!r}"  # noqa: E731
    return measure(metrics, part.group(np.asarray(scores)), part.labels, part.offsets, part.document_ids, name)

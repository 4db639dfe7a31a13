"""Rankings judged per query, and differences between methods with their intervals and tests."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

import podium
from podium.metrics.significance import bootstrap_interval, randomization_test

from .page import FAILS, HOLDS, OPEN, figure

Values = dict[str, list[float]]
"""The values of metrics on each test query, by metric."""
LEVEL = 0.05


def judged(test: podium.Queries, scores: Any, metrics: Sequence[str], convention: str) -> Values:
    """Return the values of metrics, named as asked for, on each query."""
    found = podium.evaluate(test, scores, metrics=list(metrics), convention=convention).per_query
    return {name: values.tolist() for name, values in zip(metrics, found.values(), strict=True)}


def joined(parts: Sequence[Mapping[str, Sequence[float]]]) -> Values:
    """Return the values of several folds, one after the other."""
    return {name: [value for part in parts for value in part[name]] for name in parts[0]}


def averaged(repetitions: Sequence[Mapping[str, Sequence[float]]]) -> dict[str, np.ndarray]:
    """Return the mean over repetitions (seeds) of each query's values."""
    return {name: np.mean([each[name] for each in repetitions], axis=0) for name in repetitions[0]}


def difference(a: Any, b: Any) -> str:
    """Return the mean difference with its interval and the p of its test."""
    a, b = np.asarray(a), np.asarray(b)
    low, high = bootstrap_interval(a - b)
    p = randomization_test(a, b)
    return f"{np.mean(a - b):+.4f} ({low:+.4f} to {high:+.4f}), p {'< 0.001' if p < 0.001 else f'{p:.3f}'}"


def verdict_of(a: Any, b: Any) -> str:
    """Return whether it holds that a is above b: only if their difference is significant, in either direction."""
    if randomization_test(a, b) >= LEVEL:
        return OPEN
    return HOLDS if np.mean(np.asarray(a) - np.asarray(b)) > 0 else FAILS


def best_time(work: Callable[[], Any], repeats: int) -> float:
    """Return the least CPU time of repetitions, in ms: what a machine with other work tells best."""
    times = []
    for _ in range(repeats):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return 1000 * min(times)


def slope(x: Any, y: Any) -> float:
    """Return the exponent of a power law fitted to y(x), by least squares of logarithms."""
    return float(np.polyfit(np.log(x), np.log(y), 1)[0])


def mean(values: Any) -> str:
    return figure(float(np.mean(values)))

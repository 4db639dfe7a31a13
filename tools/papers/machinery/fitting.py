"""Rankers fitted on folds: settings chosen on validation queries, figures on test queries gathered over folds."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

import podium

from .data import CONVENTIONS, Data, Fold
from .judging import Values, averaged, joined, judged
from .run import Run

Figures = dict[Any, dict[str, np.ndarray]]
"""By method: the values of metrics on each test query, means over seeds."""


def n_folds(run: Run, name: str) -> int:
    """Return how many folds a data set has."""
    return 2 if run.quick else 5 if name == "ohsumed" else 1


def fold_of(data: Data, name: str, fold: int) -> Fold:
    return data.folds(name)[fold]


def chosen(part: Fold, rankers: Iterable[Any], metric: str, convention: str) -> tuple[Any, dict[str, Any]]:
    """Fit each ranker; return the best one by a metric on the validation queries, and what is known of the choice.

    The validation queries are also the rankers' ``eval_set``, so that they choose iterations and restarts.
    """
    best, told, start = None, {"valid": -np.inf}, time.perf_counter()
    for number, ranker in enumerate(rankers):
        ranker.fit(part.train, eval_set=part.valid, eval_metric=f"{metric} ({convention})")
        scores = ranker.predict(part.valid)
        value = podium.evaluate(part.valid, scores, metrics=[metric], convention=convention).mean[metric]
        if value > told["valid"]:
            best, told = ranker, {"valid": float(value), "setting": number}
    return best, told | {"seconds": time.perf_counter() - start}


def evaluated(
    data: Data, name: str, fold: int, rankers: Sequence[Any], metrics: Sequence[str], by: str = "map"
) -> dict[str, Any]:
    """Return the test queries' values of the ranker that validation queries choose, and what is known of it."""
    part, convention = fold_of(data, name, fold), CONVENTIONS[name]
    best, told = chosen(part, rankers, by, convention)
    return told | {"values": judged(part.test, best.predict(part.test), metrics, convention)}


def gathered(
    run: Run,
    compute: Callable[..., Any],
    name: str,
    methods: Sequence[Any],
    *,
    seeded: Any = True,
    title: Callable[[Any], str] = str,
) -> tuple[Figures, dict[Any, list[dict[str, Any]]], list[str]]:
    """Gather ``compute(data, name, fold, method, seed)`` over folds and seeds.

    ``seeded`` says for which methods there is more than one seed: all, or those it names. Where nothing may be
    computed, figures are of the seeds that are stored for all folds.

    Returns
    -------
    figures by method; all results by method; paragraphs that say what is missing, with ``title`` for a method's name
    """
    folds = range(n_folds(run, name))
    seeds = {method: run.seeds if seeded is True or method in seeded else run.seeds[:1] for method in methods}
    pairs = [(method, seed) for seed in run.seeds for method in methods if seed in seeds[method]]
    found = run.results(compute, [(name, fold, *pair) for pair in pairs for fold in folds], some=True)
    complete: dict[Any, list[Values]] = {}
    all_results: dict[Any, list[dict[str, Any]]] = {}
    for method, seed in pairs:
        parts = [found[key] for fold in folds if (key := (name, fold, method, seed)) in found]
        if len(parts) == len(folds):
            complete.setdefault(method, []).append(joined([part["values"] for part in parts]))
            all_results.setdefault(method, []).extend(parts)
    lacking = [
        f"{title(method)} ({n} of {len(seeds[method])} seeds)"
        for method in methods
        if (n := len(complete.get(method, ()))) < len(seeds[method])
    ]
    notes = [f"*Not computed yet in full: {', '.join(lacking)}.*"] if lacking else []
    figures = {method: averaged(complete[method]) for method in methods if method in complete}
    return figures, all_results, notes


def means_of(figures: Figures, metric: str) -> dict[Any, float]:
    return {method: float(np.mean(values[metric])) for method, values in figures.items()}

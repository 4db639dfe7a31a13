"""What the figures of a comparison are means of: queries that count alike, folds that do, or queries with weights."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from podium.experiments.result import statistics
from podium.experiments.result.statistics import Paired
from podium.experiments.result.summary import one_per_fold

if TYPE_CHECKING:
    from podium.experiments.result.comparison import Comparison


def weights_by_fold(comparison: Comparison) -> dict[str, np.ndarray]:
    """Return the weights of the test queries of each fold; empty if queries count alike."""
    found: dict[str, np.ndarray] = {}
    if comparison.configuration.estimated:
        for result in comparison.results:
            if result.error is None and result.fold not in found and (arrays := comparison.arrays(result)) is not None:
                weights = arrays.part.weights
                found[result.fold] = np.ones(len(result.qids)) if weights is None else weights
    return {fold: found[fold] for fold in comparison.folds if fold in found}


def fold_mean(comparison: Comparison, method: str, metric: str, fold: str) -> float | None:
    """Return the mean of one fold; None if the method failed there."""
    results = [result for result in comparison.results_of(method) if result.fold == fold]
    if any(result.error is not None for result in results):
        return None
    weights = comparison.fold_weights.get(fold)
    return float(np.mean([_mean(np.asarray(result.per_query[metric], float), weights) for result in results]))


def _mean(values: np.ndarray, weights: np.ndarray | None) -> float:
    if weights is None:
        return float(np.nanmean(values))
    defined = ~np.isnan(values)
    return float(np.average(values[defined], weights=weights[defined])) if weights[defined].any() else float("nan")


def relative_weights(comparison: Comparison, method: str, defined: np.ndarray) -> np.ndarray:
    """Return the weights of the defined queries in the mean that the table shows; their mean is 1."""
    if comparison.fold_weights:
        weights = _all_weights(comparison)[defined]
        return weights / weights.mean() if len(weights) else weights
    if not comparison.averages_folds:
        return np.ones(defined.sum())
    sizes = [len(result.qids) for result in one_per_fold(comparison.results_of(method))]
    folds = np.repeat(np.arange(len(sizes)), sizes)[defined]
    n_defined = np.bincount(folds)
    return len(folds) / (np.count_nonzero(n_defined) * n_defined[folds])


def _all_weights(comparison: Comparison) -> np.ndarray:
    return np.concatenate(list(comparison.fold_weights.values()))


def against(comparison: Comparison, values: Mapping[str, np.ndarray], reference: str, metric: str) -> dict[str, Paired]:
    """Compare methods with one of them by their values on the same queries."""
    if comparison.inference is None:
        return statistics.against(values, reference)
    return comparison.inference.against(values, _all_weights(comparison), reference, metric)


def weighted(comparison: Comparison, method: str, values: np.ndarray) -> np.ndarray:
    """Return values whose plain mean is the figure, from those of each query."""
    defined = ~np.isnan(values)  # under some conventions a query with nothing to find has no value
    values = values[defined]
    if not (comparison.averages_folds or comparison.fold_weights):
        return values
    # The mean of fold means is a weighted mean over queries. Weighting the deviations from it, rather than the
    # values, makes the bootstrap of a plain mean valid: folds of unequal sizes then add no variation of their own.
    weights = relative_weights(comparison, method, defined)
    mean = np.mean(weights * values)
    return np.asarray(mean + weights * (values - mean))

"""The data of the page's charts as one JSON value; every figure comes from the comparison.

Per-query values and rankings grow with the data, so their number is limited. Whole queries are left out where not all
fit, and the page says so.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np

from podium.experiments.report.disagreement import agreement, duels
from podium.experiments.report.published import published_curves
from podium.experiments.report.rankings import explained_method, explanations, places, rankings
from podium.experiments.result.summary import MethodSummary, format_parameters, one_per_fold
from podium.experiments.result.table import units
from podium.experiments.run.outcomes import Result

if TYPE_CHECKING:
    from podium.experiments.result.comparison import Comparison

VALUES = 400_000
"""The most per-query values that a page holds, about 3.5 MB."""


def page_data(comparison: Comparison) -> dict[str, Any]:
    """Return what the page's script reads."""
    rows = [row for row in comparison.rows if row.estimates]
    shown, metrics = _fitting(comparison, rows)
    values = np.array([comparison.values(row.method, comparison.primary) for row in rows])
    return {
        "name": comparison.configuration.data.name,
        "convention": comparison.convention,
        "primary": comparison.primary,
        "silent": list(comparison.configuration.silent),
        "unit": comparison.configuration.unit,
        # Labels are grades, or what an estimator says of the relevance of documents.
        "label": "relevance" if comparison.configuration.estimated else "grade",
        "units": units(comparison),
        "item": comparison.configuration.item,
        "averaged": _averaged(comparison),
        "folds": comparison.folds,
        "features": _feature_names(comparison),
        "methods": [_method(comparison, row) for row in rows],
        "published": published_curves(comparison),
        "queries": _queries(comparison, rows, shown, values),
        # With more digits than can be seen: wins are counted from these, and small differences count.
        "values": {m: [rounded(comparison.values(row.method, m)[shown], 6) for row in rows] for m in metrics},
        "rankings": rankings(comparison, rows, shown, values),
        "explained": _explained(comparison),
        "agreement": agreement(comparison, rows),
        "duels": duels(values),
        "ranks": _ranks(comparison, rows),
    }


def embedded(value: Any) -> str:
    """Return JSON that cannot end the script element around it, whatever its texts are."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def rounded(values: Any, digits: int = 4) -> Any:
    """Return numbers, in nested lists, with as many digits as can be seen; None for None, NaN and infinity."""
    array = np.asarray(values, dtype=np.float64)
    if array.ndim:
        return [rounded(part, digits) for part in array]
    return round(float(array), digits) if np.isfinite(array) else None


def _fitting(comparison: Comparison, rows: list[MethodSummary]) -> tuple[np.ndarray, list[str]]:
    """Return the positions of the test queries that fit into the page, and the metrics whose values do."""
    n_queries, n_methods = comparison.n_queries, max(len(rows), 1)
    step = max(1, -(-n_queries * n_methods // VALUES))
    shown = np.arange(0, n_queries, step)
    n_metrics = max(1, VALUES // max(len(shown) * n_methods, 1))
    others = [name for name in comparison.metrics if name != comparison.primary]
    return shown, [comparison.primary, *others][:n_metrics]


def _method(comparison: Comparison, row: MethodSummary) -> dict[str, Any]:
    return {
        "name": row.method,
        "family": family(comparison, row.method),
        "seconds": rounded(row.seconds, 5),
        "p": rounded(row.p_value, 5),
        "means": {name: rounded([e.mean, e.low, e.high]) for name, e in row.estimates.items()},
        "curve": None if (curve := comparison.curve(row.method)) is None else rounded(curve),
        "history": _history(comparison, row),
        "weights": _weights(comparison, row),
        "trials": [trial for result in row.results for trial in _trials(comparison, result)],
    }


def family(comparison: Comparison, method: str) -> str:
    """Return the family of a method, such as ``listwise``; users' rankers are ``own``."""
    return comparison.configuration.methods[method].family


def _averaged(comparison: Comparison) -> str:
    """Return what the value of one query is a mean over, where it is of several models."""
    seeds = ["seeds"] * (len(comparison.seeds) > 1)
    return " and ".join([*seeds, *["repeated tests"] * (comparison.configuration.average == "repeats")])


def _ranks(comparison: Comparison, rows: list[MethodSummary]) -> dict[str, Any] | None:
    """Return the mean ranks of the methods and their critical difference."""
    if len(rows) < 3:  # for two methods, the paired test says more
        return None
    found = comparison.critical_difference()
    if not np.isfinite(found.distance):
        return None
    return {
        "mean": [rounded(found.ranks[row.method]) for row in rows],
        "critical": rounded(found.distance),
        "queries": found.n_queries,
        "level": found.level,
        "p": rounded(found.p_value, 6),
    }


def _history(comparison: Comparison, row: MethodSummary, most: int = 200) -> dict[str, Any] | None:
    """Return the metric on the validation queries during training of the chosen models; at most ``most`` points."""
    folds = []
    unit = "iterations"
    for result in one_per_fold(row.results):
        arrays = comparison.arrays(result)
        if arrays is None or arrays.model.history is None:
            continue
        unit, values = arrays.model.unit, arrays.model.history
        at = np.linspace(1, len(values), min(len(values), most)).round().astype(int)
        at = np.union1d(at, np.clip(arrays.model.best_iteration or 1, 1, len(values)))  # always with the kept one
        fold, kept = comparison.folds.index(result.fold), arrays.model.best_iteration
        folds.append({"fold": fold, "at": at.tolist(), "values": rounded(values[at - 1]), "kept": kept})
    return {"unit": unit, "folds": folds} if folds else None


def _weights(comparison: Comparison, row: MethodSummary) -> dict[str, Any] | None:
    arrays = [comparison.arrays(result) for result in row.results]
    models = [found.model for found in arrays if found is not None]
    parts = [model.weights for model in models if model.weights is not None]
    if len(parts) < len(arrays) or len({len(part) for part in parts}) > 1:
        return None
    weights = np.stack(parts)
    # Scores have no unit: only the proportions of weights are meaningful, and folds differ in scale.
    scale = np.abs(weights).sum(axis=1, keepdims=True)
    shares = weights / np.where(scale == 0.0, 1.0, scale)
    largest = np.argsort(-np.abs(shares.mean(axis=0)), kind="stable")[:60]
    largest = largest[np.abs(shares[:, largest]).max(axis=0) > 0.0]
    return {
        "linear": models[-1].is_linear,
        "features": largest.tolist(),
        "mean": rounded(shares[:, largest].mean(axis=0), 5),
        "low": rounded(shares[:, largest].min(axis=0), 5),
        "high": rounded(shares[:, largest].max(axis=0), 5),
        "of": int(np.count_nonzero(np.abs(weights).max(axis=0))),
    }


def _trials(comparison: Comparison, result: Result) -> list[list[Any]]:
    fold = comparison.folds.index(result.fold)
    outcomes = [(trial.parameters, trial.validation) for trial in result.trials]
    chosen = (result.parameters, result.validation)
    first = outcomes.index(chosen) if chosen in outcomes else None  # of equals, the first was chosen
    listed = []
    for number, trial in enumerate(result.trials):
        figures = [rounded(trial.validation, 5), rounded(trial.seconds, 5)]
        listed.append([fold, format_parameters(trial.parameters), *figures, number == first, trial.error or ""])
    return listed


def _queries(
    comparison: Comparison, rows: list[MethodSummary], shown: np.ndarray, values: np.ndarray
) -> dict[str, Any]:
    ids, where = comparison.qids, places(comparison, rows)
    return {
        "ids": [ids[i] for i in shown],
        "fold": [where[i][0] for i in shown],
        "total": len(ids),
        "weights": _weights_of(comparison, shown),
        "valued": int((~np.isnan(values).any(axis=0)).sum()) if rows else 0,
    }


def _weights_of(comparison: Comparison, shown: np.ndarray) -> list[float] | None:
    """Return how much each query counts in means; None if all count alike."""
    if not comparison.fold_weights:
        return None
    weights = np.concatenate(list(comparison.fold_weights.values()))
    return [float(weight) for weight in weights[shown]]


def _explained(comparison: Comparison) -> dict[str, Any] | None:
    """Return which method's rankings are explained, how, and how many of them."""
    found = explanations(comparison)
    if not found:
        return None
    words = {"unit": comparison.configuration.unit, "item": comparison.configuration.item}
    how = dict.fromkeys(part.how.format(**words) for part, _ in found.values())
    return {"method": explained_method(comparison), "how": "; ".join(how), "queries": len(found)}


def _feature_names(comparison: Comparison) -> list[str] | None:
    arrays = next(filter(None, map(comparison.arrays, comparison.results)), None)
    names = None if arrays is None else arrays.part.feature_names
    return None if names is None else [str(name) for name in names]

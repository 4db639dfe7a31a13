"""A comparison as frames and JSON-like values: its table, the values of each query, all trials."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from podium.core.atomic import atomic_write
from podium.core.later import polars
from podium.core.parameters import require_choice
from podium.core.showing.frames import as_kind
from podium.experiments.result.summary import MethodSummary, format_parameters

if TYPE_CHECKING:
    from podium.experiments.result.comparison import Comparison


def table(comparison: Comparison) -> polars.DataFrame:
    """Return one row per method, best first."""
    return polars.DataFrame([_flat(comparison, row) for row in comparison.rows], infer_schema_length=None)


def _flat(comparison: Comparison, row: MethodSummary) -> dict[str, Any]:
    primary = comparison.primary
    flat: dict[str, Any] = {"method": row.method, _rules(comparison): comparison.convention}
    for name in comparison.metrics:
        estimate = row.estimates.get(name)
        flat[name] = estimate and estimate.mean
        flat[f"{name} low"] = estimate and estimate.low
        flat[f"{name} high"] = estimate and estimate.high
        if comparison.inference is not None:
            flat[f"{name} effective size"] = comparison.inference.sizes[name].get(row.method)
        if len(comparison.seeds) > 1:
            flat[f"{name} sd of seeds"] = row.seed_spread.get(name)
    return flat | {
        f"p ({primary})": row.p_value,
        f"{primary} on validation": _known(row.validation),
        "seconds": _known(row.seconds),
        "search seconds": _known(row.search_seconds),
        "chosen": row.chosen,
        "error": row.failures[0].error if row.failures else None,
        "notes": "; ".join(comparison.notes) or None,
    }


def _rules(comparison: Comparison) -> str:
    return "estimator" if comparison.configuration.estimated else "convention"


def per_query(comparison: Comparison) -> polars.DataFrame:
    """Return one row per method, seed and test query."""
    parts = [
        polars.DataFrame(
            {
                "method": [result.method] * len(result.qids),
                "fold": [result.fold] * len(result.qids),
                "seed": [result.seed] * len(result.qids),
                "qid": result.qids,
            }
            | {name: np.asarray(result.per_query[name], float) for name in comparison.metrics},
            schema_overrides={"qid": polars.String},
        )
        for result in comparison.results
        if result.error is None
    ]
    return polars.concat(parts) if parts else polars.DataFrame()


def trials(comparison: Comparison) -> polars.DataFrame:
    """Return one row per trial of each search."""
    rows = [
        {
            "method": result.method,
            "fold": result.fold,
            "seed": result.seed,
            "trial": number,
            "trial seed": trial.seed,
            "parameters": format_parameters(trial.parameters),
            f"{comparison.primary} on validation": None if np.isnan(trial.validation) else trial.validation,
            "seconds": trial.seconds,
            "error": trial.error,
        }
        for result in comparison.results
        for number, trial in enumerate(result.trials)
    ]
    return polars.DataFrame(rows, infer_schema_length=None)


def to_frame(comparison: Comparison, what: str, kind: str) -> Any:
    """Return the frame of this name as a frame of this kind."""
    made = {"table": table, "per_query": per_query, "trials": trials}
    require_choice("what", what, tuple(made))
    return as_kind(made[what](comparison), kind)


def written(text: str, path: str | Path | None) -> str:
    """Return the text; write it to the path as well, if there is one."""
    if path is not None:
        with atomic_write(path) as file:
            file.write(text)
    return text


def as_dict(comparison: Comparison) -> dict[str, Any]:
    """Return configuration, table and published figures as JSON-like values."""
    return {
        "configuration": comparison.configuration.to_dict(),
        "best": comparison.best,
        "pick": comparison.pick,
        "notes": comparison.notes,
        "rows": [_plain(comparison, row) for row in comparison.rows],
        "published": [asdict(published) for published in comparison.published],
    }


def _plain(comparison: Comparison, row: MethodSummary) -> dict[str, Any]:
    found = row.estimates.items()
    return {
        "method": row.method,
        "metrics": {name: asdict(estimate) | _chance(comparison, row.method, name) for name, estimate in found},
        "p_value": row.p_value,
        "validation": _known(row.validation),
        "seed_spread": row.seed_spread,
        "seconds": _known(row.seconds),
        "search_seconds": _known(row.search_seconds),
        "parameters": {r.fold: r.parameters for r in row.results[::-1] if r.error is None},
        "errors": {r.fold: r.error for r in row.failures},
    }


def _chance(comparison: Comparison, method: str, metric: str) -> dict[str, Any]:
    """Return what estimated figures and no others have."""
    if comparison.inference is None:
        return {}
    size = comparison.inference.sizes[metric][method]
    return {"estimator": comparison.configuration.estimated["estimator"], "effective_size": size}


def _known(value: float) -> float | None:
    return None if np.isnan(value) else value

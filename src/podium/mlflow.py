"""Comparisons, rankers and evaluations in the runs of MLflow; needs the extra ``mlflow``."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path
from typing import Any

from podium.core.later import required
from podium.experiments.result.comparison import Comparison
from podium.metrics import Evaluation

__all__ = ["log"]

LONGEST = 500
"""The most characters of a parameter that every tracking server takes."""
BATCH = 1000
"""The most metrics that a server takes at once."""


def log(result: Any, *, prefix: str = "") -> None:
    """Log a result to the active run of MLflow, or to a new one.

    Of a comparison, the means of each method (``listnet/ndcg_at_5``), its protocol as parameters, and tables, values of
    the queries and the report as files. Of a fitted ranker, its parameters, the curves of its training, and the model
    file. Of an evaluation, the means. Metrics have ``_at_`` for ``@``, which MLflow does not take; the convention is a
    parameter.

    Parameters
    ----------
    result : Comparison, fitted ranker or Evaluation
        What to log.
    prefix : str
        Put before the names of metrics and parameters and the names of files, to log several results to one run.

    Examples
    --------
    Run by the tests with a store of files; without MLflow, the lines that need it are skipped:

    >>> import podium, podium.mlflow
    >>> train, test = podium.train_test_split(podium.make_queries(n_queries=20, random_state=0), 0.5, random_state=0)
    >>> ranker = podium.ListNet().fit(train)
    >>> import mlflow  # doctest: +SKIP
    >>> with mlflow.start_run():  # doctest: +SKIP
    ...     podium.mlflow.log(ranker)
    ...     podium.mlflow.log(podium.evaluate(test, ranker.predict(test), metrics=["ndcg@5"]), prefix="test_")
    >>> sorted(mlflow.last_active_run().data.metrics)  # doctest: +SKIP
    ['loss', 'test_ndcg_at_5']
    """
    mlflow = required("mlflow", "podium-rank[mlflow]", "logging to MLflow")
    if isinstance(result, Comparison):
        parameters, metrics = _of_comparison(result)
    elif isinstance(result, Evaluation):
        parameters, metrics = {"convention": result.convention}, _means(result.mean)
    elif hasattr(result, "convergence_") and hasattr(result, "save"):
        parameters, metrics = _parameters(result.get_params()), {}
    else:
        raise TypeError(f"a comparison, an evaluation or a fitted ranker can be logged, not a {type(result).__name__}")
    mlflow.log_params({prefix + name: value for name, value in parameters.items()})
    mlflow.log_metrics({prefix + name: value for name, value in metrics.items()})
    with tempfile.TemporaryDirectory() as folder:
        if isinstance(result, Comparison):
            result.save(folder)
            mlflow.log_artifacts(folder, f"{prefix}comparison")
        elif not isinstance(result, Evaluation):
            _log_curves(mlflow, result.convergence_, prefix)
            result.save(Path(folder) / f"{prefix}model.podium")
            mlflow.log_artifact(str(Path(folder) / f"{prefix}model.podium"))


def metric_name(name: str) -> str:
    """Return the name of a metric as MLflow takes it: ``ndcg_at_5`` for ``ndcg@5 (letor)``."""
    return re.sub(r"[^\w./ -]", "_", name.partition(" (")[0].replace("@", "_at_"))


def _means(means: dict[str, float]) -> dict[str, float]:
    return {metric_name(name): value for name, value in means.items()}


def _of_comparison(comparison: Comparison) -> tuple[dict[str, Any], dict[str, float]]:
    parameters = {
        "convention": comparison.convention,
        "primary": comparison.primary,
        "data": comparison.configuration.data.name,
        "protocol": comparison.configuration.protocol.name,
        "methods": ", ".join(comparison.methods),
        "pick": comparison.pick,
    }
    metrics = {
        f"{row.method}/{metric_name(name)}": estimate.mean
        for row in comparison.rows
        for name, estimate in row.estimates.items()
    }
    return {name: str(value)[:LONGEST] for name, value in parameters.items()}, metrics


def _parameters(given: dict[str, Any]) -> dict[str, str]:
    return {name: str(value)[:LONGEST] for name, value in given.items()}


def _log_curves(mlflow: Any, convergence: Any, prefix: str) -> None:
    """Log loss and validation metric of each iteration, with its number as the step."""
    curves = {"loss": convergence.losses}
    if convergence.metric is not None:
        curves[metric_name(convergence.metric)] = convergence.validation
    run = mlflow.active_run() or mlflow.start_run()
    client = mlflow.MlflowClient()
    metrics = [
        mlflow.entities.Metric(prefix + name, float(value), 0, step)
        for name, values in curves.items()
        for step, value in enumerate(values, 1)
    ]
    for start in range(0, len(metrics), BATCH):
        client.log_batch(run.info.run_id, metrics=metrics[start : start + BATCH])

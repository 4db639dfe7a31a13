"""The outcome of a comparison: means with intervals, tests against the best, and the per-query values behind them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from podium.experiments.runs import Configuration, Record

if TYPE_CHECKING:
    import polars

LEVELS = ((0.01, "‡"), (0.05, "†"))
"""Marks of methods that are worse than the best, by corrected p-value."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean over test queries and its 95 % bootstrap interval."""

    mean: float
    low: float
    high: float

    @property
    def half_width(self) -> float:
        return (self.high - self.low) / 2


@dataclass(frozen=True, slots=True)
class Row:
    """One method of the table."""

    method: str
    estimates: dict[str, Estimate]
    """By metric; empty for a method that failed."""
    p_value: float | None
    """Of the paired randomisation test against the best on the primary metric, Holm-corrected; None for the best."""
    seconds: float
    """Training of the chosen model, mean over folds."""
    search_seconds: float
    """Training and validation of all candidates on all folds."""
    records: tuple[Record, ...]
    """One a fold."""

    @property
    def failures(self) -> list[Record]:
        return [record for record in self.records if record.error is not None]

    @property
    def warnings(self) -> dict[str, list[str]]:
        """What fitting the chosen models gave to complain about, and in which folds."""
        found: dict[str, list[str]] = {}
        for record in self.records:
            for warning in record.warnings:
                found.setdefault(warning, []).append(record.fold)
        return found

    @property
    def mark(self) -> str:
        return next((mark for level, mark in LEVELS if self.p_value is not None and self.p_value < level), "")

    @property
    def chosen(self) -> str:
        """The chosen hyper-parameters and in how many folds, commonest first: ``l2=0.01 (4), l2=0.1 (1)``."""
        counts: dict[str, int] = {}
        for record in self.records:
            if record.parameters and record.error is None:
                text = format_parameters(record.parameters)
                counts[text] = counts.get(text, 0) + 1
        if len(counts) == 1:
            return next(iter(counts))
        return ", ".join(f"{text} ({n})" for text, n in sorted(counts.items(), key=lambda item: -item[1]))


class Comparison:
    """Methods compared on the same folds.

    Made by :func:`podium.compare`. ``print(comparison)`` shows the table, :meth:`table` gives it as a frame,
    :attr:`per_query` the values behind it; :attr:`rows` has everything.
    """

    def __init__(
        self,
        configuration: Configuration,
        records: Sequence[Record],
        *,
        folder: Path | None = None,
        seconds: float = 0.0,
    ) -> None:
        self.configuration = configuration
        folds, methods = self.folds, self.methods
        self.records = tuple(sorted(records, key=lambda r: (methods.index(r.method), folds.index(r.fold))))
        """By method, then fold: so the values of two methods belong to the same queries, one by one."""
        self.folder = folder
        """Where trials, tables and report are, if they were kept."""
        self.seconds = seconds
        """Wall time of the call that made it."""

    @property
    def metrics(self) -> list[str]:
        return list(self.configuration["metrics"])

    @property
    def primary(self) -> str:
        """The metric that chose hyper-parameters on the validation parts, orders the table and is tested."""
        return str(self.configuration["primary"])

    @property
    def convention(self) -> str:
        return str(self.configuration["convention"])

    @property
    def methods(self) -> list[str]:
        return list(self.configuration["methods"])

    @property
    def folds(self) -> list[str]:
        return list(self.configuration["data"]["folds"])

    @property
    def averages_folds(self) -> bool:
        """Is a figure the mean of the folds' means, as in the LETOR tables, rather than the mean over all queries?"""
        return bool(self.configuration["average"] == "folds")

    @property
    def n_queries(self) -> int:
        """Test queries, all folds together."""
        return max((sum(len(record.qids) for record in self._of(method)) for method in self.methods), default=0)

    @property
    def failed(self) -> list[str]:
        return [row.method for row in self.rows if row.failures]

    @property
    def best(self) -> str | None:
        """The method with the highest mean of the primary metric."""
        return self.rows[0].method if self.rows and not self.rows[0].failures else None

    @cached_property
    def rows(self) -> list[Row]:
        """One a method, best first, failed ones last."""
        good = [m for m in self.methods if all(record.error is None for record in self._of(m))]
        estimates = {m: {name: self._estimate(m, name) for name in self.metrics} for m in good}
        good.sort(key=lambda m: -estimates[m][self.primary].mean)
        p_values = self._tests(good)
        ordered = good + [m for m in self.methods if m not in estimates]
        return [self._row(m, estimates.get(m, {}), p_values.get(m)) for m in ordered]

    def leads(self, row: Row, metric: str) -> bool:
        """Does this method have the highest mean of this metric?"""
        means = [other.estimates[metric].mean for other in self.rows if other.estimates]
        return bool(row.estimates) and row.estimates[metric].mean == max(means)

    def values(self, method: str, metric: str) -> np.ndarray:
        """A metric on each test query, the folds one after another."""
        return np.concatenate([np.asarray(record.per_query[metric], float) for record in self._of(method)])

    def fold_mean(self, method: str, metric: str, fold: str) -> float | None:
        """The mean of one fold; None if the method failed there."""
        record = next(r for r in self._of(method) if r.fold == fold)
        return None if record.error is not None else float(np.nanmean(record.per_query[metric]))

    def table(self) -> polars.DataFrame:
        """One row a method: each metric's mean and interval, then p-value, times, chosen parameters, error."""
        import polars

        return polars.DataFrame([self._flat(row) for row in self.rows], infer_schema_length=None)

    @property
    def per_query(self) -> polars.DataFrame:
        """One row for each method and test query, one column a metric."""
        import polars

        parts = [
            polars.DataFrame(
                {"method": [r.method] * len(r.qids), "fold": [r.fold] * len(r.qids), "qid": r.qids}
                | {name: np.asarray(r.per_query[name], float) for name in self.metrics},
                schema_overrides={"qid": polars.String},
            )
            for r in self.records
            if r.error is None
        ]
        return polars.concat(parts) if parts else polars.DataFrame()

    def to_markdown(self, path: str | Path | None = None) -> str:
        """The table as Markdown, with the convention and protocol it was computed under; also written to ``path``."""
        from podium.experiments.table import markdown

        return _written(markdown(self), path)

    def to_csv(self, path: str | Path | None = None) -> str:
        """The table as CSV; also written to ``path``."""
        return _written(self.table().write_csv(), path)

    def to_html(self, path: str | Path | None = None) -> str:
        """The report: one self-contained page; also written to ``path``."""
        from podium.experiments.report import page

        return _written(page(self), path)

    def save(self, folder: str | Path) -> None:
        """Write table, per-query values and report into a folder: results.csv, table.md, per_query.csv, report.html."""
        folder = Path(folder)
        self.to_csv(folder / "results.csv")
        self.to_markdown(folder / "table.md")
        _written(self.per_query.write_csv(), folder / "per_query.csv")
        self.to_html(folder / "report.html")

    def to_dict(self) -> dict[str, Any]:
        """Configuration and table as JSON-like values."""
        rows = [
            {
                "method": row.method,
                "metrics": {name: {"mean": e.mean, "low": e.low, "high": e.high} for name, e in row.estimates.items()},
                "p_value": row.p_value,
                "seconds": row.seconds,
                "search_seconds": row.search_seconds,
                "parameters": {r.fold: r.parameters for r in row.records if r.error is None},
                "errors": {r.fold: r.error for r in row.failures},
            }
            for row in self.rows
        ]
        return {"configuration": self.configuration, "best": self.best, "rows": rows}

    def __str__(self) -> str:
        from podium.experiments.table import text

        return text(self)

    def __repr__(self) -> str:
        best = f", best by {self.primary} ({self.convention}): {self.best}" if self.best else ""
        return f"Comparison({len(self.methods)} methods, {len(self.folds)} folds{best})"

    def _of(self, method: str) -> list[Record]:
        return [record for record in self.records if record.method == method]

    def _estimate(self, method: str, metric: str) -> Estimate:
        from podium.metrics.significance import bootstrap_interval

        values = self.values(method, metric)
        folds = np.repeat(np.arange(len(self.folds)), [len(record.qids) for record in self._of(method)])
        defined = ~np.isnan(values)  # under some conventions a query with nothing to find has no value
        values, folds = values[defined], folds[defined]
        if self.averages_folds and len(values):
            # The mean of fold means is a weighted mean over queries. Weighting the deviations from it, rather than the
            # values, lets the bootstrap of a plain mean serve it: unequal folds then add no spread of their own.
            sizes = np.bincount(folds)
            weights = len(values) / (np.count_nonzero(sizes) * sizes[folds])
            mean = np.mean(weights * values)
            values = mean + weights * (values - mean)
        n_resamples = 10_000 if len(values) <= 2_000 else 1_000
        low, high = bootstrap_interval(values, n_resamples=n_resamples)
        return Estimate(float(np.mean(values)) if len(values) else float("nan"), low, high)

    def _tests(self, ordered: Sequence[str]) -> dict[str, float]:
        """Holm-corrected p-values of each method but the first against the first, on the primary metric."""
        from podium.metrics.significance import holm, randomization_test

        if len(ordered) < 2:
            return {}
        best, *others = ordered
        reference = self.values(best, self.primary)
        p_values = [randomization_test(reference, self.values(other, self.primary)) for other in others]
        return dict(zip(others, map(float, holm(p_values)), strict=True))

    def _row(self, method: str, estimates: dict[str, Estimate], p_value: float | None) -> Row:
        records = tuple(self._of(method))
        return Row(
            method,
            estimates,
            p_value,
            seconds=float(np.mean([record.seconds for record in records])),
            search_seconds=float(sum(record.search_seconds for record in records)),
            records=records,
        )

    def _flat(self, row: Row) -> dict[str, Any]:
        flat: dict[str, Any] = {"method": row.method, "convention": self.convention}
        for name in self.metrics:
            estimate = row.estimates.get(name)
            flat[name] = estimate and estimate.mean
            flat[f"{name} low"] = estimate and estimate.low
            flat[f"{name} high"] = estimate and estimate.high
        return flat | {
            f"p ({self.primary})": row.p_value,
            "seconds": row.seconds,
            "search seconds": row.search_seconds,
            "chosen": row.chosen,
            "error": row.failures[0].error if row.failures else None,
        }


def format_parameters(parameters: dict[str, Any]) -> str:
    return " ".join(f"{name}={value}" for name, value in parameters.items())


def _written(text: str, path: str | Path | None) -> str:
    from podium.files import atomic_write

    if path is not None:
        with atomic_write(path) as file:
            file.write(text)
    return text

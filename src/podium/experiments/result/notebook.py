"""A comparison as notebooks show it, and its plot."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from podium.core.showing.html import Html, interval, output, remarks, strong, table
from podium.core.showing.plots import draw_intervals
from podium.experiments.result.table import below, cell, headings, notes, seconds, title

if TYPE_CHECKING:
    from podium.experiments.result.comparison import Comparison


def html(comparison: Comparison) -> str:
    """Return the table with intervals and the notes that explain it."""
    primary, metrics = comparison.primary, comparison.metrics
    known = [row.estimates[primary] for row in comparison.rows if row.estimates]
    scale = (min((e.low for e in known), default=0.0), max((e.high for e in known), default=1.0))
    rows: list[list[Any]] = []
    for row in comparison.rows:
        estimate = row.estimates.get(primary)
        drawn = Html() if estimate is None else interval(estimate.low, estimate.mean, estimate.high, scale)
        texts = ((cell(comparison, row, name), comparison.leads(row, name)) for name in metrics)
        cells = [strong(text) if leads else text for text, leads in texts]
        rows.append([row.method, *cells, drawn, seconds(row.seconds)])
    numbers = [*range(1, len(metrics) + 1), len(metrics) + 2]
    parts = [table(["method", *headings(comparison), primary, "fit (s)"], rows, numbers), remarks(notes(comparison))]
    for heading, lines in below(comparison).items():
        if lines:
            parts += [Html(f"<p>{strong(heading)}</p>\n"), remarks(lines)]
    return output(title(comparison), *parts)


def plot(comparison: Comparison, metric: str | None, ax: Any) -> Any:
    """Draw one mean with its interval per method, the best at the top."""
    name = comparison.primary if metric is None else metric
    if name not in comparison.metrics:
        raise ValueError(f"{name!r} was not compared; the metrics are {', '.join(comparison.metrics)}")
    known = {row.method: row.estimates[name] for row in comparison.rows if row.estimates}
    if not known:
        raise ValueError("no method finished, so there is nothing to plot")
    ordered = sorted(known.items(), key=lambda found: -found[1].mean)
    ranges = [(e.low, e.mean, e.high) for _, e in ordered]
    ax = draw_intervals(ax, [method for method, _ in ordered], ranges)
    ax.set_xlabel(f"{name} ({comparison.convention}) on {comparison.n_queries:,} test queries, 95 % interval")
    ax.set_title(comparison.configuration.data.name)
    return ax

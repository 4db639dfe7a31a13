"""An evaluation as notebooks show it, and its plot."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from podium.core.showing.html import histogram, interval, output, remarks, table
from podium.core.showing.plots import axes, draw_intervals

if TYPE_CHECKING:
    from podium.metrics.evaluation import Evaluation

DRAWS = 20_000_000
"""About the most random numbers that are drawn to show the interval of a metric, so that showing takes no time."""


def html(evaluation: Evaluation) -> str:
    """Return the means with their intervals, and a histogram of the queries' values."""
    n_resamples = _n_resamples(evaluation)
    ranges = _ranges(evaluation, n_resamples)
    known = [range_ for range_ in ranges.values() if np.isfinite(range_).all()]
    scale = (min((r[0] for r in known), default=0.0), max((r[2] for r in known), default=1.0))
    rows = []
    for name, (low, mean, high) in ranges.items():
        out = evaluation.left_out[name]
        values = evaluation.per_query[name]
        rows.append(
            [
                str(evaluation.metrics[name]),
                f"{mean:.4f}",
                f"[{low:.4f}, {high:.4f}]",
                interval(low, mean, high, scale),
                histogram(values, f"values of the queries from {_end(values, np.nanmin)} to {_end(values, np.nanmax)}"),
                f"{out:,} without a value left out" if out else "",
            ]
        )
    resamples = "" if n_resamples == 10_000 else f", from {n_resamples:,} resamples because there are so many queries"
    notes = [
        f"Means over queries with their 95 % bootstrap intervals{resamples}, and histograms of the queries' values."
    ]
    n = len(evaluation.qids)
    return output(
        f"Evaluation of {n:,} {'query' if n == 1 else 'queries'}",
        table(["metric", "mean", "interval", "", "queries", ""], rows, numbers=(1, 2)),
        remarks([*notes, *evaluation.notes]),
    )


def plot(evaluation: Evaluation, name: str | None, ax: Any) -> Any:
    """Draw the means of all metrics, or the histogram of the queries' values of one."""
    n = f"{len(evaluation.qids):,} queries"
    if name is None:
        ranges = _ranges(evaluation, _n_resamples(evaluation))
        ax = draw_intervals(ax, [str(evaluation.metrics[name]) for name in ranges], list(ranges.values()))
        ax.set_xlabel(f"mean over {n} and 95 % interval")
        return ax
    values = evaluation.per_query[name]
    ax = axes(ax)
    ax.hist(values[~np.isnan(values)], bins=20)
    ax.axvline(evaluation.mean[name], color="black", linestyle="--", label=f"mean {evaluation.mean[name]:.4f}")
    ax.set_xlabel(f"{evaluation.metrics[name]} of {n}")
    ax.set_ylabel("queries")
    ax.legend()
    return ax


def _ranges(evaluation: Evaluation, n_resamples: int) -> dict[str, tuple[float, float, float]]:
    found = {}
    for name, mean in evaluation.mean.items():
        low, high = evaluation.interval(name, n_resamples=n_resamples)
        found[name] = (low, mean, high)
    return found


def _n_resamples(evaluation: Evaluation) -> int:
    return min(10_000, max(200, DRAWS // max(len(evaluation.qids), 1)))


def _end(values: np.ndarray, which: Any) -> str:
    return "–" if np.isnan(values).all() else f"{which(values):.4g}"

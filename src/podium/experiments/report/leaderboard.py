"""The leaderboard: every method with intervals and marks, with published rows, sortable and filterable."""

from __future__ import annotations

from html import escape
from math import isnan
from typing import TYPE_CHECKING

from podium.experiments.report.html import bullets, cell, head, method_row, section, table, whisker
from podium.experiments.report.page_data import family
from podium.experiments.report.published import published_rows
from podium.experiments.result.statistics import Paired
from podium.experiments.result.summary import MethodSummary
from podium.experiments.result.table import heading, notes, rules, seconds, size, size_heading, units

if TYPE_CHECKING:
    from podium.experiments.result.comparison import Comparison


def leaderboard(comparison: Comparison) -> str:
    """Return the section; its rows are in the order of the primary metric."""
    primary = comparison.primary
    others = [name for name in comparison.metrics if name != primary]
    low, high = _range(comparison)
    heads = [
        head("method", sort="ascending", key="method"),
        head(heading(comparison, primary), sort="descending", key=primary, number=True, sorted_by=True),
        head(f"95 % interval of {heading(comparison, primary)}"),
        *(head(heading(comparison, name), sort="descending", key=name, number=True) for name in others),
        *(head(text, number=True) for text in size_heading(comparison)),
        head("fit (s)", sort="ascending", key="seconds", number=True),
    ]
    rows = [
        (
            row.estimates[primary].mean if row.estimates else float("-inf"),
            _row(comparison, row, [primary, *others], low, high),
        )
        for row in comparison.rows
    ]
    named = f"convention “{comparison.convention}”"
    caption = f"{len(rows)} methods, {rules(comparison) if comparison.configuration.estimated else named}"
    if theirs := published_rows(comparison, [primary, *others], low, high):
        caption += f"; in italics, {len(theirs)} published rows for these data"
        rows = sorted([*rows, *theirs], key=lambda row: -row[0])
    return section(
        "leaderboard",
        "Leaderboard",
        _filters(comparison, with_published=bool(theirs)),
        table(caption, heads, [row for _, row in rows], name="board"),
        bullets(_explained(comparison)),
    )


def _range(comparison: Comparison) -> tuple[float, float]:
    """Return the scale of the intervals, without chance, which is so far below that the others would have no room."""
    able = [row.estimates[comparison.primary] for row in comparison.rows if row.estimates and row.method != "random"]
    return min((e.low for e in able), default=0.0), max((e.high for e in able), default=1.0)


def _explained(comparison: Comparison) -> list[str]:
    interval = comparison.configuration.estimated.get("interval", f"95 % intervals over {units(comparison)}")
    return [
        *notes(comparison),
        f"Small figures: {interval} (seeds: standard deviation over seeds); under a time, that of all "
        "trials on all folds. Fit: training time of the chosen model, mean over folds.",
        "d: effect size against the best, the mean difference in standard deviations of the differences per query.",
    ]


def _filters(comparison: Comparison, *, with_published: bool) -> str:
    """Return controls for the page's script; without it they stay hidden and the table shows all rows."""
    families = list(dict.fromkeys(family(comparison, row.method) for row in comparison.rows))
    families += ["published"] * with_published
    buttons = "".join(
        f'<button type="button" aria-pressed="false" data-family="{escape(name)}">{escape(name)}</button>'
        for name in families
    )
    return (
        '<div class="controls" id="filters" hidden>'
        '<label>Find <input type="search" id="find" placeholder="a method" autocomplete="off"></label>'
        f'<span class="chips" role="group" aria-label="Families">{buttons}</span>'
        '<span class="soft" id="found" role="status"></span></div>'
    )


def _row(comparison: Comparison, row: MethodSummary, metrics: list[str], low: float, high: float) -> str:
    every = "" if isnan(row.search_seconds) else f"all {seconds(row.search_seconds)}"
    time = cell(seconds(row.seconds), every, kind="number", value=row.seconds)
    if not row.estimates:
        n_failed = len({result.fold for result in row.failures})
        reason = f"failed in {n_failed} of {len(comparison.folds)} folds: {row.failures[0].error}"
        blank = cell("–", kind="number")
        kind, cells = "failed", [blank, cell(reason, kind="wrap"), *[blank] * (len(metrics) - 1)]
    else:
        is_best = row.method == comparison.best
        chart = whisker(row.estimates[metrics[0]], low, high, strong=is_best)
        first, *others = [_figure(comparison, row, metric) for metric in metrics]
        kind = "best" if is_best else ""
        cells = [first, f"<td>{chart}<small>{_compared(row.against_best)}</small></td>", *others]
    sizes = [cell(text, kind="number") for text in size(comparison, row)]
    return method_row(row.method, family(comparison, row.method), kind, [*cells, *sizes, time])


def _compared(against: Paired | None) -> str:
    """Return the p-value and effect size of the difference from the best."""
    if against is None:
        return "best"
    return f"p = {against.p_value:.4f}, d = {against.effect:.2f}".replace("-", "−")


def _figure(comparison: Comparison, row: MethodSummary, metric: str) -> str:
    estimate = row.estimates[metric]
    mark = row.mark if metric == comparison.primary else ""
    interval = f"{estimate.low:.3f} – {estimate.high:.3f}"
    if metric in row.seed_spread:
        interval += f", seeds ±{row.seed_spread[metric]:.4f}"
    lead = " lead" if comparison.leads(row, metric) else ""
    return cell(f"{estimate.mean:.4f}{mark}", interval, kind=f"number{lead}", value=estimate.mean)

"""Published figures in the report: rows of the leaderboard, and pairs of published and our figures."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

from podium.experiments.report.html import cell, dot, head, method_row, row_head, section, table
from podium.experiments.result.published import Pair, PairedTable, paired_tables
from podium.experiments.run.outcomes import CUTOFFS

if TYPE_CHECKING:
    from podium.experiments.result.comparison import Comparison


def published(comparison: Comparison) -> str:
    """Return the section: tables for the same data first, then, folded away and labeled, those for related data."""
    exact = [_table(paired) for paired in paired_tables(comparison, exact=True)]
    context = [
        f"<details><summary>{escape(_capital(paired.table.label))}</summary>{_table(paired)}</details>"
        for paired in paired_tables(comparison, exact=False)
    ]
    lead = "Each published row next to our implementation of the same method; blue: ours is higher." if exact else ""
    return section("published", "Published figures", *exact, *context, lead=lead)


def published_rows(comparison: Comparison, metrics: list[str], low: float, high: float) -> list[tuple[float, str]]:
    """Return rows for the leaderboard, from tables for the same data, each with the figure to sort it by."""
    rows = []
    for paired in paired_tables(comparison, exact=True):
        for row in paired.table.rows:
            first, *_ = found = [row.figures.get(metric) for metric in metrics]
            cells = [cell("–" if v is None else f"{v:.4f}", kind="number", value=v) for v in found]
            chart = "" if first is None else dot(first, low, high)
            source = f"<td>{chart}<small>{escape(paired.table.title)}</small></td>"
            cells = [cells[0], source, *cells[1:], cell("–", kind="number")]
            html = method_row(row.method, "published", "published", cells)
            rows.append((float("-inf") if first is None else first, html))
    return rows


def published_curves(comparison: Comparison) -> list[dict[str, Any]]:
    """Return NDCG@k over k of the published methods whose figures for these data have every k."""
    found = []
    for known in comparison.published:
        for row in known.rows:
            curve = [row.figures.get(f"ndcg@{k}") for k in CUTOFFS]
            if known.exact and None not in curve:
                found.append({"name": f"{row.method}, published", "curve": curve})
    return found


def _table(paired: PairedTable) -> str:
    heads = [head("published"), head("ours"), *(head(metric, number=True) for metric in paired.metrics)]
    about = paired.table
    caption = f"{_capital(about.label)}. Source: {about.source}; convention {about.convention}. {about.note}"
    return table(caption, heads, [_row(pair, paired.metrics) for pair in paired.pairs])


def _row(pair: Pair, metrics: list[str]) -> str:
    cells = []
    for metric in metrics:
        theirs, mine = pair.figures[metric]
        ahead = theirs is not None and mine is not None and mine > theirs
        own = "–" if mine is None else f"ours {mine:.4f}"
        cells.append(cell("–" if theirs is None else f"{theirs:.4f}", own, kind="number ahead" if ahead else "number"))
    note = "best on validation" if pair.is_summary else ""
    kind = ' class="best"' if pair.is_summary else ""
    return f"<tr{kind}>{row_head(pair.published)}{cell(pair.ours or '–', note)}{''.join(cells)}</tr>"


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]

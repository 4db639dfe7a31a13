"""Published figures beside ours in the report: in the leaderboard, and pair by pair."""

from __future__ import annotations

from html import escape
from typing import Any

from podium.experiments.report.html import cell, dot, head, row_head, section, table
from podium.experiments.result.beside import Beside, Line, beside
from podium.experiments.result.comparison import Comparison
from podium.experiments.run.outcomes import CUTOFFS


def published(comparison: Comparison) -> str:
    """The section: tables for the very data first, then, folded away and labelled, those of its relatives."""
    exact = [_table(part) for part in beside(comparison, exact=True)]
    context = [
        f"<details><summary>{escape(_capital(part.table.label))}</summary>{_table(part)}</details>"
        for part in beside(comparison, exact=False)
    ]
    lead = "Each published row next to our implementation of the same method; blue: ours is higher." if exact else ""
    return section("published", "Beside published figures", *exact, *context, lead=lead)


def published_rows(comparison: Comparison, metrics: list[str], low: float, high: float) -> list[tuple[float, str]]:
    """Rows for the leaderboard, of tables for the very data, each with the primary figure to order it by."""
    rows = []
    for part in beside(comparison, exact=True):
        for row in part.table.rows:
            found = [row.figures.get(metric) for metric in metrics]
            cells = [cell("–" if v is None else f"{v:.4f}", kind="number", value=v) for v in found]
            about = f'data-method="{escape(row.method)}" data-family="published"'
            chart = "" if found[0] is None else dot(found[0], low, high)
            source = f"<td>{chart}<small>{escape(part.table.title)}</small></td>"
            name = row_head(row.method, "published")
            blank = cell("–", kind="number")
            html = f'<tr class="published" {about}>{name}{cells[0]}{source}{"".join(cells[1:])}{blank}</tr>'
            rows.append((float("-inf") if found[0] is None else found[0], html))
    return rows


def published_curves(comparison: Comparison) -> list[dict[str, Any]]:
    """NDCG@k against k of the published methods whose figures for these data have every k."""
    found = []
    for part in comparison.published:
        for row in part.rows:
            curve = [row.figures.get(f"ndcg@{k}") for k in CUTOFFS]
            if part.exact and None not in curve:
                found.append({"name": f"{row.method}, published", "curve": curve})
    return found


def _table(part: Beside) -> str:
    heads = [head("published"), head("ours"), *(head(metric, number=True) for metric in part.metrics)]
    about = part.table
    caption = f"{_capital(about.label)}. Source: {about.source}; convention {about.convention}. {about.note}"
    return table(caption, heads, [_line(line, part.metrics) for line in part.lines])


def _line(line: Line, metrics: list[str]) -> str:
    cells = []
    for metric in metrics:
        theirs, mine = line.figures[metric]
        ahead = theirs is not None and mine is not None and mine > theirs
        own = "–" if mine is None else f"ours {mine:.4f}"
        cells.append(cell("–" if theirs is None else f"{theirs:.4f}", own, kind="number ahead" if ahead else "number"))
    note = "best on validation" if line.is_summary else ""
    kind = ' class="best"' if line.is_summary else ""
    return f"<tr{kind}>{row_head(line.published)}{cell(line.ours or '–', note)}{''.join(cells)}</tr>"


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]

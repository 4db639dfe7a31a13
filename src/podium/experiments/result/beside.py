"""Published figures beside ours, row by row: the same pairs for the terminal, Markdown, LaTeX and the report."""

from __future__ import annotations

from dataclasses import dataclass

from podium.experiments.result.comparison import Comparison
from podium.experiments.result.published import PublishedTable

Pair = tuple[float | None, float | None]
"""A published figure and ours; None where there is none."""


@dataclass(frozen=True, slots=True)
class Line:
    """One published method and our method of the same kind."""

    published: str
    ours: str | None
    """None if we have none, or if it took no part."""
    figures: dict[str, Pair]
    is_summary: bool = False
    """Is this the best published figure of each metric, beside the one method that validation would have chosen?"""


@dataclass(frozen=True, slots=True)
class Beside:
    """A published table and our figures."""

    table: PublishedTable
    metrics: list[str]
    """Those that both have."""
    lines: list[Line]


def beside(comparison: Comparison, *, exact: bool | None = None) -> list[Beside]:
    """Each published table that has metrics of ours; ``exact`` keeps those for the same data, or only the others."""
    found = []
    for table in comparison.published:
        known = {metric for row in table.rows for metric in row.figures}
        metrics = [metric for metric in comparison.metrics if metric in known]
        if metrics and exact in (None, table.exact):
            found.append(Beside(table, metrics, [*_lines(comparison, table, metrics)]))
    return found


def figures(line: Line, metrics: list[str]) -> list[str]:
    """Published and ours as text, for formats that have one cell for both."""
    return [" / ".join("–" if f is None else f"{f:.4f}" for f in line.figures[metric]) for metric in metrics]


def _lines(comparison: Comparison, table: PublishedTable, metrics: list[str]) -> list[Line]:
    ours = {row.method: {m: e.mean for m, e in row.estimates.items()} for row in comparison.rows if row.estimates}
    lines = []
    for row in table.rows:
        name = row.ours if row.ours in ours else None
        mine = ours[name] if name else {}
        lines.append(Line(row.method, name, {m: (row.figures.get(m), mine.get(m)) for m in metrics}))
    chosen = comparison.pick
    if table.exact and chosen is not None:
        highest = {m: (found[1] if (found := table.best(m)) else None, ours[chosen].get(m)) for m in metrics}
        lines.append(Line("best of each column", chosen, highest, is_summary=True))
    return lines

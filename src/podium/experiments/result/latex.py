"""A comparison as LaTeX tables for a paper: booktabs rules, the best in bold, daggers for methods that are worse."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from podium.experiments.result.latex_text import escape
from podium.experiments.result.published import PairedTable, paired_tables
from podium.experiments.result.summary import LEVELS, MethodSummary
from podium.experiments.result.table import headings, notes, seconds, title

if TYPE_CHECKING:
    from podium.experiments.result.comparison import Comparison


def latex(comparison: Comparison) -> str:
    """Return a ``table`` environment, and others for published figures; they need the package booktabs only."""
    header = ["Method", *map(escape, headings(comparison)), "Fit (s)"]
    caption = f"{escape(title(comparison))}. {' '.join(escape(note) for note in notes(comparison))}"
    rows = [_row(_cells(comparison, row)) for row in comparison.rows]
    tables = [_environment(caption, "l", header, rows)]
    tables += [_published(paired) for paired in paired_tables(comparison, exact=True)]
    return "\n\n".join([r"% needs \usepackage{booktabs}" + "\n" + tables[0], *tables[1:]]) + "\n"


def _environment(caption: str, left: str, header: Sequence[str], rows: Sequence[str]) -> str:
    """Return a table whose first columns are aligned as ``left`` says and all others to the right."""
    lines = [
        r"\begin{table}",
        r"  \centering",
        rf"  \caption{{{caption}}}",
        rf"  \begin{{tabular}}{{{left}{'r' * (len(header) - len(left))}}}",
        r"    \toprule",
        _row(header),
        r"    \midrule",
        *rows,
        r"    \bottomrule",
        r"  \end{tabular}",
        r"\end{table}",
    ]
    return "\n".join(lines)


def _published(paired: PairedTable) -> str:
    caption = f"Next to {escape(paired.table.label)}. {escape(paired.note)}"
    rows = []
    for pair in paired.pairs:
        rows += [r"    \midrule"] * pair.is_summary
        rows.append(_row(map(escape, [pair.published, pair.ours or "–", *pair.texts(paired.metrics)])))
    return _environment(caption, "ll", ["Published", "Ours", *map(escape, paired.metrics)], rows)


def _row(cells: Iterable[str]) -> str:
    return rf"    {' & '.join(cells)} \\"


def _cells(comparison: Comparison, row: MethodSummary) -> list[str]:
    figures = [_figure(comparison, row, name) for name in comparison.metrics if row.estimates]
    failed = rf"\multicolumn{{{len(comparison.metrics)}}}{{l}}{{failed}}"
    return [escape(row.method), *(figures or [failed]), seconds(row.seconds)]


def _figure(comparison: Comparison, row: MethodSummary, metric: str) -> str:
    estimate = row.estimates[metric]
    figure = f"{estimate.mean:.4f}"
    if comparison.leads(row, metric):
        figure = rf"\textbf{{{figure}}}"
    spread = rf" {{\footnotesize$\pm${estimate.half_width:.3f}}}".replace("$0.", "$.")
    return figure + spread + (_mark(row) if metric == comparison.primary else "")


def _mark(row: MethodSummary) -> str:
    """Return the mark, or space for one, so that the digits of a column are aligned."""
    dagger = _DAGGERS.get(row.mark)
    return f"${dagger}$" if dagger else rf"\phantom{{${_DAGGERS[LEVELS[0][1]]}$}}"


_DAGGERS = {"†": r"^{\dagger}", "‡": r"^{\ddagger}"}

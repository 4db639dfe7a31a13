"""A comparison as a LaTeX table, ready for a paper: booktabs rules, bold for the best, daggers for what is worse."""

from __future__ import annotations

from podium.experiments.result.beside import Beside, beside, figures
from podium.experiments.result.comparison import Comparison
from podium.experiments.result.latex_text import escape
from podium.experiments.result.rows import LEVELS, MethodSummary
from podium.experiments.result.table import beside_note, notes, seconds, title


def latex(comparison: Comparison) -> str:
    """A ``table`` environment, and others for published figures; they need the package booktabs and nothing else."""
    header = ["Method", *(escape(name) for name in comparison.metrics), "Fit (s)"]
    lines = [
        r"% needs \usepackage{booktabs}",
        r"\begin{table}",
        r"  \centering",
        rf"  \caption{{{escape(title(comparison))}. {' '.join(escape(note) for note in notes(comparison))}}}",
        rf"  \begin{{tabular}}{{l{'r' * (len(header) - 1)}}}",
        r"    \toprule",
        rf"    {' & '.join(header)} \\",
        r"    \midrule",
        *(rf"    {' & '.join(_cells(comparison, row))} \\" for row in comparison.rows),
        r"    \bottomrule",
        r"  \end{tabular}",
        r"\end{table}",
    ]
    for part in beside(comparison, exact=True):
        lines += ["", *_beside(part)]
    return "\n".join(lines) + "\n"


def _beside(part: Beside) -> list[str]:
    """Published figures and ours, pair by pair."""
    lines = [
        r"\begin{table}",
        r"  \centering",
        rf"  \caption{{Beside {escape(part.table.label)}. {escape(beside_note(part))}}}",
        rf"  \begin{{tabular}}{{ll{'r' * len(part.metrics)}}}",
        r"    \toprule",
        rf"    Published & Ours & {' & '.join(map(escape, part.metrics))} \\",
        r"    \midrule",
    ]
    for line in part.lines:
        cells = [line.published, line.ours or "–", *figures(line, part.metrics)]
        lines += [r"    \midrule"] * line.is_summary
        lines.append(rf"    {' & '.join(map(escape, cells))} \\")
    return [*lines, r"    \bottomrule", r"  \end{tabular}", r"\end{table}"]


def _cells(comparison: Comparison, row: MethodSummary) -> list[str]:
    if not row.estimates:
        span = len(comparison.metrics)
        return [escape(row.method), rf"\multicolumn{{{span}}}{{l}}{{failed}}", seconds(row.seconds)]
    return [
        escape(row.method),
        *(_figure(comparison, row, name) for name in comparison.metrics),
        seconds(row.seconds),
    ]


def _figure(comparison: Comparison, row: MethodSummary, metric: str) -> str:
    estimate = row.estimates[metric]
    figure = f"{estimate.mean:.4f}"
    if comparison.leads(row, metric):
        figure = rf"\textbf{{{figure}}}"
    spread = rf" {{\footnotesize$\pm${estimate.half_width:.3f}}}".replace("$0.", "$.")
    return figure + spread + (_mark(row) if metric == comparison.primary else "")


def _mark(row: MethodSummary) -> str:
    """The mark, or room for one: digits of a column then stand under each other."""
    widest = LEVELS[0][1]
    return f"${row_mark}$" if (row_mark := _DAGGERS.get(row.mark)) else rf"\phantom{{${_DAGGERS[widest]}$}}"


_DAGGERS = {"†": r"^{\dagger}", "‡": r"^{\ddagger}"}

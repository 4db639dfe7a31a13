"""A comparison as a table to read: in the terminal, as plain text, as Markdown."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from podium.experiments.result.beside import Beside, beside, figures
from podium.experiments.result.comparison import Comparison
from podium.experiments.result.rows import LEVELS, MethodSummary

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table


def notes(comparison: Comparison) -> list[str]:
    """The sentences that make the figures mean something: convention, averaging, protocol, tests."""
    folds = len(comparison.folds)
    each = units(comparison)
    averaging = (
        f"mean of the {folds} folds' means" if comparison.averages_folds and folds > 1 else f"mean over test {each}"
    )
    marks = ", ".join(f"{mark} p < {level}" for level, mark in reversed(LEVELS))
    lines = [
        f"Convention of all metrics: {comparison.convention}. Figures: {averaging}, ± half of the 95 % bootstrap "
        f"interval over {comparison.n_queries} test {each}.",
        f"Hyper-parameters chosen on the validation part by {comparison.primary}; the test part was evaluated once."
        + _normalization(comparison),
    ]
    if len(comparison.seeds) > 1:
        lines.append(
            f"Methods that depend on a seed: mean over {len(comparison.seeds)} seeds; the intervals do not include "
            "the spread over seeds."
        )
    if len(comparison.rows) > 1 and comparison.best:
        lines.append(
            f"Worse than {comparison.best} on {comparison.primary}: {marks} "
            f"(paired randomisation test over {each}, Holm-corrected)."
        )
    if comparison.rehearsal is not None and (picked := comparison.pick):
        lines.append(f"Picked in the rehearsal, without the test parts: {picked} (highest mean of all metrics there).")
    return lines


def markdown(comparison: Comparison) -> str:
    """The table, its notes and the chosen hyper-parameters as Markdown."""
    header = ["method", *comparison.metrics, "fit (s)", "chosen"]
    lines = [
        f"# {_safe(title(comparison))}",
        "",
        _pipe_row(header),
        _pipe_row(["---", *["---:"] * (len(header) - 2), "---"]),
    ]
    for row in comparison.rows:
        cells = []
        for name in comparison.metrics:
            cell = _cell(comparison, row, name).strip()
            cells.append(f"**{cell}**" if comparison.leads(row, name) else cell)
        last = f"failed: {row.failures[0].error}" if row.failures else row.chosen
        lines.append(_pipe_row([row.method, *cells, seconds(row.seconds), last]))
    lines += ["", *(f"{_safe(line)}  " for line in notes(comparison)), ""]
    for part in beside(comparison, exact=True):
        lines += [f"## Beside {_safe(part.table.label)}", "", _safe(beside_note(part)), ""]
        lines += [
            _pipe_row(["published", "ours", *part.metrics]),
            _pipe_row(["---", "---", *["---:"] * len(part.metrics)]),
        ]
        lines += [_pipe_row([line.published, line.ours or "–", *figures(line, part.metrics)]) for line in part.lines]
        lines.append("")
    return "\n".join(lines)


def renderables(comparison: Comparison, width: int) -> list[RenderableType]:
    """What a terminal of this width shows, for rich to print."""
    from rich.text import Text

    table = _rich_table(comparison, comparison.metrics)
    if _width(table) > width:  # then only the primary metric has its interval
        table = _rich_table(comparison, [comparison.primary])
    parts: list[RenderableType] = [table, *(Text(line, style="dim") for line in notes(comparison))]
    for part in beside(comparison, exact=True):
        parts += [Text(), _rich_beside(part), Text(beside_note(part), style="dim")]
    chosen = [f"{row.method}: {row.chosen}" for row in comparison.rows if row.chosen]
    if chosen:
        parts.append(Text("\nChosen on validation (number of folds)", style="bold"))
        parts.extend(Text(f"  {line}") for line in chosen)
    warnings = [f"  {row.method}, {where}: {text}" for row, text, where in complaints(comparison)]
    if warnings:
        parts.append(Text("\nWarnings", style="bold"))
        parts.extend(Text(line) for line in warnings)
    failures = [f"  {row.method}, {result.fold}: {result.error}" for row in comparison.rows for result in row.failures]
    if failures:
        parts.append(Text("\nFailed", style="bold red"))
        parts.extend(Text(line) for line in failures)
    return parts


def _rich_table(comparison: Comparison, with_interval: Sequence[str]) -> Table:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    heading = Text(title(comparison))
    table = Table(title=heading, title_justify="left", title_style="bold", box=SIMPLE_HEAD, pad_edge=False)
    table.add_column("method", overflow="fold")
    for name in (*comparison.metrics, "fit (s)"):
        table.add_column(name, justify="right", overflow="fold")
    for row in comparison.rows:
        cells = [
            Text(
                _cell(comparison, row, name, interval=name in with_interval),
                style="bold" if comparison.leads(row, name) else "",
            )
            for name in comparison.metrics
        ]
        table.add_row(Text(row.method), *cells, seconds(row.seconds), style="red" if row.failures else "")
    return table


def _rich_beside(part: Beside) -> Table:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    heading = Text(f"Beside {part.table.label}: published / ours")
    table = Table(title=heading, title_justify="left", title_style="bold", box=SIMPLE_HEAD, pad_edge=False)
    for name in ("published", "ours"):
        table.add_column(name, overflow="fold")
    for name in part.metrics:
        table.add_column(name, justify="right", overflow="fold")
    for line in part.lines:
        short = [figure.replace("0.", ".") for figure in figures(line, part.metrics)]
        cells = [Text(line.published), Text(line.ours or "–"), *map(Text, short)]
        table.add_row(*cells, style="bold" if line.is_summary else "")
    return table


def beside_note(part: Beside) -> str:
    """Where the figures are from, and what the last line means."""
    note = f"Published / ours. Source: {part.table.source}; convention {part.table.convention}. {part.table.note}"
    summary = next((line for line in part.lines if line.is_summary), None)
    if summary is None:
        return note
    last = f"Last line: the best published figure of each metric, and {summary.ours}, picked without the test parts."
    return f"{note.rstrip('.')}. {last}"


def _width(table: Table) -> int:
    """Of the table if nothing is cut or folded."""
    from rich.console import Console

    return Console(width=1000).measure(table).maximum


def complaints(comparison: Comparison) -> Iterator[tuple[MethodSummary, str, str]]:
    """Each warning that fitting a chosen model gave, and in which folds."""
    for row in comparison.rows:
        for warning, folds in row.warnings.items():
            yield row, warning, "all folds" if len(folds) == len(comparison.folds) > 1 else ", ".join(folds)


def text(comparison: Comparison) -> str:
    """What the terminal shows, as plain text as wide as it needs to be."""
    from rich.console import Console

    out = io.StringIO()
    width = max(100, _width(_rich_table(comparison, comparison.metrics)))
    Console(file=out, width=width, color_system=None).print(*renderables(comparison, width), sep="\n")
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines())


def title(comparison: Comparison) -> str:
    data = comparison.configuration.data
    methods, folds = (
        f"{len(found)} {word}{'s' * (len(found) != 1)}"
        for found, word in ((comparison.methods, "method"), (comparison.folds, "fold"))
    )
    return f"{data.name}: {methods}, {folds}, convention {comparison.convention}"


def units(comparison: Comparison) -> str:
    """What figures are means over: queries, or users."""
    unit = comparison.configuration.unit
    return "queries" if unit == "query" else f"{unit}s"


def seconds(value: float) -> str:
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 1 else f"{value:.2f}"


def _cell(comparison: Comparison, row: MethodSummary, metric: str, *, interval: bool = True) -> str:
    estimate = row.estimates.get(metric)
    if estimate is None:
        return "failed"
    text = f"{estimate.mean:.4f}"
    if interval:
        text += f" ±{estimate.half_width:.3f}".replace("±0.", "±.")
    room_for_mark = row.mark or " "  # keeps the digits of a column under each other
    return text + (room_for_mark if metric == comparison.primary else "")


def _normalization(comparison: Comparison) -> str:
    """A sentence on the features, where there are some."""
    if "normalize" not in comparison.configuration.options:
        return ""
    how = comparison.configuration.options["normalize"]
    described = {
        "minmax": "rescaled to [0, 1] within each query",
        "zscore": "standardised within each query",
        "standard": "standardised by the training part's mean and deviation",
    }
    return f" Features: {described.get(how, 'as they are')}."


def _pipe_row(cells: list[str]) -> str:
    return "| " + " | ".join(_safe(cell.replace("|", "\\|")) for cell in cells) + " |"


def _safe(text: str) -> str:
    """Text in which Markdown finds no HTML: ``<`` may stay where no name of an element follows."""
    return re.sub(r"<(?=[A-Za-z/!?])", "&lt;", text)

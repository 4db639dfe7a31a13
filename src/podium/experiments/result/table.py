"""A comparison as a table to read: for the terminal, as plain text, as Markdown."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from math import isnan
from typing import TYPE_CHECKING

from podium.experiments.plan.external import EXTERNAL
from podium.experiments.result.edges import at_the_edge
from podium.experiments.result.published import PairedTable, paired_tables
from podium.experiments.result.summary import LEVELS, MethodSummary

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table

    from podium.experiments.result.comparison import Comparison


SILENT = "*"
"""Marks metrics that cannot tell methods apart, in all tables."""


def heading(comparison: Comparison, metric: str) -> str:
    """Return the heading of a metric's column, which names the estimator if there is one."""
    estimated = f" ({comparison.convention})" if comparison.configuration.estimated else ""
    return metric + estimated + SILENT * (metric in comparison.configuration.silent)


def rules(comparison: Comparison) -> str:
    """Return what figures follow in a few words: a convention, or an estimator."""
    if comparison.configuration.estimated:
        return f"estimated from clicks ({comparison.convention})"
    return f"convention {comparison.convention}"


def headings(comparison: Comparison) -> list[str]:
    return [heading(comparison, metric) for metric in comparison.metrics]


def size_heading(comparison: Comparison) -> list[str]:
    """Return the heading of the effective sizes of the primary metric, where there are some."""
    return [] if comparison.inference is None else ["effective size"]


def size(comparison: Comparison, row: MethodSummary) -> list[str]:
    """Return the effective size of a method's primary figure, where there are some."""
    if comparison.inference is None:
        return []
    known = comparison.inference.sizes[comparison.primary].get(row.method)
    return ["–" if known is None else f"{known:,.0f}"]


def notes(comparison: Comparison) -> list[str]:
    """Return the sentences that explain the figures: convention, averaging, protocol, tests."""
    each = units(comparison)
    marks = ", ".join(f"{mark} p < {level}" for level, mark in reversed(LEVELS))
    lines, primary = [_averaging(comparison)], heading(comparison, comparison.primary)
    methods = comparison.configuration.methods
    external = [name for name, facts in methods.items() if facts.family == EXTERNAL]
    if len(external) < len(methods):
        lines.append(
            f"Hyper-parameters chosen on the validation part by {primary}; the test part was evaluated once."
            + _normalization(comparison)
        )
    lines += _edges(comparison)
    if external:
        elsewhere = comparison.configuration.estimated.get("external", "Runs that were made elsewhere")
        lines.append(f"{elsewhere}, with nothing trained or chosen here: {', '.join(external)}.")
    if len(comparison.seeds) > 1:
        lines.append(
            f"Methods that depend on a seed: mean over {len(comparison.seeds)} seeds; the intervals do not include "
            "the variation between seeds."
        )
    if len(comparison.rows) > 1 and comparison.best:
        lines.append(
            f"Worse than {comparison.best} on {primary}: {marks} "
            f"({comparison.configuration.estimated.get('test', f'paired randomization test over {each}')}, "
            "Holm-corrected)."
        )
    marks_of = [SILENT] * len(comparison.configuration.silent) + [""] * len(comparison.more_notes)
    lines += [f"{mark} {line}.".strip() for mark, line in zip(marks_of, comparison.notes, strict=True)]
    if comparison.rehearsal is not None and (picked := comparison.pick):
        lines.append(f"Picked in the rehearsal, without the test parts: {picked} (highest mean of all metrics there).")
    return lines


def _averaging(comparison: Comparison) -> str:
    """Return what the figures are means of, and what their intervals are."""
    folds, each, estimated = len(comparison.folds), units(comparison), comparison.configuration.estimated
    if estimated:
        return (
            f"{estimated['how']}. Figures: {estimated['figures']} of {comparison.n_queries} test {each}, "
            f"± half of the {estimated['interval']}."
        )
    averaging = (
        f"mean of the {folds} folds' means" if comparison.averages_folds and folds > 1 else f"mean over test {each}"
    )
    return (
        f"Convention of all metrics: {comparison.convention}. Figures: {averaging}, ± half of the 95 % bootstrap "
        f"interval over {comparison.n_queries} test {each}."
    )


def _edges(comparison: Comparison) -> list[str]:
    """Return a line that names the settings at the ends of their grids, if there are any."""
    methods = comparison.configuration.methods
    found = {row.method: at_the_edge(methods[row.method].grid, row.results) for row in comparison.rows}
    named = [f"{method} {', '.join(phrases)}" for method, phrases in found.items() if phrases]
    return [f"Chosen at the end of a grid, beyond which a better value may lie: {'; '.join(named)}."] if named else []


def markdown(comparison: Comparison) -> str:
    """Return the table, its notes and the chosen hyper-parameters as Markdown."""
    header = ["method", *headings(comparison), *size_heading(comparison), "fit (s)", "chosen"]
    lines = [
        f"# {_safe(title(comparison))}",
        "",
        _pipe_row(header),
        _pipe_row(["---", *["---:"] * (len(header) - 2), "---"]),
    ]
    for row in comparison.rows:
        cells = []
        for name in comparison.metrics:
            text = cell(comparison, row, name).strip()
            cells.append(f"**{text}**" if comparison.leads(row, name) else text)
        last = f"failed: {row.failures[0].error}" if row.failures else row.chosen
        lines.append(_pipe_row([row.method, *cells, *size(comparison, row), seconds(row.seconds), last]))
    lines += ["", *(f"{_safe(line)}  " for line in notes(comparison)), ""]
    for paired in paired_tables(comparison, exact=True):
        lines += [f"## Next to {_safe(paired.table.label)}", "", _safe(paired.note), ""]
        rows = [["published", "ours", *paired.metrics], ["---", "---", *["---:"] * len(paired.metrics)]]
        rows += [[p.published, p.ours or "–", *p.texts(paired.metrics)] for p in paired.pairs]
        lines += [*map(_pipe_row, rows), ""]
    return "\n".join(lines)


def renderables(comparison: Comparison, width: int) -> list[RenderableType]:
    """Return what a terminal of this width shows, for rich to print."""
    from rich.text import Text

    table = _rich_table(comparison, comparison.metrics)
    if _width(table) > width:  # then only the primary metric is shown with its interval
        table = _rich_table(comparison, [comparison.primary])
    parts: list[RenderableType] = [table, *(Text(line, style="dim") for line in notes(comparison))]
    for paired in paired_tables(comparison, exact=True):
        parts += [Text(), _rich_published(paired), Text(paired.note, style="dim")]
    for heading, lines in below(comparison).items():
        if lines:
            parts.append(Text(f"\n{heading}", style="bold red" if heading == "Failed" else "bold"))
            parts.extend(Text(f"  {line}") for line in lines)
    return parts


def below(comparison: Comparison) -> dict[str, list[str]]:
    """Return the lines that follow the table by their heading: choices, warnings, failures."""
    return {
        "Chosen on validation (number of folds)": [f"{r.method}: {r.chosen}" for r in comparison.rows if r.chosen],
        "Warnings": warning_lines(comparison),
        "Failed": [f"{r.method}, {failed.fold}: {failed.error}" for r in comparison.rows for failed in r.failures],
    }


def _rich_table(comparison: Comparison, with_interval: Sequence[str]) -> Table:
    from rich.text import Text

    table = _new_table(title(comparison), ["method"], [*headings(comparison), *size_heading(comparison), "fit (s)"])
    for row in comparison.rows:
        cells = [
            Text(
                cell(comparison, row, name, interval=name in with_interval),
                style="bold" if comparison.leads(row, name) else "",
            )
            for name in comparison.metrics
        ]
        more = [*size(comparison, row), seconds(row.seconds)]
        table.add_row(Text(row.method), *cells, *more, style="red" if row.failures else "")
    return table


def _rich_published(paired: PairedTable) -> Table:
    from rich.text import Text

    table = _new_table(f"Next to {paired.table.label}: published / ours", ["published", "ours"], paired.metrics)
    for pair in paired.pairs:
        short = [figure.replace("0.", ".") for figure in pair.texts(paired.metrics)]
        cells = map(Text, [pair.published, pair.ours or "–", *short])
        table.add_row(*cells, style="bold" if pair.is_summary else "")
    return table


def _new_table(heading: str, texts: Sequence[str], numbers: Sequence[str]) -> Table:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    table = Table(title=Text(heading), title_justify="left", title_style="bold", box=SIMPLE_HEAD, pad_edge=False)
    for name in texts:
        table.add_column(name, overflow="fold")
    for name in numbers:
        table.add_column(name, justify="right", overflow="fold")
    return table


def _width(table: Table) -> int:
    """Return the width of the table if nothing is cut or folded."""
    from rich.console import Console

    return Console(width=1000).measure(table).maximum


def warning_lines(comparison: Comparison) -> list[str]:
    """Return each warning raised while a selected model was fitted, with its method and folds."""
    return [
        f"{row.method}, {'all folds' if len(folds) == len(comparison.folds) > 1 else ', '.join(folds)}: {warning}"
        for row in comparison.rows
        for warning, folds in row.warnings.items()
    ]


def plain_text(comparison: Comparison) -> str:
    """Return what the terminal shows, as plain text as wide as it needs to be."""
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
    return f"{data.name}: {methods}, {folds}, {rules(comparison)}"


def units(comparison: Comparison) -> str:
    """Return what figures are means over, in the plural: queries, or users."""
    unit = comparison.configuration.unit
    return "queries" if unit == "query" else f"{unit}s"


def seconds(value: float) -> str:
    """Return a time with as many digits as matter; a dash if it is not known."""
    if isnan(value):
        return "–"
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 1 else f"{value:.2f}"


def cell(comparison: Comparison, row: MethodSummary, metric: str, *, interval: bool = True) -> str:
    """Return the figure of a method, with half of its interval and its mark on the primary metric."""
    estimate = row.estimates.get(metric)
    if estimate is None:
        return "failed"
    text = f"{estimate.mean:.4f}"
    if interval:
        text += f" ±{estimate.half_width:.3f}".replace("±0.", "±.")
    mark = row.mark or " "  # keeps the digits of a column aligned
    return text + (mark if metric == comparison.primary else "")


def _normalization(comparison: Comparison) -> str:
    """Return a sentence on the features, where there are some."""
    if "normalize" not in comparison.configuration.options:
        return ""
    described = {
        "minmax": "rescaled to [0, 1] within each query",
        "zscore": "standardized within each query",
        "standard": "standardized by the training part's mean and deviation",
        "robust": "standardized by the training part's mean and deviation, as logarithms where tails are heavy",
        "none": "as they are",
        "searched": "as the search chose",
        None: "as it does itself",
    }
    how = described[str(comparison.configuration.options["normalize"]).lower()]
    others: dict[str, list[str]] = {}
    for name, facts in comparison.configuration.methods.items():
        own = described[facts.features] if facts.family == "own" and "normalize" not in facts.fixed else how
        if own != how:
            others.setdefault(own, []).append(name)
    apart = "; ".join(f"{', '.join(names)}: {own}" for own, names in others.items())
    return f" Features: {how}{f' ({apart})' * bool(apart)}."


def _pipe_row(cells: list[str]) -> str:
    return "| " + " | ".join(map(_safe, cells)) + " |"


def _safe(text: str) -> str:
    """Return text on one line in which Markdown finds no HTML, links, pictures, code or ends of cells.

    ``<`` may stay where no name of an element follows. Addresses are not even links without brackets.
    """
    text = re.sub(r"([\\\[\]`|])", r"\\\1", " ".join(text.splitlines()))
    text = re.sub(r"<(?=[A-Za-z/!?])", "&lt;", text)
    return re.sub(r"(?i)(?<=[a-z]):(?=//)|(?<=www)\.|@(?=\w+\.)", lambda found: f"&#{ord(found[0])};", text)

"""How the figures were obtained: folds, chosen hyper-parameters, failures, warnings, setup."""

from __future__ import annotations

from dataclasses import asdict
from html import escape
from typing import TYPE_CHECKING, Any

from podium.experiments.plan.configuration import MethodFacts
from podium.experiments.report.html import bullets, cell, facts, figure, head, row_head, section, table
from podium.experiments.result.summary import format_parameters
from podium.experiments.result.table import seconds, warning_lines
from podium.experiments.run.outcomes import Result
from podium.experiments.run.store import FILE
from podium.experiments.run.surroundings import surroundings
from podium.metrics.conventions import convention

if TYPE_CHECKING:
    from podium.experiments.result.comparison import Comparison


def by_fold(comparison: Comparison) -> str:
    """Return the primary metric of each method on each fold."""
    if len(comparison.folds) < 2:
        return ""
    heads = [head("method"), *(head(fold, number=True) for fold in comparison.folds)]
    rows = []
    for row in comparison.rows:
        means = [comparison.fold_mean(row.method, comparison.primary, fold) for fold in comparison.folds]
        cells = "".join(cell("failed" if m is None else f"{m:.4f}", kind="number") for m in means)
        rows.append(f"<tr>{row_head(row.method)}{cells}</tr>")
    caption = f"{comparison.primary} ({comparison.convention}) on each fold’s test part"
    return section("folds", "Fold by fold", table(caption, heads, rows))


def choices(comparison: Comparison) -> str:
    """Return what was chosen on each fold's validation part, and everything that was tried."""
    heads = [head("method"), *(head(fold) for fold in comparison.folds)]
    rows = []
    for row in comparison.rows:
        cells = [_choice([result for result in row.results if result.fold == fold]) for fold in comparison.folds]
        rows.append(f"<tr>{row_head(row.method)}{''.join(cells)}</tr>")
    caption = f"Chosen by {comparison.primary} ({comparison.convention}) on the validation part, with its value there"
    tried = (
        f'<details id="trials"><summary>Every setting that was tried</summary>{figure("trials-table")}</details>'
        if any(result.trials for result in comparison.results)
        else ""
    )
    lead = f"Test {'clicks' if comparison.configuration.estimated else 'labels'} were not used for these choices."
    return section("choices", "Chosen hyper-parameters", table(caption, heads, rows), tried, lead=lead)


def _choice(results: list[Result]) -> str:
    """Return the cell of a method and fold: one setting, or those of several seeds."""
    if any(result.error is not None for result in results):
        return cell("failed")
    settings = dict.fromkeys(format_parameters(result.parameters) or "–" for result in results)
    found = [result.validation for result in results if result.validation is not None]
    n_tried = max(len(result.trials) for result in results)
    details = ([f"{sum(found) / len(found):.4f}"] if found else []) + [f"best of {n_tried}"] * (n_tried > 1)
    return cell("; ".join(settings), ", ".join(details), kind="choice")


def failures(comparison: Comparison) -> str:
    parts = [
        f"<details><summary>{escape(row.method)}, {escape(result.fold)}: {escape(str(result.error))}</summary>"
        f"<pre>{escape(result.traceback or 'no traceback')}</pre></details>"
        for row in comparison.rows
        for result in row.failures
    ]
    return section("failed", "Failed", *parts)


def warnings(comparison: Comparison) -> str:
    return section("warnings", "Warnings", bullets(warning_lines(comparison)))


def next_step(comparison: Comparison) -> str:
    """Return the command that makes a model of what was picked."""
    command = comparison.train_command
    if command is None:
        return ""
    lead = f"{comparison.pick}, picked without the test parts, is fitted on all these data by"
    return section("train", "Train the pick", f"<pre><code>{escape(command)}</code></pre>", lead=lead)


def setup(comparison: Comparison) -> str:
    """Return everything needed to reproduce the figures, and the figures as files."""
    configuration = comparison.configuration
    data = configuration.data
    ran_on = comparison.run_facts or surroundings()
    listed: dict[str, Any] = {
        "data": f"{data.name} ({data.description})",
        "fingerprint": data.fingerprint,
        "metrics": ", ".join(comparison.metrics),
        "convention": "" if configuration.estimated else _describe_convention(comparison.convention),
        "estimated": configuration.estimated.get("how"),
        **{
            "features" if name == "normalize" else name: v or "as they are" for name, v in configuration.options.items()
        },
        "protocol": configuration.protocol.text,
        "search": _describe_search(configuration.search),
        "seed" if len(comparison.seeds) == 1 else "seeds": ", ".join(map(str, comparison.seeds)),
        "podium": configuration.podium,
        "versions": _plain(ran_on.get("versions", {})),
        "machine": _plain(ran_on.get("machine", {})),
        "date": str(ran_on.get("date", "")).replace("T", " ").replace("+00:00", " UTC"),
        "wall time": _describe_time(comparison),
    }
    grids = [_describe_grid(name, about) for name, about in configuration.methods.items()]
    searched = f"<details><summary>Settings searched for each method</summary>{bullets(grids)}</details>"
    about = facts((name, str(value)) for name, value in listed.items() if value not in ("", None))
    return section("setup", "Setup", about, searched, _files(comparison))


def _describe_time(comparison: Comparison) -> str:
    rehearsal = comparison.rehearsal
    before = "" if rehearsal is None else f", after a rehearsal of {seconds(rehearsal.seconds)} s"
    return f"{seconds(comparison.seconds)} s{before}"


def _describe_search(search: dict[str, Any]) -> str:
    budget = search.get("budget")
    return str(search.get("strategy", "grid")) + (f", {budget} trials for each method and fold" if budget else "")


def _files(comparison: Comparison) -> str:
    """Return links to the files next to the page, and buttons that save figures of the page as files."""
    names = ["results.csv", "per_query.csv", "trials.csv", "table.md", "table.tex", FILE]
    links = "".join(f'<li><a href="{name}">{name}</a></li>' for name in names)
    listed = f'<p>Next to this page, in the folder of the run:</p><ul class="files">{links}</ul>'
    buttons = (
        '<div class="controls" id="downloads" hidden>'
        '<button type="button" data-download="table">Save the table as CSV</button>'
        '<button type="button" data-download="values">Save the values per query as CSV</button></div>'
    )
    return f"<h3>Raw figures</h3>{listed if comparison.folder else ''}{buttons}"


def _plain(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {_plain(part)}" for name, part in value.items())
    return ", ".join(map(_plain, value)) if isinstance(value, list) else str(value)


def _describe_grid(name: str, facts: MethodFacts) -> str:
    if not facts.grid:
        return f"{name}: nothing to search"
    return f"{name}: " + ", ".join(f"{p} ∈ {{{_plain(values)}}}" for p, values in facts.grid.items())


def _describe_convention(name: str) -> str:
    """Return the name and the facts of a convention."""
    about = asdict(convention(name))
    listed = ", ".join(f"{fact} {value}" for fact, value in about.items() if fact != "name" and value is not None)
    return f"{name} ({listed.replace('_', ' ')})"

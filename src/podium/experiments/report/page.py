"""The page: what was compared and how, the leaderboard, curves, choices and failures, top to bottom."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import asdict
from html import escape
from importlib import resources
from typing import Any

from podium.experiments.comparison import Comparison, Row, format_parameters
from podium.experiments.report.charts import curves, whisker
from podium.experiments.runs import versions
from podium.experiments.table import complaints, notes, seconds, title

# Nothing may be fetched: what the page shows is in the page.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'"


def page(comparison: Comparison) -> str:
    """The report of a comparison as one HTML document."""
    heading = escape(title(comparison))
    body = "\n".join(
        [
            f"<h1>{heading}</h1>",
            _facts(comparison),
            _failures(comparison),
            _leaderboard(comparison),
            _curves(comparison),
            _by_fold(comparison),
            _choices(comparison),
            _warnings(comparison),
            _setting(comparison),
        ]
    )
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{heading}</title>\n<style>\n{_asset('style.css')}</style>\n</head>\n"
        f"<body>\n<main>\n{body}\n</main>\n<script>\n{_asset('sort.js')}</script>\n</body>\n</html>\n"
    )


def _facts(comparison: Comparison) -> str:
    data = comparison.configuration["data"]
    facts = [
        ("data", data["description"]),
        ("test queries", comparison.n_queries),
        ("convention", comparison.convention),
        ("chosen by", f"{comparison.primary} on validation"),
        ("best", comparison.best or "none"),
    ]
    items = "".join(f"<li>{escape(name)} <b>{escape(str(value))}</b></li>" for name, value in facts)
    return f'<ul class="facts">{items}</ul>'


def _leaderboard(comparison: Comparison) -> str:
    scales = [row.estimates[comparison.primary] for row in comparison.rows if row.estimates]
    low, high = min((e.low for e in scales), default=0.0), max((e.high for e in scales), default=1.0)
    heads = [
        _head("method", sort="ascending"),
        _head(f"{comparison.primary} with interval", sort="descending"),
        *(_head(name, sort="descending", number=True) for name in comparison.metrics),
        _head("fit (s)", sort="ascending", number=True),
    ]
    rows = "\n".join(_leaderboard_row(comparison, row, low, high) for row in comparison.rows)
    caption = (
        f"All metrics under the convention “{escape(comparison.convention)}”; the small figures are 95 % intervals. "
        f"p: difference from the best on {escape(comparison.primary)}. "
        "Fit: training of the chosen model, mean over folds; all: every candidate on every fold."
    )
    lines = "".join(f"<li>{escape(note)}</li>" for note in notes(comparison))
    return f'<h2>Leaderboard</h2>\n{_table(caption, heads, rows, sortable=True)}\n<ul class="notes">{lines}</ul>'


def _leaderboard_row(comparison: Comparison, row: Row, low: float, high: float) -> str:
    name = _row_head(row.method)
    search = f"<small>all {seconds(row.search_seconds)}</small>"
    time = _number(seconds(row.seconds), row.seconds, search)
    if not row.estimates:
        error = escape(f"failed in {len(row.failures)} of {len(row.records)} folds: {row.failures[0].error}")
        blanks = '<td data-value=""></td>' * len(comparison.metrics)
        return f'<tr class="failed">{name}<td class="wrap" data-value="">{error}</td>{blanks}{time}</tr>'
    primary = row.estimates[comparison.primary]
    is_best = row.method == comparison.best
    p_value = "best" if row.p_value is None else f"p = {row.p_value:.4f}"
    chart = f"{whisker(primary, low, high, strong=is_best)}<small>{p_value}</small>"
    cells = [f'<td data-value="{primary.mean!r}">{chart}</td>']
    for metric in comparison.metrics:
        estimate = row.estimates[metric]
        mark = row.mark if metric == comparison.primary else ""
        interval = f"<small>{estimate.low:.3f} – {estimate.high:.3f}</small>"
        kind = " lead" * comparison.leads(row, metric)
        cells.append(_number(f"{estimate.mean:.4f}{mark}", estimate.mean, interval, kind))
    return f"<tr{' class=best' * is_best}>{name}{''.join(cells)}{time}</tr>"


def _curves(comparison: Comparison) -> str:
    """Families of metrics with several cut-offs, drawn against the cut-off."""
    families: dict[str, list[int]] = {}
    for name in comparison.metrics:
        if match := re.fullmatch(r"(.+)@(\d+)", name):
            families.setdefault(match[1], []).append(int(match[2]))
    charts = []
    # Chance would stretch the scale so far that the others fall into one line.
    shown = [row for row in comparison.rows if row.estimates and row.method != "random"]
    for family, cutoffs in families.items():
        if len(cutoffs) < 2 or not shown:
            continue
        cutoffs = sorted(set(cutoffs))
        series = {row.method: [row.estimates[f"{family}@{k}"].mean for k in cutoffs] for row in shown}
        name = f"{family}@k ({comparison.convention})"
        chart = curves(series, cutoffs, x_name="cut-off k", y_name=name)
        note = '<p class="soft">The method “random” is left out: it would flatten the rest.</p>'
        charts.append(f'<h2>{escape(name)}</h2>\n<div class="scroll" tabindex="0">{chart}</div>\n{note}')
    return "\n".join(charts)


def _by_fold(comparison: Comparison) -> str:
    if len(comparison.folds) < 2:
        return ""
    heads = [_head("method"), *(_head(fold, number=True) for fold in comparison.folds)]
    rows = []
    for row in comparison.rows:
        means = [comparison.fold_mean(row.method, comparison.primary, fold) for fold in comparison.folds]
        cells = "".join(_number("failed" if m is None else f"{m:.4f}", m) for m in means)
        rows.append(f"<tr>{_row_head(row.method)}{cells}</tr>")
    caption = f"{escape(comparison.primary)} ({escape(comparison.convention)}) on each fold's test part."
    return f"<h2>Fold by fold</h2>\n{_table(caption, heads, chr(10).join(rows))}"


def _choices(comparison: Comparison) -> str:
    heads = [_head("method"), *(_head(fold) for fold in comparison.folds)]
    rows = []
    for row in comparison.rows:
        cells = []
        for record in row.records:
            if record.error is not None:
                cells.append("<td>failed</td>")
                continue
            details = [] if record.validation is None else [f"{record.validation:.4f}"]
            details += [f"best of {len(record.candidates)}"] * (len(record.candidates) > 1)
            small = f"<small>{escape(', '.join(details))}</small>"
            cells.append(f'<td class="choice">{escape(format_parameters(record.parameters) or "–")}{small}</td>')
        rows.append(f"<tr>{_row_head(row.method)}{''.join(cells)}</tr>")
    caption = (
        f"Chosen by {escape(comparison.primary)} ({escape(comparison.convention)}) on each fold's validation part, "
        "with its value there; test labels took no part in it."
    )
    return f"<h2>Chosen hyper-parameters</h2>\n{_table(caption, heads, chr(10).join(rows))}"


def _failures(comparison: Comparison) -> str:
    parts = [
        f"<details><summary>{escape(row.method)}, {escape(record.fold)}: {escape(str(record.error))}</summary>"
        f"<pre>{escape(record.traceback or 'no traceback')}</pre></details>"
        for row in comparison.rows
        for record in row.failures
    ]
    return "\n".join(["<h2>Failed</h2>", *parts]) if parts else ""


def _warnings(comparison: Comparison) -> str:
    items = "".join(
        f"<li>{escape(f'{row.method}, {where}: {text}')}</li>" for row, text, where in complaints(comparison)
    )
    return f"<h2>Warnings</h2>\n<ul>{items}</ul>" if items else ""


def _setting(comparison: Comparison) -> str:
    configuration = comparison.configuration
    data = configuration["data"]
    facts: dict[str, Any] = {
        "data": f"{data['name']} ({data['description']})",
        "fingerprint": data["fingerprint"],
        "metrics": ", ".join(comparison.metrics),
        "convention": _describe_convention(comparison.convention),
        "features": configuration["normalize"] or "as they are",
        "seed": configuration["seed"],
        "podium": configuration["podium"],
        "versions": ", ".join(f"{name} {version}" for name, version in versions().items()),
        "grids": "; ".join(_describe_grid(name, m["grid"]) for name, m in configuration["methods"].items()),
        "wall time": f"{seconds(comparison.seconds)} s for the last call; trials computed earlier are not counted",
    }
    items = "".join(f"<dt>{escape(name)}</dt><dd>{escape(str(value))}</dd>" for name, value in facts.items())
    return f"<h2>Setting</h2>\n<dl>{items}</dl>"


def _describe_grid(name: str, grid: dict[str, Any]) -> str:
    if not grid:
        return f"{name}: nothing to choose"
    return f"{name}: " + ", ".join(f"{p} ∈ {{{', '.join(map(str, values))}}}" for p, values in grid.items())


def _describe_convention(name: str) -> str:
    """The convention's name and the facts behind it."""
    from podium.metrics.conventions import convention

    facts = asdict(convention(name))
    listed = ", ".join(f"{fact} {value}" for fact, value in facts.items() if fact != "name" and value is not None)
    return f"{name} ({listed.replace('_', ' ')})"


def _table(caption: str, heads: Iterable[str], rows: str, *, sortable: bool = False) -> str:
    return (
        f'<div class="scroll" tabindex="0"><table{" class=sortable" * sortable}>'
        f"<caption><div>{caption}</div></caption>\n"
        f"<thead><tr>{''.join(heads)}</tr></thead>\n<tbody>\n{rows}\n</tbody></table></div>"
    )


def _head(text: str, *, sort: str | None = None, number: bool = False) -> str:
    kind = " class=number" * number
    if sort is None:
        return f'<th scope="col"{kind}>{escape(text)}</th>'
    return f'<th scope="col"{kind} data-first="{sort}"><button type="button">{escape(text)}</button></th>'


def _row_head(method: str) -> str:
    return f'<th scope="row">{escape(method)}</th>'


def _number(text: str, value: float | None, more: str = "", kind: str = "") -> str:
    return f'<td class="number{kind}" data-value="{"" if value is None else repr(value)}">{escape(text)}{more}</td>'


def _asset(name: str) -> str:
    return resources.files("podium.experiments.report").joinpath(name).read_text("utf-8")

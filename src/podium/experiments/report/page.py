"""The report: outcome, leaderboard, charts, single queries, and how the figures were obtained, on one page.

Charts are SVG, drawn in the browser by a thousand lines of our own from figures embedded as JSON. An inlined plotting
library would add one to five megabytes, more than twenty times the rest of the page, with its own fonts, colors and
tooltips. So the page stays small, prints well and follows the reader's light or dark mode.
"""

from __future__ import annotations

import base64
import hashlib
import re
from html import escape
from importlib import resources
from typing import TYPE_CHECKING, Any

from podium.experiments.report.html import figure, section
from podium.experiments.report.leaderboard import leaderboard
from podium.experiments.report.page_data import embedded, page_data
from podium.experiments.report.provenance import by_fold, choices, failures, next_step, setup, warnings
from podium.experiments.report.published import published
from podium.experiments.result.table import heading, rules, seconds, title, units

if TYPE_CHECKING:
    from podium.experiments.result.comparison import Comparison

SCRIPTS = (
    *("core", "state", "charts", "keys", "leaderboard", "lines", "cost"),
    *("statistics", "disagreement", "why", "explorer", "weights", "files", "start"),
)
"""In this order: later ones use earlier ones."""


def page(comparison: Comparison) -> str:
    """Return the report of a comparison as one HTML document."""
    content = page_data(comparison)
    heading = escape(title(comparison))
    outcome = [part(comparison) for part in (failures, leaderboard, published)]
    provenance = [part(comparison) for part in (by_fold, choices, warnings, setup, next_step)]
    body = "\n".join(filter(None, [*outcome, *_charts(comparison, content), *provenance]))
    script = _script()
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_policy(script)}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{heading}</title>\n<style>\n{_asset('style.css')}</style>\n</head>\n"
        f'<body>\n<a class="skip" href="#leaderboard">To the leaderboard</a>\n'
        f"<header>\n<h1>{heading}</h1>\n{_verdict(comparison)}\n</header>\n"
        f"{_contents(body)}\n<main>\n"
        "<noscript><p>The tables are complete; charts and the query explorer need JavaScript.</p></noscript>\n"
        f"{body}\n</main>\n"
        f'<script type="application/json" id="data">{embedded(content)}</script>\n'
        f"<script>{script}</script>\n</body>\n</html>\n"
    )


def _verdict(comparison: Comparison) -> str:
    """Return the outcome in words, and the facts that it is based on."""
    parts = [
        f"{comparison.n_queries} test {units(comparison)}",
        comparison.configuration.data.description,
        rules(comparison),
        f"chosen by {comparison.primary} on validation",
        f"computed in {seconds(comparison.seconds)} s" if comparison.seconds else "",
    ]
    listed = "".join(f"<li>{escape(part)}</li>" for part in parts if part)
    return f'<p class="verdict">{_outcome(comparison)}</p>\n<ul class="facts">{listed}</ul>'


def _outcome(comparison: Comparison) -> str:
    if comparison.best is None:
        return "No method finished."
    first, *others = [row for row in comparison.rows if row.estimates]
    e = first.estimates[comparison.primary]
    text = (
        f"<strong>{escape(first.method)}</strong> has the highest {escape(heading(comparison, comparison.primary))}: "
        f"{e.mean:.4f}, 95 % interval {e.low:.3f} to {e.high:.3f}."
    )
    if not others:
        return text
    text = f"{text} {_how_sure([row.method for row in others if not row.mark], len(others))}"
    if comparison.pick not in (None, first.method):
        text += f" Without the test parts, {escape(str(comparison.pick))} was picked."
    elif comparison.rehearsal is not None:
        text += " It was also picked without the test parts."
    return text


def _how_sure(close: list[str], n_others: int) -> str:
    """Return a sentence on the methods that do not differ significantly from the best."""
    if not close:
        return "It is significantly better than every other method."
    if len(close) == n_others:
        return "It does not differ significantly from any other method."
    named = ", ".join(close[:-1]) + " and " + close[-1] if len(close) > 1 else close[0]
    many = f"{len(close)} of the {n_others} others" if len(close) > 4 else escape(named)
    return f"It does not differ significantly from {many}; it is significantly better than the rest."


_CHARTS = (
    ("curves", "NDCG at every cutoff", "NDCG@k against k, averaged as in the table. Choose the methods to highlight."),
    (
        "training",
        "Training",
        "{metric} on the validation part during the training of the chosen model. In the mean, a fold that has ended "
        "keeps its last value; for a single fold, a marker shows the model that was kept.",
    ),
    (
        "cost",
        "Cost and quality",
        "Training time of the chosen model against {metric}. On the line: no other method is both faster and better.",
    ),
    ("duels", "Wins over {units}", ""),
    ("disagreement", "Where methods disagree", ""),
    ("pair", "Two methods, {unit} by {unit}", "Every {unit}’s {metric} under two methods.{explorer}"),
    (
        "weights",
        "Learned weights",
        "The features with the largest weights or importances, each as a share of the total: mean over folds, and "
        "range over folds.",
    ),
)
"""Name, heading and lead of each section."""


def _charts(comparison: Comparison, content: dict[str, Any]) -> list[str]:
    """Return the sections of the charts for which there are data."""
    methods = content["methods"]
    if not methods:
        return []
    shown: dict[str, dict[str, Any]] = {
        "curves": {"curves-chart": any(m["curve"] for m in methods)},
        "training": {"training-chart": any(m["history"] for m in methods)},
        "cost": {"cost-chart": True},
        "duels": {"duels-table": len(methods) > 1, "ranks-chart": content["ranks"]},
        "disagreement": {"agreement-table": content["agreement"], "disputed-table": len(methods) > 1},
        "pair": {"pair-chart": True, "explorer": content["rankings"]},
        "weights": {"weights-chart": any(m["weights"] for m in methods)},
    }
    words = {name: content[name] for name in ("unit", "units", "item")}
    words["metric"] = f"{comparison.primary} ({comparison.convention})"
    explorer = " Open a {unit} to see both rankings of its {item}s." if content["rankings"] else ""
    words["explorer"] = explorer.format(**words) + " Features say why." * bool(content["explained"])
    sections = []
    for name, title_of, lead in _CHARTS:
        figures = [figure(drawn) for drawn, known in shown[name].items() if known]
        sections.append(section(name, title_of.format(**words), *figures, lead=lead.format(**words)))
    return sections


def _contents(body: str) -> str:
    """Return links to the sections that the page has."""
    short = {"curves": "NDCG@k", "duels": "Wins", "pair": "Pairs", "weights": "Features"}
    names = re.findall(r'<section id="(\w+)"', body)
    links = "".join(f'<a href="#{name}">{short.get(name, name.capitalize())}</a>' for name in names)
    return f'<nav aria-label="Sections"><div>{links}</div></nav>'


def _script() -> str:
    """Return our script, in a scope of its own, apart from the browser's global names."""
    parts = "\n".join(_asset(f"script/{name}.js") for name in SCRIPTS)
    return f'(() => {{\n"use strict";\n{parts}}})();\n'


def _policy(script: str) -> str:
    """Return a policy under which nothing is fetched, and only our script, known by its digest, runs."""
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'"


def _asset(name: str) -> str:
    return resources.files("podium.experiments.report").joinpath(name).read_text("utf-8")

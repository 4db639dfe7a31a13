"""The page: the verdict, the leaderboard, charts, a look into single queries, and how it all came to be.

Charts are SVG, drawn in the browser by a few hundred lines of our own from figures embedded as JSON. A plotting library
inlined would weigh one to five megabytes, more than twenty times all that the page has to say, and would bring its own
fonts, colours and tooltips; so the page stays light, prints well and follows the reader's light or dark mode.
"""

from __future__ import annotations

import base64
import hashlib
from html import escape
from importlib import resources
from typing import Any

from podium.experiments.report.blob import blob, embedded
from podium.experiments.report.html import figure, section
from podium.experiments.report.leaderboard import leaderboard
from podium.experiments.report.published import published
from podium.experiments.report.setting import by_fold, choices, failures, setting, warnings
from podium.experiments.result.comparison import Comparison
from podium.experiments.result.table import seconds, title, units

SCRIPTS = (
    "core",
    "state",
    "charts",
    "keys",
    "leaderboard",
    "lines",
    "cost",
    "statistics",
    "disagreement",
    "explorer",
    "weights",
    "files",
    "start",
)


def page(comparison: Comparison) -> str:
    """The report of a comparison as one HTML document."""
    content = blob(comparison)
    heading = escape(title(comparison))
    sections = [
        failures(comparison),
        leaderboard(comparison),
        published(comparison),
        *_charts(comparison, content),
        by_fold(comparison),
        choices(comparison),
        warnings(comparison),
        setting(comparison),
    ]
    body = "\n".join(part for part in sections if part)
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
    """The outcome in words, and the facts that it rests on."""
    parts = [
        f"{comparison.n_queries} test {units(comparison)}",
        comparison.configuration.data.description,
        f"convention {comparison.convention}",
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
        f"<strong>{escape(first.method)}</strong> has the highest {escape(comparison.primary)}: "
        f"{e.mean:.4f}, 95 % interval {e.low:.3f} to {e.high:.3f}."
    )
    if not others:
        return text
    text = f"{text} {_how_sure([row.method for row in others if not row.mark], len(others))}"
    if comparison.pick not in (None, first.method):
        text += f" Without the test parts, {escape(str(comparison.pick))} was picked."
    elif comparison.rehearsal is not None:
        text += " It was picked without the test parts, too."
    return text


def _how_sure(close: list[str], n_others: int) -> str:
    """Of the best: which others the test leaves standing beside it."""
    if not close:
        return "It is significantly better than every other method."
    if len(close) == n_others:
        return "These data do not tell it apart from any other method."
    named = ", ".join(close[:-1]) + " and " + close[-1] if len(close) > 1 else close[0]
    many = f"{len(close)} of the {n_others} others" if len(close) > 4 else escape(named)
    return f"These data do not tell it apart from {many}; it is significantly better than the rest."


def _charts(comparison: Comparison, content: dict[str, Any]) -> list[str]:
    """Places for the charts that there is something to draw in."""
    methods = content["methods"]
    if not methods:
        return []
    unit, item = content["unit"], content["item"]
    name = f"{comparison.primary} ({comparison.convention})"
    return [
        section(
            "curves",
            "NDCG at every cut-off",
            figure("curves-chart") if any(m["curve"] for m in methods) else "",
            lead="NDCG@k against k, averaged as in the table. Choose the methods to highlight.",
        ),
        section(
            "training",
            "Training",
            figure("training-chart") if any(m["history"] for m in methods) else "",
            lead=f"{name} on the validation part while the chosen model was trained. In the mean, a fold that has "
            "ended keeps its last value; of a single fold, a marker shows what was kept.",
        ),
        section(
            "cost",
            "Cost and quality",
            figure("cost-chart"),
            lead=f"Training time of the chosen model against {name}. "
            "On the line: no other method is both quicker and better.",
        ),
        section(
            "duels",
            f"Who wins on how many {units(comparison)}",
            figure("duels-table") if len(methods) > 1 else "",
            figure("ranks-chart") if content["ranks"] else "",
        ),
        section(
            "disagreement",
            "Where methods disagree",
            figure("agreement-table") if content["agreement"] else "",
            figure("disputed-table") if len(methods) > 1 else "",
        ),
        section(
            "pair",
            f"Two methods, {unit} by {unit}",
            figure("pair-chart"),
            figure("explorer") if content["rankings"] else "",
            lead=f"Every {unit}’s {name} under two methods."
            + (f" Open a {unit} to see both rankings of its {item}s." if content["rankings"] else ""),
        ),
        section(
            "weights",
            "What was learned",
            figure("weights-chart") if any(m["weights"] for m in methods) else "",
            lead="The features with the largest weights or importance: each a share of the whole, "
            "mean over folds and the folds’ range.",
        ),
    ]


def _contents(body: str) -> str:
    """Links to the sections there are."""
    names = {
        "failed": "Failed",
        "leaderboard": "Leaderboard",
        "published": "Published",
        "curves": "NDCG@k",
        "training": "Training",
        "cost": "Cost",
        "duels": "Wins",
        "disagreement": "Disagreement",
        "pair": "Pairs",
        "weights": "Features",
        "folds": "Folds",
        "choices": "Choices",
        "warnings": "Warnings",
        "setting": "Setting",
    }
    links = "".join(f'<a href="#{name}">{text}</a>' for name, text in names.items() if f'<section id="{name}"' in body)
    return f'<nav aria-label="Sections"><div>{links}</div></nav>'


def _script() -> str:
    """Our own script, in a scope of its own: nothing in it meets the browser's global names."""
    parts = "\n".join(_asset(f"script/{name}.js") for name in SCRIPTS)
    return f'(() => {{\n"use strict";\n{parts}}})();\n'


def _policy(script: str) -> str:
    """Nothing may be fetched, and no script runs but our own, known by its digest."""
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'"


def _asset(name: str) -> str:
    return resources.files("podium.experiments.report").joinpath(name).read_text("utf-8")

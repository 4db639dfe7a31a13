"""An explanation as a picture: one bar per feature, to the right what speaks for the first document."""

from __future__ import annotations

from html import escape
from importlib import resources
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from podium.rankers.explaining.explanation import Explanation


def figure(explanation: Explanation, n: int | None = 20) -> str:
    """Return the table with its bars as a piece of HTML."""
    kept, n_others, others = explanation.shown(n)
    largest = max((abs(c.contribution) for c in kept), default=0.0)
    names = [explanation.first.name, explanation.second.name]
    heads = "".join(f'<th scope="col">{escape(text)}</th>' for text in ["feature", *names, "contribution"])
    rows = [
        f'<tr><th scope="row">{escape(c.name)}</th>{"".join(f"<td>{value:.6g}</td>" for value in c.values)}'
        f"<td>{c.contribution:+.4g}</td>{_bar(c.contribution, largest)}</tr>"
        for c in kept
    ]
    if n_others:
        name = f"{n_others} other{'s' * (n_others > 1)}"
        rows.append(
            f'<tr class="soft"><th scope="row">{name}</th><td></td><td></td><td>{others:+.4g}</td><td></td></tr>'
        )
    foot = f'<th scope="row">difference</th><td></td><td></td><td>{explanation.difference:+.4g}</td><td></td>'
    weights = [weight for _, weight, _ in explanation.rules[:n]]
    rules = "".join(f"<li>{weight:+.4g}: {escape(explanation.rule_text(i))}</li>" for i, weight in enumerate(weights))
    rules = f"<p>Rules that hold for one of the two:</p><ul>{rules}</ul>" if rules else ""
    legend = f"Bars to the right speak for {names[0]}, bars to the left for {names[1]}."
    remarks = "".join(f'<p class="soft">{escape(text)}</p>' for text in [legend, *explanation.remarks])
    style = resources.files("podium.rankers.explaining").joinpath("picture.css").read_text("utf-8")
    return (
        f'<style>{style}</style>\n<div class="why">\n<h1>{escape(explanation.title)}</h1>\n'
        f'<div class="scroll"><table>\n<thead><tr>{heads}<th></th></tr></thead>\n'
        f"<tbody>\n{chr(10).join(rows)}\n</tbody>\n"
        f"<tfoot><tr>{foot}</tr></tfoot>\n</table></div>\n{rules}{remarks}\n</div>\n"
    )


def _bar(value: float, largest: float) -> str:
    length = 100 * abs(value) / largest if largest else 0.0
    kind, x = ("plus", 100.0) if value >= 0 else ("minus", 100.0 - length)
    drawn = f'<rect class="{kind}" x="{x:.2f}" y="2" width="{length:.2f}" height="12"/>'
    axis = '<line x1="100" x2="100" y1="0" y2="16" vector-effect="non-scaling-stroke"/>'
    space = 'viewBox="0 0 200 16" preserveAspectRatio="none" aria-hidden="true"'
    return f'<td class="bar"><svg {space}>{drawn}{axis}</svg></td>'

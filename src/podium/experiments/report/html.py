"""Pieces of HTML, every text escaped."""

from collections.abc import Iterable
from html import escape
from math import isnan

from podium.experiments.result.summary import Estimate


def section(name: str, heading: str, *parts: str, lead: str = "") -> str:
    """Return a part of the page with a name to link to; nothing if it has no content."""
    content = "\n".join(part for part in parts if part)
    if not content:
        return ""
    sentence = f'<p class="lead">{escape(lead)}</p>\n' if lead else ""
    return (
        f'<section id="{name}" aria-labelledby="{name}-heading">\n'
        f'<h2 id="{name}-heading">{escape(heading)}</h2>\n{sentence}{content}\n</section>'
    )


def figure(name: str) -> str:
    """Return an element that the page's script draws into."""
    return f'<div class="figure" id="{name}"></div>'


def table(caption: str, heads: Iterable[str], rows: Iterable[str], *, name: str = "") -> str:
    identity = f' id="{name}"' if name else ""
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{escape(caption)}"><table{identity}>'
        f"<caption><div>{escape(caption)}</div></caption>\n"
        f"<thead><tr>{''.join(heads)}</tr></thead>\n<tbody>\n{chr(10).join(rows)}\n</tbody></table></div>"
    )


def head(text: str, *, sort: str | None = None, key: str = "", number: bool = False, sorted_by: bool = False) -> str:
    """Return the heading of a column; with ``sort``, a button that sorts, first in that order."""
    kind = ' class="number"' if number else ""
    if sort is None:
        return f'<th scope="col"{kind}>{escape(text)}</th>'
    now = f' aria-sort="{sort}"' if sorted_by else ""
    return (
        f'<th scope="col"{kind} data-first="{sort}" data-key="{escape(key or text)}"{now}>'
        f'<button type="button">{escape(text)}</button></th>'
    )


def row_head(text: str, more: str = "") -> str:
    small = f"<small>{escape(more)}</small>" if more else ""
    return f'<th scope="row">{escape(text)}{small}</th>'


def method_row(method: str, family: str, kind: str, cells: Iterable[str]) -> str:
    """Return a row of the leaderboard, which the page's script finds by method and family."""
    classes = f' class="{kind}"' if kind else ""
    about = f'data-method="{escape(method)}" data-family="{escape(family)}"'
    return f"<tr{classes} {about}>{row_head(method, family)}{''.join(cells)}</tr>"


def cell(text: str, more: str = "", *, kind: str = "", value: float | None = None) -> str:
    """Return a table cell with a smaller second line; it is sorted by ``value``, and last if there is none."""
    small = f"<small>{escape(more)}</small>" if more else ""
    sorts = "" if value is None or isnan(value) else f' data-value="{value!r}"'
    classes = f' class="{kind}"' if kind else ""
    return f"<td{classes}{sorts}>{escape(text)}{small}</td>"


def facts(items: Iterable[tuple[str, str]]) -> str:
    listed = "".join(f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>" for name, value in items)
    return f"<dl>{listed}</dl>" if listed else ""


def bullets(items: Iterable[str], kind: str = "notes") -> str:
    listed = "".join(f"<li>{escape(item)}</li>" for item in items)
    return f'<ul class="{kind}">{listed}</ul>' if listed else ""


def whisker(estimate: Estimate, low: float, high: float, *, strong: bool = False) -> str:
    """Return a drawing of a mean and its interval on the scale ``low`` … ``high``; an arrow if the mean is below."""
    left, middle, right = (_place(value, low, high) for value in (estimate.low, estimate.mean, estimate.high))
    label = f"{estimate.mean:.4f}, 95 % interval {estimate.low:.4f} to {estimate.high:.4f}"
    if estimate.mean < low:
        return _scale(label, _BELOW, "")
    bar = f'<line x1="{left:.1f}" x2="{right:.1f}" y1="8" y2="8"/>'
    return _scale(label, f'{bar}<circle cx="{middle:.1f}" cy="8" r="4"/>', "strong" if strong else "")


def dot(value: float, low: float, high: float) -> str:
    """Return a drawing of a figure without an interval on the same scale; an arrow if it is below."""
    drawn = _BELOW if value < low else f'<circle cx="{_place(value, low, high):.1f}" cy="8" r="3.5"/>'
    return _scale(f"{value:.4f}", drawn, "hollow")


_WIDTH, _MARGIN = 150.0, 5.0
_BELOW = '<path d="M9,3.5l-7,4.5l7,4.5z"/>'


def _place(value: float, low: float, high: float) -> float:
    place = _MARGIN + (value - low) * (_WIDTH - 2 * _MARGIN) / ((high - low) or 1.0)
    return min(max(place, _MARGIN), _WIDTH - _MARGIN)


def _scale(label: str, drawn: str, kind: str) -> str:
    return (
        f'<svg class="whisker {kind}" viewBox="0 0 {_WIDTH:g} 16" role="img" aria-label="{label}">'
        f'<line class="track" x1="{_MARGIN:g}" x2="{_WIDTH - _MARGIN:g}" y1="8" y2="8"/>{drawn}</svg>'
    )

"""Pieces of HTML for notebooks: tables and small drawings, with every text escaped, nothing fetched and no script.

Text takes the color of the notebook, and shapes have middle tones, so that both are readable whichever theme the
notebook has: the browser's ``prefers-color-scheme`` does not know it.
"""

from collections.abc import Iterable, Sequence
from html import escape
from importlib import resources
from math import isfinite
from typing import Any

import numpy as np

BLUE, ORANGE, GRAY = "#2a85c8", "#d9652b", "#8a8f98"
WIDTH, HEIGHT = 150.0, 16.0
POINTS = 300
"""The most points of a curve that are drawn."""


class Html(str):
    """A piece of HTML; any other text is escaped where it is shown."""


def output(title: str, *parts: Html) -> str:
    """Return what a notebook shows of an object: a title and pieces of HTML below it."""
    style = resources.files("podium.core.showing").joinpath("style.css").read_text("utf-8")
    return f'<style>{style}</style>\n<div class="podium-out">\n<h4>{escape(title)}</h4>\n{"".join(parts)}\n</div>'


def page(title: str, body: str) -> str:
    """Return a complete HTML document that fetches nothing."""
    policy = "default-src 'none'; style-src 'unsafe-inline'"
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n"
        "<style>:root { color-scheme: light dark; } body { margin: 2rem auto; padding: 0 1.25rem; max-width: 60rem; "
        "}</style>\n</head>\n<body>\n"
        f"{body}</body>\n</html>\n"
    )


def table(heads: Sequence[str], rows: Iterable[Sequence[Any]], numbers: Iterable[int] = ()) -> Html:
    """Return a table whose rows begin with their heading; the columns in ``numbers`` are aligned right."""
    right = set(numbers)
    lines = "\n".join(
        "<tr>" + "".join(_cell("th" if i == 0 else "td", cell, i in right) for i, cell in enumerate(row)) + "</tr>"
        for row in rows
    )
    top = "".join(_cell("th", head, i in right) for i, head in enumerate(heads))
    top = f"<thead><tr>{top}</tr></thead>\n" if any(heads) else ""
    return Html(f'<div class="scroll"><table>\n{top}<tbody>\n{lines}\n</tbody></table></div>\n')


def remarks(lines: Iterable[str]) -> Html:
    """Return sentences below a table."""
    return Html("".join(f'<p class="soft">{escape(line)}</p>\n' for line in lines))


def strong(text: str) -> Html:
    return Html(f"<strong>{escape(text)}</strong>")


def interval(low: float, middle: float, high: float, scale: tuple[float, float]) -> Html:
    """Return a drawing of a mean and its interval on a scale that several rows share; nothing if one is not known."""
    if not all(map(isfinite, (low, middle, high, *scale))):
        return Html()
    start, end = scale
    left, center, right = (5 + (value - start) * (WIDTH - 10) / ((end - start) or 1.0) for value in (low, middle, high))
    return _drawing(
        f"{middle:.4f}, interval {low:.4f} to {high:.4f}",
        f'<line x1="5" x2="{WIDTH - 5:g}" y1="8" y2="8" stroke="{GRAY}" stroke-opacity=".45"/>'
        f'<line x1="{left:.1f}" x2="{right:.1f}" y1="8" y2="8" stroke="{BLUE}" stroke-width="3"/>'
        f'<circle cx="{center:.1f}" cy="8" r="4" fill="{BLUE}"/>',
    )


def bars(heights: Iterable[float], label: str) -> Html:
    """Return a drawing of bars next to each other, such as a histogram."""
    values = [float(height) for height in heights]
    highest = max(values, default=0.0)
    if highest <= 0:
        return Html()
    width = WIDTH / len(values)
    drawn = (
        f'<rect x="{i * width:.2f}" y="{HEIGHT * (1 - v / highest):.2f}" width="{max(width - 1, 0.5):.2f}" '
        f'height="{HEIGHT * v / highest:.2f}" fill="{BLUE}"/>'
        for i, v in enumerate(values)
    )
    return _drawing(label, "".join(drawn))


def share(part: float, label: str) -> Html:
    """Return a drawing of a bar as long as this share of the whole."""
    length = WIDTH * min(max(part, 0.0), 1.0)
    return _drawing(label, f'<rect x="0" y="3" width="{length:.2f}" height="10" fill="{BLUE}"/>')


def signed(value: float, largest: float, label: str) -> Html:
    """Return a drawing of a bar to the right of the middle for a positive value, to the left for a negative one."""
    middle = WIDTH / 2
    length = middle * abs(value) / largest if largest else 0.0
    left, color = (middle, BLUE) if value >= 0 else (middle - length, ORANGE)
    return _drawing(
        label,
        f'<rect x="{left:.2f}" y="3" width="{length:.2f}" height="10" fill="{color}"/>'
        f'<line x1="{middle:g}" x2="{middle:g}" y1="0" y2="{HEIGHT:g}" stroke="{GRAY}"/>',
    )


def histogram(values: Any, label: str, limits: tuple[float, float] | None = None, n: int = 20) -> Html:
    """Return the histogram of the values that are finite."""
    array = np.asarray(values, np.float64)
    array = array[np.isfinite(array)]
    return bars(np.histogram(array, n, limits)[0], label) if len(array) else Html()


def curve(values: Sequence[float], label: str, mark: int | None = None) -> Html:
    """Return a drawing of values one after the other, with a dot at the one numbered ``mark``."""
    height, array = 48.0, np.asarray(values, np.float64)
    known = np.flatnonzero(np.isfinite(array))
    if len(known) < 2:
        return Html()
    low, high = array[known].min(), array[known].max()
    span, steps = (high - low) or 1.0, (len(array) - 1) or 1

    def place(i: int) -> tuple[float, float]:
        return 5 + i * (2 * WIDTH - 10) / steps, 5 + (high - array[i]) * (height - 10) / span

    drawn = known[np.unique(np.linspace(0, len(known) - 1, POINTS).astype(np.int64))]
    points = " ".join(f"{x:.1f},{y:.1f}" for x, y in map(place, drawn.tolist()))
    line = f'<polyline points="{points}" fill="none" stroke="{BLUE}" stroke-width="1.5"/>'
    if mark is not None and isfinite(array[mark]):
        x, y = place(mark)
        line += f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" fill="{ORANGE}"/>'
    return _drawing(label, line, 2 * WIDTH, height)


def _cell(kind: str, content: Any, number: bool) -> str:
    text = content if isinstance(content, Html) else escape(str(content))
    aligned = ' class="number"' if number else ""
    return f"<{kind}{aligned}>{text}</{kind}>"


def _drawing(label: str, drawn: str, width: float = WIDTH, height: float = HEIGHT) -> Html:
    return Html(
        f'<svg viewBox="0 0 {width:g} {height:g}" width="{width:g}" height="{height:g}" role="img" '
        f'aria-label="{escape(label)}"><title>{escape(label)}</title>{drawn}</svg>'
    )

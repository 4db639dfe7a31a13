"""Small charts drawn as SVG, coloured by the page's style sheet so that they follow light and dark mode."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from math import floor, log10

from podium.experiments.comparison import Estimate

N_COLOURS = 8
"""Classes ``c0`` … that the style sheet colours; beyond, lines are dashed."""


def whisker(estimate: Estimate, low: float, high: float, *, strong: bool = False) -> str:
    """A mean and its interval on the scale ``low`` … ``high``, to stand in a table row."""
    width, height, margin = 160, 16, 5
    scale = (width - 2 * margin) / ((high - low) or 1.0)

    def x(value: float) -> float:
        return margin + (value - low) * scale

    left, middle, right = x(estimate.low), x(estimate.mean), x(estimate.high)
    label = f"{estimate.mean:.4f}, 95 % interval {estimate.low:.4f} to {estimate.high:.4f}"
    return (
        f'<svg class="whisker{" strong" * strong}" viewBox="0 0 {width} {height}" role="img" aria-label="{label}">'
        f"<title>{label}</title>"
        f'<line class="track" x1="{margin}" x2="{width - margin}" y1="8" y2="8"/>'
        f'<line x1="{left:.1f}" x2="{right:.1f}" y1="8" y2="8"/>'
        f'<line x1="{left:.1f}" x2="{left:.1f}" y1="5" y2="11"/>'
        f'<line x1="{right:.1f}" x2="{right:.1f}" y1="5" y2="11"/>'
        f'<circle cx="{middle:.1f}" cy="8" r="4"/></svg>'
    )


def curves(series: Mapping[str, Sequence[float]], positions: Sequence[int], *, x_name: str, y_name: str) -> str:
    """One line a series over the same positions, each named at its right end."""
    gap = 16  # between the names at the right
    width, height = 1000, max(380, gap * len(series) + 80)
    left, right, top, bottom = 52, 150, 16, 44
    values = [value for line in series.values() for value in line]
    ticks = _ticks(min(values), max(values))
    low, high = min(ticks[0], *values), max(ticks[-1], *values)

    def x(position: float) -> float:
        first, last = positions[0], positions[-1]
        return left + (position - first) / (last - first) * (width - left - right)

    def y(value: float) -> float:
        return top + (high - value) / ((high - low) or 1.0) * (height - top - bottom)

    parts = [
        f'<svg class="curves" viewBox="0 0 {width} {height}" role="img" aria-label="{escape(f"{y_name} by {x_name}")}">'
    ]
    for tick in ticks:
        parts.append(f'<line class="grid" x1="{left}" x2="{width - right}" y1="{y(tick):.1f}" y2="{y(tick):.1f}"/>')
        parts.append(f'<text class="tick" x="{left - 8}" y="{y(tick) + 4:.1f}" text-anchor="end">{tick:g}</text>')
    for position in positions:
        where = f'x="{x(position):.1f}" y="{height - bottom + 18}"'
        parts.append(f'<text class="tick" {where} text-anchor="middle">{position}</text>')
    middle = left + (width - left - right) / 2
    parts.append(f'<text class="axis" x="{middle}" y="{height - 6}" text-anchor="middle">{escape(x_name)}</text>')
    ends = _spread({name: y(line[-1]) for name, line in series.items()}, gap=gap, top=top, bottom=height - bottom)
    for number, (name, line) in enumerate(series.items()):
        points = [(x(p), y(v)) for p, v in zip(positions, line, strict=True)]
        path = " ".join(f"{px:.1f},{py:.1f}" for px, py in points)
        colour = f"c{number % N_COLOURS}" + " dashed" * (number >= N_COLOURS)
        dots = "".join(
            f'<circle cx="{px:.1f}" cy="{py:.1f}" r="3"><title>{escape(name)} @{p}: {v:.4f}</title></circle>'
            for (px, py), p, v in zip(points, positions, line, strict=True)
        )
        end_x, end_y = points[-1]
        parts.append(
            f'<g class="series {colour}"><polyline points="{path}"/>{dots}'
            f'<line class="leader" x1="{end_x + 4:.1f}" y1="{end_y:.1f}" x2="{end_x + 16:.1f}" y2="{ends[name]:.1f}"/>'
            f'<text x="{end_x + 19:.1f}" y="{ends[name] + 4:.1f}">{escape(name)}</text></g>'
        )
    return "".join([*parts, "</svg>"])


def _ticks(low: float, high: float, about: int = 5) -> list[float]:
    """Round numbers that cover the range."""
    if high == low:
        high = low + (abs(low) or 1.0) / 10
    raw = (high - low) / about
    magnitude = 10.0 ** floor(log10(raw))
    step = next(m * magnitude for m in (1, 2, 2.5, 5, 10) if m * magnitude >= raw)
    first = floor(low / step)
    count = floor((high - first * step) / step + 1 - 1e-9) + 1
    return [round((first + i) * step, 10) for i in range(count)]


def _spread(wanted: Mapping[str, float], *, gap: float, top: float, bottom: float) -> dict[str, float]:
    """Heights as near as may be to the wanted ones, at least ``gap`` apart."""
    placed: dict[str, float] = {}
    previous = top - gap
    for name, height in sorted(wanted.items(), key=lambda item: item[1]):
        previous = placed[name] = max(height, previous + gap)
    overflow = previous - bottom
    if overflow > 0:  # push the crowd up from the bottom, as far as it reaches
        limit = bottom
        for name in sorted(placed, key=lambda n: -placed[n]):
            limit = placed[name] = min(placed[name], limit)
            limit -= gap
    return placed

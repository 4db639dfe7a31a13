"""Axes of Matplotlib to plot into, and the plot that several results share."""

from collections.abc import Sequence
from typing import Any

from podium.core.later import required

Range = tuple[float, float, float]
"""The low end of an interval, the mean, the high end."""


def axes(ax: Any = None, size: tuple[float, float] = (6.4, 4.0)) -> Any:
    """Return the axes given, or those of a new figure; raise ImportError, saying what to install, without Matplotlib.

    Parameters
    ----------
    ax : matplotlib Axes, optional
    size : width and height of a new figure, in inches
    """
    if ax is not None:
        return ax
    pyplot = required("matplotlib.pyplot", "podium-rank[report]", "a plot")
    return pyplot.subplots(figsize=size, layout="constrained")[1]


def draw_intervals(ax: Any, names: Sequence[str], ranges: Sequence[Range]) -> Any:
    """Draw one mean with its interval per name, the first at the top; return the axes."""
    ax = axes(ax, (6.4, 1.2 + 0.3 * len(names)))
    places = range(len(names))
    means = [mean for _, mean, _ in ranges]
    spans = [[mean - low for low, mean, _ in ranges], [high - mean for _, mean, high in ranges]]
    ax.errorbar(means, places, xerr=spans, fmt="o", capsize=3)
    ax.set_yticks(places, names)
    ax.invert_yaxis()
    ax.grid(axis="x", alpha=0.3)
    return ax

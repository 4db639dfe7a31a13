"""The one style of the gallery's pictures; ``conf.py`` has it applied before each script."""

from typing import Any

import matplotlib.pyplot as plt
from cycler import cycler

INK, GRID = "#2b303a", "#d5d9e0"
COLORS = ("#2a85c8", "#d9652b", "#4a9c6d", "#8a63b8", "#c79a1e", "#8a8f98")
"""Blue, orange, green, violet, ochre, gray: middle tones, told apart by most color-blind readers and in gray print."""
STYLE = {
    "axes.axisbelow": True,
    "axes.edgecolor": INK,
    "axes.grid": True,
    "axes.labelcolor": INK,
    "axes.prop_cycle": cycler(color=COLORS),
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlecolor": INK,
    "axes.titlelocation": "left",
    "axes.titlepad": 10,
    "axes.titlesize": 12,
    "figure.constrained_layout.use": True,
    "figure.dpi": 100,
    "figure.facecolor": "white",  # a dark page shows the picture as a card, whose text stays readable
    "figure.figsize": (8.0, 4.2),
    "font.size": 11,
    "grid.color": GRID,
    "grid.linewidth": 0.8,
    "image.cmap": "Blues",
    "legend.frameon": False,
    "lines.linewidth": 2,
    "savefig.dpi": 200,
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
}


def apply(_gallery: dict[str, Any], _script: str) -> None:
    """Make this the style of the next script; one of sphinx-gallery's ``reset_modules``, after ``matplotlib``."""
    plt.rcParams.update(STYLE)

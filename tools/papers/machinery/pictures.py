"""Pictures of pages."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from podium.core.atomic import atomic_write


@dataclass(frozen=True)
class Picture:
    """A picture that ``draw(axes)`` draws on a grid of matplotlib's axes, ``columns`` of them side by side."""

    name: str
    caption: str
    draw: Callable[[Any], None]
    columns: int = 1
    rows: int = 1
    size: tuple[float, float] = (4.6, 3.4)
    """Width and height of one of the axes, in inches."""

    def save(self, docs: Path, prefix: str) -> str:
        """Write ``images/PREFIX-NAME.svg`` and return the Markdown that shows it."""
        path = docs / "images" / f"{prefix}-{self.name}.svg"
        try:
            import matplotlib
        except ModuleNotFoundError:
            return f"*Without a picture: pip install 'podium-rank[report]'. {self.caption}*"
        matplotlib.use("Agg")
        from matplotlib import pyplot

        style = {"svg.hashsalt": "podium", "svg.fonttype": "none", "font.size": 9, "axes.grid": True}
        style |= {"grid.color": "#e5e5e5", "axes.axisbelow": True, "axes.spines.top": False, "axes.spines.right": False}
        with matplotlib.rc_context(style):
            width, height = self.size
            drawn, axes = pyplot.subplots(
                self.rows, self.columns, figsize=(width * self.columns, height * self.rows), squeeze=False
            )
            self.draw(axes[0, 0] if axes.size == 1 else axes.ravel())
            drawn.tight_layout()
            with atomic_write(path, "wb") as file:
                drawn.savefig(file, format="svg", metadata={"Date": None})  # same figures, same file
            pyplot.close(drawn)
        return f"![{self.caption}](images/{path.name})\n\n*{self.caption}*"


def mark(axis: Any, places: Sequence[float]) -> None:
    """Mark a logarithmic x axis at these places only, by plain numbers."""
    axis.set_xticks(list(places), [f"{place:g}" for place in places])
    axis.minorticks_off()

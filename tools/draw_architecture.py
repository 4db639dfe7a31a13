"""Draw the pictures of docs/architecture.md: ``python tools/draw_architecture.py``.

The rooms and their order come from the import contract in pyproject.toml, so a picture cannot show another order than
the one that ``make lint`` checks.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import NamedTuple
from xml.sax.saxutils import escape

ROOT = Path(__file__).resolve().parents[1]
IMAGES = ROOT / "docs" / "images"

ROOMS = {
    "cli": "one file per command; cli/clicks/, cli/ratings/",
    "mlflow": "results in runs of MLflow",
    "optuna": "pruning of Optuna's trials",
    "dask": "queries and ratings on a cluster, and what runs beside them (needs Dask)",
    "ratings": "collaborative filtering: data, splits, factors, rankers, comparisons",
    "clicks": "logs of clicks: simulation, bias, judging, interleaving",
    "experiments": "plan · run · result · report: studies that compare methods",
    "export": "models for search engines and other libraries; one file per format",
    "sentence_transformers": "losses for cross encoders of texts (needs sentence-transformers)",
    "torch": "Podium's losses under autograd (needs PyTorch)",
    "models": "rankers made of other rankers: blends, distilled models",
    "rankers": "the estimator, presets, the table of methods, adapters",
    "probabilities": "distributions over the rankings of a list; one file per family",
    "serving": "saved models for programs that only score: NumPy and Numba",
    "files": "the model file: format, saving and loading",
    "training": "L-BFGS, stochastic, boosting, feasible; no concrete scorer",
    "scorers": "linear, networks, trees, kernel regression, PyTorch, your own",
    "losses": "one file per method",
    "metrics": "conventions, families, evaluation, significance",
    "data": "queries, splitting, normalizing; io/: LETOR, tables, TREC, folds",
    "numerics": "compiled code: the loop over queries, threads, sorting, solvers",
    "core": "parameters as fields, the register of classes, atomic files",
}
NOT_DRAWN = {"__main__", "version"}


class Step(NamedTuple):
    """A box in the row of a room; several lines of text."""

    room: str
    lines: tuple[str, ...]


FIT = [
    Step("rankers", ("Ranker.fit", "X, y, qid")),
    Step("data", ("Queries,", "normalized")),
    Step("losses", ("loss.bind:", "work on labels")),
    Step("scorers", ("scorer.start:", "a model")),
    Step("training", ("trainer: next", "parameters")),
    Step("scorers", ("model.forward:", "scores")),
    Step("numerics", ("loop over queries:", "value, gradient")),
    Step("scorers", ("backward:", "d parameters")),
    Step("metrics", ("validation", "metric")),
    Step("training", ("converged?", "else next step")),
    Step("files", ("save: one file,", "no pickle")),
]
COMPARE = [
    Step("cli", ("podium compare", "DATA")),
    Step("data", ("read file,", "make folds")),
    Step("experiments", ("plan: protocol,", "search, study")),
    Step("experiments", ("run: trials in", "workers")),
    Step("rankers", ("fit, predict", "(see below)")),
    Step("metrics", ("validation", "metric")),
    Step("experiments", ("run: one SQLite", "store")),
    Step("experiments", ("run: open the", "seal, once")),
    Step("experiments", ("result: tables,", "statistics")),
    Step("experiments", ("report: one", "HTML page")),
]

LEFT, ROW, BOX, GAP, TOP = 118, 58, 124, 16, 16
STYLE = """
  text { font: 13px system-ui, "DejaVu Sans", sans-serif; fill: #1b2733; }
  .room { font-weight: 600; } .about { fill: #4a5a6a; font-size: 12px; } .small { font-size: 12px; }
  .lane { fill: #f3f6f9; } .other { fill: #ffffff; } .box { fill: #ffffff; stroke: #1f4e79; }
  .arrow { stroke: #c55a11; stroke-width: 1.6; fill: none; marker-end: url(#head); }
"""
HEAD = (
    '<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
    '<path d="M0,0 L8,4 L0,8 z" fill="#c55a11"/></marker></defs>'
)


def main() -> None:
    for name, drawing in drawings().items():
        (IMAGES / name).write_text(drawing, "utf-8")
        print(f"wrote {IMAGES / name}")


def drawings() -> dict[str, str]:
    """Return the pictures by the names of their files."""
    return {"rooms.svg": rooms(), "compare.svg": lanes(COMPARE), "fit.svg": lanes(FIT)}


def layers() -> list[str]:
    """Return the rooms of the import contract, those that may import most first."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    (contract,) = project["tool"]["importlinter"]["contracts"]
    return [room for room in contract["layers"] if room not in NOT_DRAWN]


def rooms() -> str:
    """Draw one bar per room; a room may import the rooms below it."""
    height, parts = 40, []
    for i, room in enumerate(layers()):
        y = TOP + i * height
        parts += [
            f'<rect class="lane" x="70" y="{y}" width="710" height="{height - 6}" rx="6" stroke="#c9d4df"/>',
            f'<text class="room" x="86" y="{y + 22}">{room}</text>',
            f'<text class="about" x="256" y="{y + 22}">{escape(ROOMS[room])}</text>',
        ]
    bottom = TOP + len(layers()) * height
    middle = bottom // 2
    parts += [
        f'<path class="arrow" d="M46,{TOP + 4} V{bottom - 14}"/>',
        f'<text class="small" x="30" y="{middle}" transform="rotate(-90 30 {middle})" '
        'text-anchor="middle">may import</text>',
    ]
    return svg(800, bottom + 6, parts)


def lanes(steps: list[Step]) -> str:
    """Draw the steps from left to right, each in the lane of its room."""
    used = [room for room in layers() if any(step.room == room for step in steps)]
    width = LEFT + len(steps) * (BOX + GAP) + GAP
    parts, before = [], None
    for i, room in enumerate(used):
        y = TOP + i * ROW
        shade = "lane" if i % 2 == 0 else "other"
        parts += [
            f'<rect class="{shade}" x="8" y="{y}" width="{width - 16}" height="{ROW}"/>',
            f'<text class="room" x="18" y="{y + ROW / 2 + 5:g}">{room}</text>',
        ]
    for i, step in enumerate(steps):
        x, y = LEFT + GAP + i * (BOX + GAP), TOP + used.index(step.room) * ROW + 9
        if before is not None:
            parts.append(f'<path class="arrow" d="{arrow(before, (x, y))}"/>')
        parts.append(f'<rect class="box" x="{x}" y="{y}" width="{BOX}" height="{ROW - 18}" rx="5"/>')
        parts += [
            f'<text class="small" x="{x + BOX / 2:g}" y="{y + 17 + 15 * j}" text-anchor="middle">{escape(line)}</text>'
            for j, line in enumerate(step.lines)
        ]
        before = (x, y)
    return svg(width, TOP + len(used) * ROW + 10, parts)


def arrow(start: tuple[int, int], end: tuple[int, int]) -> str:
    """Return the path from one box to the next: straight in one lane, else to the right and then up or down."""
    (x, y), (to_x, to_y), half = start, end, (ROW - 18) / 2
    if y == to_y:
        return f"M{x + BOX},{y + half:g} H{to_x - 1}"
    return f"M{x + BOX},{y + half:g} H{to_x + BOX / 2:g} V{to_y - 1 if to_y > y else to_y + ROW - 17}"


def svg(width: int, height: int, parts: list[str]) -> str:
    body = "\n".join(f"  {part}" for part in parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}">\n'
        f"  <style>{STYLE}  </style>\n  {HEAD}\n"
        f'  <rect width="{width}" height="{height}" fill="#ffffff"/>\n{body}\n</svg>\n'
    )


if __name__ == "__main__":
    main()

"""``podium report``: the report and the tables of a comparison, made again from what its run left."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from podium.experiments import Comparison

HELP = "make the report and tables of a finished comparison again"
DESCRIPTION = """\
Make the report of a comparison again from the folder of its run, and its table as text, Markdown, LaTeX or CSV. All
have the same figures. Nothing is trained, and nothing is evaluated."""
EXAMPLES = """\
examples:
  podium report podium-runs/OHSUMED                          all files in the folder of the run
  podium report podium-runs/OHSUMED -o ohsumed.html          the report alone, elsewhere
  podium report podium-runs/OHSUMED --format latex           the table, to the terminal
  podium report podium-runs/OHSUMED -o table.tex"""

FORMATS = ("html", "markdown", "latex", "csv", "text")
_SUFFIXES = {".html": "html", ".htm": "html", ".md": "markdown", ".tex": "latex", ".csv": "csv", ".txt": "text"}


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", metavar="RUN", help="the folder of a comparison, as `podium compare --out` left it")
    parser.add_argument(
        "-o", "--output", metavar="FILE", help="where it goes (default: the report into RUN, a table to the terminal)"
    )
    parser.add_argument(
        "--format", choices=FORMATS, help="what to make (default: by FILE's ending; without FILE, everything, in RUN)"
    )


def run(arguments: argparse.Namespace) -> int:
    from podium.experiments import Comparison

    folder = Path(arguments.folder)
    comparison = Comparison.load(folder)
    if arguments.format is None and arguments.output is None:
        comparison.save(folder)
        print(f"Report: {folder / 'report.html'}")
    else:
        _one(comparison, folder, arguments)
    if missing := comparison.failed:
        print(f"podium: not complete: {', '.join(missing)}; see the report", file=sys.stderr)
    return 0


def _one(comparison: Comparison, folder: Path, arguments: argparse.Namespace) -> None:
    output = None if arguments.output is None else Path(arguments.output)
    kind = arguments.format or _by_ending(arguments.output)
    if output is None and kind == "html":
        output = folder / "report.html"
    text = _made(comparison, kind)
    if output is None:
        print(text.rstrip("\n"))
        return
    from podium.core.atomic import atomic_write

    with atomic_write(output) as file:
        file.write(text if text.endswith("\n") else f"{text}\n")
    print(f"{'Report' if kind == 'html' else 'Table'}: {output}")


def _made(comparison: Comparison, kind: str) -> str:
    if kind == "text":
        return str(comparison)
    make = {
        "html": comparison.to_html,
        "markdown": comparison.to_markdown,
        "latex": comparison.to_latex,
        "csv": comparison.to_csv,
    }
    return make[kind]()


def _by_ending(name: str) -> str:
    try:
        return _SUFFIXES[Path(name).suffix.lower()]
    except KeyError:
        raise ValueError(
            f"what should {name} hold? Its ending is none of {', '.join(_SUFFIXES)}; say it with --format"
        ) from None

"""``podium report``: write the report and the tables of a stored comparison again."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from podium.experiments import Comparison

HELP = "write the report and tables of a finished comparison again"
DESCRIPTION = """\
Write the report of a comparison again from the folder of its run, or its table as text, Markdown, LaTeX or CSV. The
figures are those of the run: nothing is trained or evaluated."""
EXAMPLES = """\
examples:
  podium report podium-runs/OHSUMED                          all files, in the folder of the run
  podium report podium-runs/OHSUMED -o ohsumed.html          only the report, as ohsumed.html
  podium report podium-runs/OHSUMED --format latex           the table, printed
  podium report podium-runs/OHSUMED -o table.tex"""

_WRITERS: dict[str, Callable[[Comparison], str]] = {
    "html": lambda comparison: comparison.to_html(),
    "markdown": lambda comparison: comparison.to_markdown(),
    "latex": lambda comparison: comparison.to_latex(),
    "csv": lambda comparison: comparison.to_csv(),
    "text": str,
}
_SUFFIXES = {".html": "html", ".htm": "html", ".md": "markdown", ".tex": "latex", ".csv": "csv", ".txt": "text"}


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", metavar="RUN", help="the folder of a run, as given to `podium compare --out`")
    parser.add_argument(
        "-o", "--output", metavar="FILE", help="file to write (default: the report in RUN; a table is printed)"
    )
    parser.add_argument(
        "--format",
        choices=list(_WRITERS),
        help="what to write (default: by the ending of FILE; without FILE, all files, in RUN)",
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
        print(f"podium: incomplete: {', '.join(missing)}; see the report", file=sys.stderr)
    return 0


def _one(comparison: Comparison, folder: Path, arguments: argparse.Namespace) -> None:
    output = None if arguments.output is None else Path(arguments.output)
    kind = arguments.format or _by_ending(arguments.output)
    if output is None and kind == "html":
        output = folder / "report.html"
    made = _WRITERS[kind](comparison)
    if output is None:
        print(made.rstrip("\n"))
        return
    from podium.core.atomic import atomic_write

    with atomic_write(output) as file:
        file.write(made if made.endswith("\n") else f"{made}\n")
    print(f"{'Report' if kind == 'html' else 'Table'}: {output}")


def _by_ending(name: str) -> str:
    try:
        return _SUFFIXES[Path(name).suffix.lower()]
    except KeyError:
        raise ValueError(
            f"the ending of {name} is none of {', '.join(_SUFFIXES)}; name the format with --format"
        ) from None

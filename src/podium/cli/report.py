"""Write the report and tables of a finished comparison again.

Write the report of a comparison again from the folder of its run, or its table as text, Markdown, LaTeX or CSV. The
figures are those of the run: nothing is trained or evaluated.

examples:
  podium report podium-runs/OHSUMED                          all files, in the folder of the run
  podium report podium-runs/OHSUMED -o ohsumed.html          only the report, as ohsumed.html
  podium report podium-runs/OHSUMED --format latex           the table, printed
  podium report podium-runs/OHSUMED -o table.tex
"""

import argparse
from collections.abc import Callable
from pathlib import Path

from podium.cli import options, output

_SUFFIXES = {".html": "html", ".htm": "html", ".md": "markdown", ".tex": "latex", ".csv": "csv", ".txt": "text"}


def configure(parser: options.Parser) -> None:
    parser.option("folder RUN", "the folder of a run, as given to `podium compare --out`", type=Path)
    parser.option("-o --output FILE", "file to write (default: the report in RUN; a table is printed)", type=Path)
    parser.option(
        "--format {html,markdown,latex,csv,text}",
        "what to write (default: by the ending of FILE; without FILE, all files, in RUN)",
    )


def run(arguments: argparse.Namespace) -> int:
    from podium.core.atomic import atomic_write
    from podium.experiments import Comparison

    writers: dict[str, Callable[[Comparison], str]] = {"html": Comparison.to_html, "markdown": Comparison.to_markdown}
    writers |= {"latex": Comparison.to_latex, "csv": Comparison.to_csv, "text": str}
    folder, file = arguments.folder, arguments.output
    comparison = Comparison.load(folder)
    kind = arguments.format or (file and _by_ending(file))
    if kind == "html" and file is None:
        file = folder / "report.html"
    if kind is None:
        comparison.save(folder)
        print(f"Report: {folder / 'report.html'}")
    elif file is None:
        print(writers[kind](comparison).rstrip("\n"))
    else:
        with atomic_write(file) as opened:
            opened.write(writers[kind](comparison).rstrip("\n") + "\n")
        print(f"{'Report' if kind == 'html' else 'Table'}: {file}")
    if missing := comparison.failed:
        output.note(f"podium: incomplete: {', '.join(missing)}; see the report")
    return 0


def _by_ending(file: Path) -> str:
    ending = file.suffix.lower()
    if ending not in _SUFFIXES:
        raise ValueError(f"the ending of {file} is none of {', '.join(_SUFFIXES)}; name the format with --format")
    return _SUFFIXES[ending]

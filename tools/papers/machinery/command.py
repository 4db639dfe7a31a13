"""Compute the papers' experiments and write docs/papers: ``make papers``.

    python tools/papers [PAPER …] [--sections NAME …] [--stored] [--quick] [--jobs N] [--again FUNCTION …] [--list]

Each result is stored in podium-runs/papers as soon as it is computed: after an interruption, the same command goes on.
With ``--stored``, nothing is computed: pages are written of what there is, and say what is not. ``--quick`` takes tiny
synthetic data and leaves the documentation unchanged.
"""

from __future__ import annotations

import argparse
import importlib
import pkgutil
import time
from collections.abc import Sequence
from pathlib import Path

from podium.core.atomic import atomic_write

from .data import Data
from .page import Paper, write_page
from .run import Run

HERE = Path(__file__).resolve().parents[1]
ROOT = HERE.parents[1]
EXAMPLES = """
examples:
  python tools/papers                          all pages
  python tools/papers pmop --sections table_1  one section; the others of what is stored
  python tools/papers pmop --again fit_documents
"""


def papers() -> dict[str, Paper]:
    """Return all papers by name: each module of this folder, but for the machinery, has one as ``PAPER``."""
    found = [
        module.name for module in pkgutil.iter_modules([str(HERE)]) if module.name not in ("machinery", "__main__")
    ]
    return {(paper := importlib.import_module(f"papers.{name}").PAPER).name: paper for name in sorted(found)}


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="papers", description=__doc__, epilog=EXAMPLES, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    known = papers()
    parser.add_argument("papers", nargs="*", metavar="PAPER", help=f"default: all of {', '.join(known)}")
    parser.add_argument("--sections", nargs="+", default=[], help="compute these only; --list names them")
    parser.add_argument("--stored", action="store_true", help="compute nothing: write pages of what is stored")
    parser.add_argument("--quick", action="store_true", help="tiny data; pages go to the folder of the run")
    parser.add_argument("--jobs", type=int, default=1, help="processes for results that are not timed (default: 1)")
    parser.add_argument("--again", nargs="+", default=[], metavar="FUNCTION", help="compute its results anew")
    parser.add_argument("--runs", type=Path, help="folder of stored results (default: podium-runs/papers)")
    parser.add_argument("--docs", type=Path, help="folder of the pages (default: docs/papers)")
    parser.add_argument("--data", type=Path, help="folder of data sets (default: $PODIUM_DATA or ../shared/data)")
    parser.add_argument("--list", action="store_true", help="list papers and their sections")
    options = parser.parse_args(argv)
    for name in options.papers:
        if name not in known:
            parser.error(f"no paper {name!r}; there are {', '.join(known)}")
    chosen = [known[name] for name in options.papers or known]
    if options.list:
        for paper in chosen:
            print(f"{paper.name}: {' '.join(part.name for part in paper.sections)}")
        return 0
    there = {part.name for paper in chosen for part in paper.sections}
    if unknown := set(options.sections) - there:
        parser.error(f"no section {', '.join(sorted(unknown))}; --list names them")
    _write_all(chosen, known, options)
    return 0


def _write_all(chosen: Sequence[Paper], known: dict[str, Paper], options: argparse.Namespace) -> None:
    runs = options.runs or ROOT / "podium-runs" / ("papers-quick" if options.quick else "papers")
    docs = options.docs or (runs / "docs" if options.quick else ROOT / "docs" / "papers")
    data = Data(options.data or _data_folder(), options.quick)
    for paper in chosen:
        start = time.monotonic()
        run = Run(runs / paper.name, data, options.stored, options.jobs, frozenset(options.again))
        missing = write_page(paper, run, docs, options.sections)
        print(f"{docs / paper.name}.md ({time.monotonic() - start:.0f} s)")
        for line in missing:
            print(f"  not computed: {line}")
    lines = [f"- [{paper.title}]({paper.name}.md)" for paper in known.values() if (docs / f"{paper.name}.md").exists()]
    with atomic_write(docs / "README.md") as file:
        file.write(INDEX.format(pages="\n".join(lines)))


INDEX = """\
# The papers' experiments

What the papers behind Podium report, computed again beside the printed figures, claim by claim: *holds*, *does not
hold* or *cannot tell here*. Data that cannot be had are named with the data that stand in.

```
make papers                 # all pages; goes on where it was stopped
make papers PAPER=pmop      # one of them
make papers PAPERS_OPTIONS=--stored   # pages of what is stored, without computing
```

{pages}
"""


def _data_folder() -> Path | None:
    from reproduce import find_data  # type: ignore[import-not-found, unused-ignore]

    folder: Path | None = find_data()
    return folder

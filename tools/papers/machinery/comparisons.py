"""Comparisons by :func:`podium.compare` that are stored in the folder of a run."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import podium
from podium.experiments.result.comparison import Comparison
from podium.experiments.run.store import FILE

from .run import NotComputedError, Run


def compared(run: Run, name: str, data: Any, methods: Any, **options: Any) -> Comparison:
    """Return a comparison: computed as far as it is not stored, or stored and complete."""
    folder = run.folder / name
    if run.stored_only:
        found = stored_comparison(folder)
        if found is None:
            raise NotComputedError(f"the comparison {name}")
        return found
    return podium.compare(data, methods, out=folder, jobs=run.jobs, progress=Lines(name), **options)


def stored_comparison(folder: Path) -> Comparison | None:
    """Return a stored comparison if it is complete."""
    if not (folder / FILE).exists():
        return None
    try:
        comparison = Comparison.load(folder)
    except ValueError:  # nothing is finished
        return None
    done = {(result.method, result.fold) for result in comparison.results if not result.error}
    complete = all((row.method, fold) in done for row in comparison.rows for fold in comparison.folds)
    return comparison if complete else None


class Lines:
    """Progress of a comparison: one line per finished trial, overwritten."""

    def __init__(self, name: str) -> None:
        self.name, self.total, self.done = name, 0, 0

    def note(self, text: str) -> None:
        print(f"[{self.name}] {text}", file=sys.stderr)

    def start(self, total: int, done: int) -> None:
        self.total, self.done = total, done

    def finished(self, text: str, seconds_left: float | None = None) -> None:
        self.done += 1
        print(f"\r[{self.name}] {self.done} of {self.total}: {text[:90]:90s}", end="", file=sys.stderr, flush=True)

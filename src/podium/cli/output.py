"""Output of commands: results go to standard output, everything else to standard error."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from podium.core.showing import progress

if TYPE_CHECKING:
    from rich.progress import Progress

    from podium.experiments import Comparison


def note(text: str) -> None:
    """Print a line to standard error, so that it stays out of pipes."""
    print(text, file=sys.stderr, flush=True)


def print_json(value: Any) -> None:
    print(json.dumps(value, indent=2, default=repr))


def print_comparison(comparison: Comparison, hint: bool = True) -> None:
    """Print the table of a comparison, on a terminal to its width and in color, its report, and what is next."""
    if sys.stdout.isatty():
        from rich.console import Console

        from podium.experiments.result.table import renderables

        console = Console()
        console.print(*renderables(comparison, console.width), sep="\n")
    else:
        print(comparison)
    if comparison.folder:
        print(f"\nReport: {comparison.folder / 'report.html'}")
    if hint and comparison.train_command:
        print(f"To train {comparison.pick}, the pick, on all these data:\n  {comparison.train_command}")


def print_table(header: Sequence[str], rows: Sequence[Sequence[str]], numbers: Sequence[int] = ()) -> None:
    """Print aligned columns; those in ``numbers`` are aligned right."""
    widths = [max(len(row[i]) for row in [header, *rows]) for i in range(len(header))]
    for row in [header, *rows]:
        cells = [
            cell.rjust(width) if i in numbers else cell.ljust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        print("  ".join(cells).rstrip())


def by_reason(refused: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return the names that were left out for each reason, and the reason."""
    reasons: dict[str, list[str]] = {}
    for name, why in refused.items():
        reasons.setdefault(why, []).append(name)
    return [(", ".join(names), why) for why, names in reasons.items()]


class FileProgress:
    """How much of a large file was read, on standard error: a bar on a terminal, a line per tenth otherwise."""

    _LARGE = 64 << 20

    def __init__(self, path: str) -> None:
        self._path, self._total, self._shown = path, Path(path).stat().st_size, 0
        self._bar: Progress | None = None
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        if sys.stderr.isatty() and self._total >= self._LARGE:
            from rich.console import Console
            from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

            parts = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
            self._bar = self._stack.enter_context(Progress(*parts, console=Console(stderr=True), transient=True))
            self._bar.add_task(f"reading {self._path}", total=self._total)
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def show(self, read: int) -> None:
        """Say that so many bytes were read."""
        if self._bar is not None:
            self._bar.update(self._bar.task_ids[0], completed=read)
        elif self._total >= self._LARGE and 10 * read // self._total > self._shown:
            self._shown = 10 * read // self._total
            note(f"{self._path}: {read / 1e6:,.0f} of {self._total / 1e6:,.0f} MB")


class Counter:
    """How much of some work is done, on standard error: a bar on a terminal, otherwise a line per tenth if it lasts."""

    _LONG = 5.0
    """Seconds after which work that nobody watches is told of."""

    def __init__(self, what: str, total: int, quiet: bool) -> None:
        self._what, self._total, self._quiet = what, total, quiet
        self._began, self._tenths = time.perf_counter(), 0

    def __enter__(self) -> Self:
        self._display = progress.Hidden() if self._quiet else progress.new_display()
        return self

    def __exit__(self, *_: object) -> None:
        self._display.close()

    def show(self, done: int) -> None:
        """Say that so much was done."""
        seconds, tenths = time.perf_counter() - self._began, 10 * done // max(self._total, 1)
        if isinstance(self._display, progress.PlainLines):
            if tenths == self._tenths or seconds < self._LONG:
                return
            self._tenths = tenths
        left = f"{progress.duration(seconds * (self._total - done) / done)} left" if done < self._total else ""
        self._display.show(self._what, done, self._total, left)


class Reporter(progress.Reporter):
    """Progress of a comparison; an interruption is raised with a message that tells how to resume in ``folder``."""

    def __init__(self, quiet: bool, folder: Path) -> None:
        super().__init__(quiet)
        self._folder = folder

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        super().__exit__(kind, error, trace)
        if isinstance(error, KeyboardInterrupt):
            advice = f"finished trials are kept in {self._folder}: repeat the command to resume"
            raise KeyboardInterrupt(f"interrupted; {advice}") from error

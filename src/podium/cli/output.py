"""Output of commands: results go to standard output, everything else to standard error."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

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


class Reporter:
    """Progress of a comparison on standard error: a bar on a terminal, plain lines otherwise.

    An interruption within the context is raised with a message that tells how to resume the run in ``folder``.
    """

    def __init__(self, quiet: bool, folder: Path) -> None:
        self._quiet, self._folder = quiet, folder
        self._bar: Progress | None = None
        self._total = self._done = 0
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        if sys.stderr.isatty() and not self._quiet:
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

            left = TextColumn("{task.fields[left]}")
            parts = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), left)
            self._bar = self._stack.enter_context(Progress(*parts, console=Console(stderr=True), transient=True))
            self._bar.add_task("starting", total=None, left="")
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        self._stack.close()
        if isinstance(error, KeyboardInterrupt):
            advice = f"finished trials are kept in {self._folder}: repeat the command to resume"
            raise KeyboardInterrupt(f"interrupted; {advice}") from error

    def warn(self, text: str) -> None:
        """Show a line even if no progress is shown."""
        quiet, self._quiet = self._quiet, False
        self.note(text)
        self._quiet = quiet

    def note(self, text: str) -> None:
        if self._quiet:
            return
        if self._bar is not None:
            self._bar.console.print(text, highlight=False, markup=False)
        else:
            note(text)

    def start(self, total: int, done: int) -> None:
        self._total, self._done = total, done
        if self._bar is not None:
            self._bar.update(self._bar.task_ids[0], description="preparing", total=total, completed=done)

    def finished(self, text: str, seconds_left: float | None = None) -> None:
        self._done += 1
        left = "" if seconds_left is None or self._done == self._total else f"{_duration(seconds_left)} left"
        if self._bar is not None:
            self._bar.update(self._bar.task_ids[0], advance=1, description=text, left=left)
        else:
            self.note(f"[{self._done}/{self._total}{', ' * bool(left)}{left}] {text}")


def _duration(seconds: float) -> str:
    """Round a duration: ``40 s``, ``7 min``, ``2 h 10 min``."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60} min"

"""Work under way: a bar in a terminal, a line that changes in a notebook, plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from html import escape
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol, Self

if TYPE_CHECKING:
    from rich.progress import Progress


class Display(Protocol):
    """Where the state of some work is shown."""

    def show(self, text: str, done: int, total: int | None, left: str) -> None:
        """Show how far the work is; ``left`` may be empty."""

    def line(self, text: str) -> None:
        """Show a line that stays."""

    def close(self) -> None:
        """Take down what was shown of the state."""


class PlainLines:
    """Lines on standard error, one per step, for files and pipes."""

    def show(self, text: str, done: int, total: int | None, left: str) -> None:
        of = "" if total is None else f"/{total}"
        self.line(f"[{done}{of}{', ' * bool(left)}{left}] {text}")

    def line(self, text: str) -> None:
        print(text, file=sys.stderr, flush=True)

    def close(self) -> None: ...


class Hidden(PlainLines):
    """The state of work that is part of other work: only lines that stay are shown."""

    def show(self, text: str, done: int, total: int | None, left: str) -> None: ...


_shown: list[Display] = []
"""The bar that is being shown, if there is one: two would overwrite each other."""


class TerminalBar:
    """A bar on standard error, which is gone when the work is done."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

        left = TextColumn("{task.fields[left]}")
        parts = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), left)
        self._bar: Progress = Progress(*parts, console=Console(stderr=True), transient=True)
        self._task = self._bar.add_task("starting", total=None, left="")
        self._bar.start()
        _shown.append(self)

    def show(self, text: str, done: int, total: int | None, left: str) -> None:
        self._bar.update(self._task, description=text, completed=done, total=total, left=left)

    def line(self, text: str) -> None:
        self._bar.console.print(text, highlight=False, markup=False)

    def close(self) -> None:
        self._bar.stop()
        _shown.remove(self)


class NotebookLine:
    """A bar and a line in the output of a cell, which change in place; no widgets are needed.

    When the work is done, the line says how long it took.
    """

    def __init__(self) -> None:
        display = import_module("IPython.display").display
        self._began, self._last, self._done = time.perf_counter(), -1.0, 0
        self._state: tuple[str, float | None] = ("starting", None)
        self._notes: list[str] = []
        self._handle: Any = display(self._mime(), display_id=True, raw=True)
        _shown.append(self)

    def show(self, text: str, done: int, total: int | None, left: str) -> None:
        self._done, now = done, time.perf_counter()
        if now - self._last < 0.1 and done != total:  # each change is a message to the page
            return
        self._last = now
        share = done / total if total else None
        of = f"{done} of {total}" if total else f"{done}"
        self._update(" · ".join(part for part in (of, left, text) if part), share)

    def line(self, text: str) -> None:
        self._notes.append(text)
        self._update(*self._state)

    def close(self) -> None:
        self._update(f"{self._done} done in {duration(time.perf_counter() - self._began)}", None)
        _shown.remove(self)

    def _update(self, text: str, share: float | None) -> None:
        self._state = text, share
        self._handle.update(self._mime(), raw=True)

    def _mime(self) -> dict[str, str]:
        text, share = self._state
        bar = "" if share is None else f'<progress value="{share:.4f}"></progress> '
        lines = [f"{bar}{escape(text)}", *map(escape, self._notes)]
        return {"text/plain": "\n".join([text, *self._notes]), "text/html": f"<div>{'<br>'.join(lines)}</div>"}


def in_notebook() -> bool:
    """Return whether this runs in a Jupyter kernel."""
    if "IPython" not in sys.modules:
        return False
    shell = import_module("IPython.core.getipython").get_ipython()
    return getattr(shell, "kernel", None) is not None


def can_change() -> bool:
    """Return whether somebody may be watching: standard error is a terminal, or this runs in a notebook."""
    return in_notebook() or sys.stderr.isatty()


def new_display() -> Display:
    """Return what suits the place where this runs; nothing is shown of work within work that is shown."""
    if _shown:
        return Hidden()
    if in_notebook():
        return NotebookLine()
    return TerminalBar() if sys.stderr.isatty() else PlainLines()


class Reporter:
    """Tells of a study's progress; within its context a bar is shown where there can be one.

    Parameters
    ----------
    quiet : bool
        Show nothing but warnings.
    """

    def __init__(self, quiet: bool = False) -> None:
        self._quiet = quiet
        self._display: Display = PlainLines()
        self._total = self._done = 0

    def __enter__(self) -> Self:
        if not self._quiet:
            self._display = new_display()
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        self._display.close()

    def warn(self, text: str) -> None:
        """Show a line even if no progress is shown."""
        self._display.line(text)

    def note(self, text: str) -> None:
        """Show a line."""
        if not self._quiet:
            self._display.line(text)

    def start(self, total: int, done: int) -> None:
        """Take in how many trials there are, and how many of them an earlier run finished."""
        self._total, self._done = total, done
        if not self._quiet and not isinstance(self._display, PlainLines):
            self._display.show("preparing", done, total, "")

    def finished(self, text: str, seconds_left: float | None = None) -> None:
        """Take in that one more trial is done."""
        self._done += 1
        if not self._quiet:
            left = "" if seconds_left is None or self._done == self._total else f"{duration(seconds_left)} left"
            self._display.show(text, self._done, self._total, left)


def duration(seconds: float) -> str:
    """Round a duration: ``40 s``, ``7 min``, ``2 h 10 min``."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60} min"

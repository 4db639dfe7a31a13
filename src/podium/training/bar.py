"""The progress of one fit, where it was asked for and can be seen to change."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from podium.core.showing.progress import Display, can_change, duration, new_display
from podium.training.base import Callback, Progress

SOON = 1.0
"""Seconds after which a fit is long enough to be shown."""


@contextmanager
def fit_shown(verbose: int, callback: Callback) -> Iterator[Callback]:
    """Return the callback for a fit; with ``verbose=1`` in a terminal or a notebook, it also shows a bar.

    Elsewhere, and with ``verbose=2``, the run prints lines of its own: see :func:`prints_lines`.
    """
    if verbose != 1 or not can_change():
        yield callback
        return
    bar = _FitBar(callback)
    try:
        yield bar
    finally:
        bar.close()


def prints_lines(verbose: int) -> bool:
    """Return whether a run prints one line per iteration."""
    return verbose > 1 or (verbose == 1 and not can_change())


class _FitBar:
    """Shows iteration, loss, metric and the time left at most, from the first second on."""

    def __init__(self, callback: Callback) -> None:
        self._callback = callback
        self._began = time.perf_counter()
        self._display: Display | None = None

    def __call__(self, progress: Progress) -> Any:
        seconds = time.perf_counter() - self._began
        if self._display is None and seconds > SOON:
            self._display = new_display()
        if self._display is not None:
            judged = "" if progress.validation is None else f", validation {progress.validation:.4f}"
            left = ""
            if progress.total is not None and progress.total > progress.iteration:
                left = f"at most {duration(seconds / progress.iteration * (progress.total - progress.iteration))} left"
            self._display.show(f"loss {progress.loss:.6g}{judged}", progress.iteration, progress.total, left)
        return None if self._callback is None else self._callback(progress)

    def close(self) -> None:
        if self._display is not None:
            self._display.close()

"""Who is told how a study is getting on: whoever the caller names, a bar where one can be seen, or nobody."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from podium.core.showing.progress import Reporter, can_change
from podium.experiments.run.runner import Listener


@contextmanager
def listening(progress: Listener | bool | None) -> Iterator[Listener]:
    """Return what to tell of the progress.

    Parameters
    ----------
    progress : Listener, bool or None
        None: a bar in a terminal or a notebook, nothing elsewhere. True: also elsewhere, as lines on standard error.
        False: nothing.
    """
    if progress is None:
        progress = can_change()
    if progress is True:
        with _Shown() as shown:
            yield shown
    else:
        yield Silent() if progress is False else progress


def tell(lines: Iterable[str], listener: Listener) -> None:
    """Say something that must not go unnoticed: as warnings, if nobody listens."""
    for line in lines:
        warn(listener, line)


def warn(listener: Listener, line: str) -> None:
    """Have a line shown even where progress is not."""
    getattr(listener, "warn", listener.note)(line)


class Silent:
    """Shows nothing but what must not go unnoticed."""

    def note(self, text: str) -> None: ...

    def warn(self, text: str) -> None:
        warnings.warn(text, stacklevel=4)

    def start(self, total: int, done: int) -> None: ...

    def finished(self, text: str, seconds_left: float | None = None) -> None: ...


class _Shown(Reporter):
    """Progress for callers in Python, to whom warnings are warnings whether or not a bar is shown."""

    def warn(self, text: str) -> None:
        warnings.warn(text, stacklevel=4)

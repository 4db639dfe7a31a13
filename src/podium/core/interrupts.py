"""Ctrl-C that waits until other people's code has returned."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def interrupts_deferred() -> Iterator[None]:
    """Raise a KeyboardInterrupt that comes in this context when it ends; the second one at once.

    For calls of Dask, in which it can get lost: Python ignores exceptions in ``Future.__del__``, and ``sync``, stopped
    between two lines, raises another error in its place.
    """
    in_main = threading.current_thread() is threading.main_thread()
    if not in_main or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield  # within another such context, or the caller's own way to handle it
        return
    came: list[int] = []

    def note(number: int, frame: object) -> None:
        came.append(number)
        if len(came) > 1:
            raise KeyboardInterrupt

    signal.signal(signal.SIGINT, note)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        if came:
            raise KeyboardInterrupt

"""A word to those who wait while functions are compiled."""

import threading
import time
from typing import Any

from numba.core import event

from podium.core import notices

AFTER = 1.0
"""Seconds of compiling, all functions together."""


class _Watch(event.Listener):  # type: ignore[misc]
    """Adds up the time during which functions are compiled; compiling one may mean compiling those it calls."""

    def __init__(self) -> None:
        self._depth, self._started, self._left = 0, 0.0, AFTER
        self._timer: threading.Timer | None = None

    def on_start(self, happened: Any) -> None:
        if notices.compiling is None or self._left <= 0:
            return
        self._depth += 1
        if self._depth == 1:
            self._started = time.monotonic()
            self._timer = threading.Timer(self._left, self._tell)
            self._timer.daemon = True
            self._timer.start()

    def on_end(self, happened: Any) -> None:
        if self._depth == 0:
            return
        self._depth -= 1
        if self._depth == 0 and self._timer is not None:
            self._timer.cancel()
            self._left -= time.monotonic() - self._started

    def _tell(self) -> None:
        self._left = 0.0
        if notices.compiling is not None:
            notices.compiling()


event.register("numba:compile", _Watch())

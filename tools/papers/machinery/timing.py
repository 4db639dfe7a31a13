"""Times of calls."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any


def quickest(work: Callable[[], Any], seconds: float) -> float:
    """Return the least time of a call, in milliseconds, of as many as fit; the first is left out."""
    work()
    times: list[float] = []
    start = time.perf_counter()
    while time.perf_counter() - start < seconds or len(times) < 3:
        before = time.perf_counter()
        work()
        times.append(time.perf_counter() - before)
    return 1000 * min(times)

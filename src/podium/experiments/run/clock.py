"""The time that a search, the final fit and the writing of the model may take together."""

import math
import time
from typing import Any


class Clock:
    """A time limit in minutes, or none.

    Parameters
    ----------
    minutes : float, optional
    began : float, optional
        The time of ``time.perf_counter`` to count from; by default now.
    """

    def __init__(self, minutes: float | None = None, began: float | None = None) -> None:
        if minutes is not None and not 0 < minutes < math.inf:
            raise ValueError(f"minutes must be a positive number; got {minutes!r}")
        self.began = time.perf_counter() if began is None else began
        self.limit = math.inf if minutes is None else 60.0 * minutes
        self.end = self.began + self.limit
        self.stopped_a_fit = False
        """Whether a final fit was ended early."""

    @property
    def is_limited(self) -> bool:
        return math.isfinite(self.limit)

    @property
    def left(self) -> float:
        return self.end - time.perf_counter()

    def stop_fit(self, _: Any) -> bool:
        """Callback of a final fit: ends it when the time is over, and what was learned so far is kept."""
        if self.left < 0.04 * self.limit:
            self.stopped_a_fit = True
        return self.stopped_a_fit

"""How many threads a training run should use. None of this changes a result, only its time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from podium.data.queries import Queries
from podium.losses.base import Loss

LITTLE_WORK = 500_000
"""Numbers read in a pass over the data; with fewer, waiting for a second thread costs more than it saves."""


@contextmanager
def enough_threads(queries: Queries, loss: Loss) -> Iterator[None]:
    """Within this, compiled loops use one thread if a pass over the data is too short to be worth sharing.

    Waiting for a second thread takes microseconds on an idle machine but a time slice, milliseconds, on a busy one.
    """
    work = queries.features.size  # of a sparse matrix: the entries it stores
    if loss.cost != "n":
        work += int((queries.sizes**2).sum())
    with threads_for(work):
        yield


@contextmanager
def threads_for(work: int) -> Iterator[None]:
    """Within this, compiled loops over so many numbers use one thread if more are not worth it."""
    from numba import get_num_threads, set_num_threads

    before = get_num_threads()
    set_num_threads(1 if work < LITTLE_WORK else before)
    try:
        yield
    finally:
        set_num_threads(before)

"""A pool of plain threads for compiled functions that release the interpreter lock (``njit(nogil=True)``).

:func:`share` splits a loop over items among the threads, :func:`each` calls a function once per piece of work. Threads
are started when first needed, sleep while there is nothing to do, and are started anew after a fork. A loop inside a
loop that is already shared runs in the thread it is in.

No result may depend on the number of threads. An item is therefore whatever is computed in one go: a query that writes
results of its own, or, where results are summed, a *fixed* block of consecutive queries, its sum stored under the
block's number and the sums added afterwards in that order.
"""

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np

LITTLE_WORK = 500_000
"""Nanoseconds of work below which waking another thread does not pay: on a busy machine that takes milliseconds."""
_PIECES_PER_THREAD = 4  # a thread that is done early takes another piece
_limit: ContextVar[int | None] = ContextVar("podium_threads", default=None)


def share(kernel: Callable[..., Any], items: int | np.ndarray, *arguments: Any, work: float) -> None:
    """Call ``kernel(first, stop, *arguments)`` on ranges that together cover all items, on several threads.

    Parameters
    ----------
    kernel : callable
        A compiled function with ``nogil=True`` whose results do not depend on how the items are split into ranges.
    items : int or (n_items + 1,) array
        The number of items, or offsets whose differences are about proportional to the items' costs (``offsets`` of
        queries): the ranges then have about equal costs.
    work : float
        The cost of all items in nanoseconds, roughly: one per number read or elementary operation, 10 per logarithm.
        With less than :data:`LITTLE_WORK` the kernel is called once, in the calling thread.

    >>> double = lambda first, stop, numbers: np.multiply(numbers[first:stop], 2, out=numbers[first:stop])
    >>> numbers = np.arange(5)
    >>> share(double, len(numbers), numbers, work=1e9)
    >>> numbers
    array([0, 2, 4, 6, 8])
    """
    n_items = items if isinstance(items, int) else len(items) - 1
    n_pieces = min(_PIECES_PER_THREAD * n_threads(), n_items)
    if work < LITTLE_WORK or n_threads() == 1 or n_pieces < 2:
        kernel(0, n_items, *arguments)
        return
    if isinstance(items, int):
        inner = [n_items * piece // n_pieces for piece in range(1, n_pieces)]
    else:
        inner = np.searchsorted(items, np.linspace(items[0], items[-1], n_pieces + 1)[1:-1]).tolist()
    each(lambda first, stop: kernel(first, stop, *arguments), pairwise([0, *inner, n_items]))


def each(function: Callable[..., Any], arguments: Iterable[tuple[Any, ...]]) -> list[Any]:
    """Return the results of ``function(*args)`` for each ``args``, in order, computed on several threads.

    If calls raise, the exception of the first of them is raised here. Ctrl-C takes effect between calls.
    """
    tasks = list(arguments)
    results: list[Any] = [None] * len(tasks)
    errors: dict[int, BaseException] = {}
    remaining = iter(range(len(tasks)))  # advanced under the interpreter lock, so that every number is taken once

    def take_tasks() -> None:
        with threads(1):
            for i in remaining:
                if errors:
                    return
                try:
                    results[i] = function(*tasks[i])
                except BaseException as error:  # reaches the caller below
                    errors[i] = error

    helpers = []
    with suppress(RuntimeError):  # Python is shutting down: no new threads
        helpers = [_pool().submit(take_tasks) for _ in range(min(n_threads(), len(tasks)) - 1)]
    try:
        take_tasks()
    finally:
        for helper in helpers:
            if not helper.cancel():
                helper.result()
    if errors:
        raise errors[min(errors)]
    return results


def n_threads() -> int:
    """Return how many threads a loop started here may use.

    That is the number of cores available to the process, limited by :func:`threads` and by the environment variable
    ``PODIUM_NUM_THREADS``, or where that is not set by ``NUMBA_NUM_THREADS`` and ``OMP_NUM_THREADS``, through which
    joblib and Dask tell their worker processes how many threads to use.
    """
    limit = _limit.get()
    return _available() if limit is None else min(limit, _available())


@contextmanager
def threads(n: int) -> Iterator[None]:
    """Limit loops started within this context to ``n`` threads."""
    outer = _limit.get()
    token = _limit.set(max(1, n) if outer is None else max(1, min(n, outer)))
    try:
        yield
    finally:
        _limit.reset(token)


def available_cores() -> int:
    """Return the number of cores this process may use: under a scheduler or in a container, perhaps not all."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@cache
def _available() -> int:
    names = ("PODIUM_NUM_THREADS",) if "PODIUM_NUM_THREADS" in os.environ else ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS")
    limits = [os.environ[name] for name in names if name in os.environ]
    return max(1, min([available_cores(), *(int(limit) for limit in limits if limit.isdecimal())]))


@cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(max_workers=256, thread_name_prefix="podium")  # starts only as many as are submitted


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pool.cache_clear)  # a fork copies the pool but none of its threads

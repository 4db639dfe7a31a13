"""Asking a trial to end before it is done, where its process cannot be ended: on the worker of a cluster."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_check: ContextVar[Callable[[], bool] | None] = ContextVar("podium_interruption", default=None)


@contextmanager
def interruptible(check: Callable[[], bool]) -> Iterator[None]:
    """Let trials within this context end as soon as ``check()`` is true."""
    token = _check.set(check)
    try:
        yield
    finally:
        _check.reset(token)


def can_be_interrupted() -> bool:
    return _check.get() is not None


def is_interrupted() -> bool:
    check = _check.get()
    return check is not None and check()

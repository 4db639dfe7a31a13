"""Advice in messages, in the words of the caller: Python's arguments, or the options of the command line."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_command_line: ContextVar[bool] = ContextVar("command_line", default=False)


class LeftOutWarning(UserWarning):
    """Part of a file, such as columns without numbers, was not read."""


@contextmanager
def for_the_command_line() -> Iterator[None]:
    """Let messages raised within the context speak of the command line's options."""
    token = _command_line.set(True)
    try:
        yield
    finally:
        _command_line.reset(token)


def advice(python: str, command_line: str) -> str:
    """Return one of two texts: the second within :func:`for_the_command_line`, else the first."""
    return command_line if _command_line.get() else python

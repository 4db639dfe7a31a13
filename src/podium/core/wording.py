"""Advice in messages, in the words of the caller: Python's arguments, or the options of the command line."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from difflib import get_close_matches

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


def did_you_mean(word: str, known: Iterable[str], cutoff: float = 0.6) -> str:
    """Return a question for the end of a message, with the known words that look like this one; nothing if none do."""
    near = get_close_matches(word, list(known), n=3, cutoff=cutoff)
    return f" Did you mean {' or '.join(near)}?" if near else ""


def advice(python: str, command_line: str) -> str:
    """Return one of two texts: the second within :func:`for_the_command_line`, else the first."""
    return command_line if _command_line.get() else python

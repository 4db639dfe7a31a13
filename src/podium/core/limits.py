"""How much a file may ask for: limits that can be raised, and errors that say how.

A few bytes can ask for gigabytes: a gzip file of zeros, one feature with the index 2147483647, one id of a megabyte
among a million short ones. What a file asks for must be justified by its size, or stay below a limit.
"""

import os

_DEFAULTS = {
    "PODIUM_MAX_MB": 1024,
    "PODIUM_MAX_ID": 10_000,
    "PODIUM_MAX_LINE_MB": 64,
}
"""Megabytes that a file may ask for however small it is; characters of an id; megabytes of a line."""
FACTOR = 100
"""A file may ask for this many times its size."""


def limit(name: str) -> int:
    """Return a limit, from the environment variable of this name or its default."""
    text = os.environ.get(name, "")
    if not text:
        return _DEFAULTS[name]
    if not text.isdigit() or int(text) < 1:
        raise ValueError(f"the environment variable {name} is {text!r}; it must be a whole number of at least 1")
    return int(text)


def allowed_bytes(file_size: int) -> int:
    """Return the memory that a file of this size may ask for."""
    return max(limit("PODIUM_MAX_MB") << 20, FACTOR * file_size)


def raise_limit(name: str, needed: int) -> str:
    """Return how to raise a limit, for the end of a message."""
    return f"if that is right, set the environment variable {name}={needed} (now {limit(name)})"

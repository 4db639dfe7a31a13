"""Texts as arrays that neither merge different ones nor take memory that they do not need."""

from collections.abc import Sequence

import numpy as np

_SHORT, _UNEVEN = 64, 8


def is_uneven(longest: int, mean: float) -> bool:
    """Return whether a fixed width would waste memory: one long text makes all others as wide."""
    return longest > _SHORT and longest > _UNEVEN * mean


def text_array(texts: Sequence[str]) -> np.ndarray:
    """Return texts as an array of NumPy's strings, or of Python's where NumPy's would not do.

    NumPy's have a fixed width, and drop zeros at their end: ``"a"`` and ``"a\\0"`` would be one.

    >>> text_array(["a", "b"]).dtype.kind, text_array(["a", "a\\0"]).dtype.kind
    ('U', 'O')
    """
    longest, total = max(map(len, texts), default=0), sum(map(len, texts))
    if is_uneven(longest, total / max(len(texts), 1)) or any("\0" in text for text in texts):
        array = np.empty(len(texts), object)
        array[:] = texts
        return array
    return np.array(texts, dtype=str)


def as_texts(values: np.ndarray) -> list[str]:
    """Return values of any type as Python's texts."""
    return list(map(str, values.tolist())) if values.dtype == object else values.astype(str).tolist()

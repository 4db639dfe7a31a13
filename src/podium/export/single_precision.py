"""Thresholds and sums of systems that compute in float32.

LightGBM's rule is ``value <= threshold`` in float64. A value that is a float32 is at most a threshold exactly if it is
at most :func:`floor32` of it, and exactly if it is below :func:`above32` of it; neither changes a decision.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from podium.export.portable import NotExportable

_MAX = np.finfo(np.float32).max


def floor32(values: np.ndarray) -> np.ndarray:
    """Return the largest finite float32 that is at most each of these float64 numbers.

    >>> floor32(np.array([0.1, 0.5])) <= np.array([0.1, 0.5])
    array([ True,  True])
    """
    values = np.clip(np.asarray(values, np.float64), -float(_MAX), float(_MAX))
    near = values.astype(np.float32)
    return at_ordinal(ordinal(near) - (near.astype(np.float64) > values))


def above32(values: np.ndarray) -> np.ndarray:
    """Return the smallest float32 that is greater than each of these float64 numbers; the largest one at most."""
    return at_ordinal(np.minimum(ordinal(floor32(values)) + 1, ordinal(_MAX)))


def ordinal(values: np.ndarray | np.floating[Any]) -> np.ndarray:
    """Return whole numbers in the order of these float32 numbers, neighbors for neighbors; ±0 are one number.

    >>> ordinal(np.array([0.0, -0.0, 1e-45, -1e-45], np.float32)).tolist()
    [0, 0, 1, -1]
    """
    bits = np.asarray(values, np.float32).view(np.int32).astype(np.int64)
    return np.where(bits < 0, -(bits & 0x7FFFFFFF), bits)


def at_ordinal(places: np.ndarray) -> np.ndarray:
    """Return the float32 numbers with these ordinals."""
    magnitude = np.abs(places).astype(np.int32).view(np.float32)
    return np.where(places < 0, -magnitude, magnitude)


def shortest(value: np.floating[Any]) -> str:
    """Return the shortest decimal text that reads back as this very float32 or float64.

    >>> shortest(np.float32(0.1)), shortest(np.float64(0.1)), shortest(np.float32(1e20))
    ('0.1', '0.1', '1e+20')
    """
    return str(value) if type(value) is np.float32 else repr(float(value))


def sums32(terms: Sequence[np.ndarray] | np.ndarray, start: np.ndarray | float = 0.0) -> np.ndarray:
    """Return the sum of the (n,) float32 terms, added one by one to ``start`` in float32."""
    total = np.asarray(start, np.float32)
    for term in terms:
        total = total + np.asarray(term, np.float32)
    return total


def require_float32(values: np.ndarray, what: str, title: str) -> None:
    """Raise NotExportable if a number is too large for float32."""
    if values.size and np.abs(values).max() > _MAX:
        raise NotExportable(
            f"{title} computes in single precision, and {what} as large as {np.abs(values).max():g} is beyond it: "
            "scale the grades down and train again"
        )

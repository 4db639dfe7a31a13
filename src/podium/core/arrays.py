"""Arrays and texts by name: the form in which a fitted object is stored in a file."""

from collections.abc import Mapping

import numpy as np

Array = np.ndarray
"""An array of any type: short, for the signatures of compiled functions."""
NOT_FINITE = "the score is not a finite number: the row's values are not, or too large for this model's parameters"
"""What is wrong with documents whose scores could not be sorted."""
Arrays = Mapping[str, np.ndarray | str]


def named_under(prefix: str, arrays: Arrays) -> Arrays:
    """Return the arrays whose names start with ``prefix`` and a dot, without it."""
    return {name.removeprefix(f"{prefix}."): a for name, a in arrays.items() if name.startswith(f"{prefix}.")}


def require_array(arrays: Arrays, name: str, shape: tuple[int | None, ...]) -> np.ndarray:
    """Return the named array; raise ValueError unless it is float64, finite and of this shape (None: any length)."""
    if name not in arrays:
        raise ValueError(f"the model's {name!r} is missing")
    array = arrays[name]
    if not isinstance(array, np.ndarray) or array.dtype != np.float64:
        raise ValueError(f"the model's {name!r} must be an array of float64")
    if array.ndim != len(shape) or any(want not in (None, got) for want, got in zip(shape, array.shape, strict=True)):
        raise ValueError(f"the model's {name!r} has shape {array.shape}; expected {shape}")
    if not np.isfinite(array).all():
        raise ValueError(f"the model's {name!r} holds values that are not finite")
    return array

"""Arrays and texts by name: the form in which a fitted object is stored in a file."""

from collections.abc import Mapping

import numpy as np

Array = np.ndarray
"""An array of any type: short, for the signatures of compiled functions."""
NOT_FINITE = "the score is not a finite number: the row's values are not, or too large for this model's parameters"
"""What is wrong with documents whose scores could not be sorted."""
Arrays = Mapping[str, np.ndarray | str]
LARGEST = 1e100
"""The largest parameter of a model. Sums of products of a few such numbers do not overflow; where they do, scores
depend on the order in which something else, such as a search engine, adds."""


def named_under(prefix: str, arrays: Arrays) -> Arrays:
    """Return the arrays whose names start with ``prefix`` and a dot, without it."""
    return {name.removeprefix(f"{prefix}."): a for name, a in arrays.items() if name.startswith(f"{prefix}.")}


def require_array(arrays: Arrays, name: str, shape: tuple[int | None, ...]) -> np.ndarray:
    """Return the named array; raise ValueError unless it is float64, moderate and of this shape (None: any length)."""
    if name not in arrays:
        raise ValueError(f"the model's {name!r} is missing")
    array = arrays[name]
    if not isinstance(array, np.ndarray) or array.dtype != np.float64:
        raise ValueError(f"the model's {name!r} must be an array of float64")
    if array.ndim != len(shape) or any(want not in (None, got) for want, got in zip(shape, array.shape, strict=True)):
        raise ValueError(f"the model's {name!r} has shape {array.shape}; expected {shape}")
    require_moderate(name, array)
    return array


def require_moderate(name: str, array: np.ndarray) -> None:
    """Raise ValueError unless all values are finite, and none is larger in size than :data:`LARGEST`."""
    fine = np.abs(array) <= LARGEST
    if not fine.all():
        worst = array.flat[int(np.argmin(fine))]
        raise ValueError(
            f"the model's {name!r} holds {worst:.3g}; parameters are finite and at most {LARGEST:g} in size"
        )

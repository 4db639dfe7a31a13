"""What an object is, as JSON-like values: two that are described alike give the same results.

Podium's own classes are known by name, and by the digest of their code; a class or function of the user's by its source
as well. Arrays are described by their digest.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import marshal
import pickle
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import fields, is_dataclass
from functools import partial
from importlib import metadata
from typing import Any

import numpy as np

PACKAGES = ("numpy", "scipy", "numba", "scikit-learn", "lightgbm")
"""Those whose versions the results of every method may depend on."""
_KNOWN = {"podium", "numpy", "scipy", "numba", "sklearn", "lightgbm"}


class Identity:
    """The description of an object, and the modules that its classes and functions are defined in."""

    def __init__(self, value: Any) -> None:
        self.modules: set[str] = set()
        self.description: Any = self._describe(value)

    def _describe(self, value: Any) -> Any:
        if isinstance(value, np.generic):
            value = value.item()
        if value is None or isinstance(value, bool | int | float | str):
            return value
        if isinstance(value, np.ndarray) and value.dtype != object:
            return {"array": _digest(np.ascontiguousarray(value)), "dtype": value.dtype.str, "shape": value.shape}
        if isinstance(value, Mapping):
            return {str(key): self._describe(item) for key, item in value.items()}
        if type(value) in (list, tuple, range) or isinstance(value, np.ndarray):
            return [self._describe(item) for item in value]
        if isinstance(value, partial):
            return {"of": self._describe(value.func), "given": self._describe([*value.args, value.keywords])}
        if isinstance(value, type) or inspect.isroutine(value) or hasattr(value, "py_func"):
            return self._code(getattr(value, "py_func", value))
        return {"is": self._code(type(value)), "with": self._parameters(value)}

    def _parameters(self, value: Any) -> Any:
        if hasattr(value, "get_params"):
            return self._describe(value.get_params(deep=False))
        if is_dataclass(value):
            return {field.name: self._describe(getattr(value, field.name)) for field in fields(value)}
        if isinstance(value, tuple):
            return [self._describe(item) for item in value]
        try:
            return _digest(pickle.dumps(value))  # for its digest only: nothing is ever unpickled
        except Exception:  # whatever an object raises that cannot be pickled
            return repr(value)

    def _code(self, value: Any) -> dict[str, Any]:
        """Return the name of a class or function and, unless a known package has it, its source."""
        module = getattr(value, "__module__", None) or ""
        self.modules.add(module)
        described: dict[str, Any] = {"name": f"{module}:{getattr(value, '__qualname__', repr(value))}"}
        root = module.partition(".")[0]
        if root in _KNOWN or root in sys.stdlib_module_names:
            return described
        with suppress(metadata.PackageNotFoundError):
            described["version"] = metadata.version(root)
        try:
            described["source"] = _digest(inspect.getsource(value).encode())
        except (OSError, TypeError):  # defined at a prompt, or compiled
            described["source"] = _digest(_bytecode(value))
        if isinstance(value, type):
            described["bases"] = [self._code(base) for base in value.__bases__]
        elif cells := getattr(value, "__closure__", None):
            captured = (cell.cell_contents for cell in cells)
            described["closure"] = [self._describe(item) for item in captured if item is not value]
        return described


def _bytecode(value: Any) -> bytes:
    """Return the compiled code, constants included, of a function or of the functions of a class."""
    members = vars(value).values() if isinstance(value, type) else [value]
    functions = (getattr(member, "__func__", getattr(member, "fget", member)) for member in members)
    return b"".join(marshal.dumps(function.__code__) for function in functions if hasattr(function, "__code__"))


def digest(value: Any) -> str:
    """Return a short name for a JSON-like value: equal values, equal names."""
    return _digest(json.dumps(value, sort_keys=True, default=repr).encode(), 10)


def package_versions() -> dict[str, str]:
    """Return the versions of the packages that results may depend on."""
    found = {}
    for package in PACKAGES:
        with suppress(metadata.PackageNotFoundError):
            found[package] = metadata.version(package)
    return found


def _digest(content: Any, size: int = 12) -> str:
    return hashlib.blake2b(content, digest_size=size).hexdigest()

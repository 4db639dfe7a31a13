"""What a compiled function was made from: a digest that changes if anything it reaches does."""

import sys
from collections.abc import Iterator
from functools import cache
from hashlib import sha256
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np
from numba.core.extending import _Intrinsic
from numba.core.types import Type
from numba.extending import is_jitted

_OURS = "podium"
_PLAIN = (int, float, complex, str, bytes, bool, type(None), np.generic, np.dtype, Type)


def stamp(function: Any, facts: object = None) -> str | None:
    """Return a digest of the source files and constants that a function is made from, and of further ``facts``.

    Paths and times have no part in it, so that a copied installation keeps its compiled functions. There is none if the
    function, or a compiled one among those it calls, is from outside Podium: it may be redefined without a trace, in a
    notebook, say.
    """
    if not _is_ours(function):
        return None
    walk = _Walk()
    walk.value(function)
    if walk.reaches_others:
        return None
    contents = sorted(_contents(file, Path(file).stat().st_mtime_ns) for file in walk.files if Path(file).exists())
    return sha256(repr((contents, sorted(walk.constants), facts)).encode()).hexdigest()[:16]


def uncompiled(function: Any) -> Any:
    """Return the Python function that was compiled; anything else as it is."""
    return getattr(function, "py_func", function)


def bound_functions(function: Any) -> list[str]:
    """Return the names of the functions that a function calls by global names: they tell copies of a template apart."""
    called = (_python_function(function.__globals__.get(name)) for name in function.__code__.co_names)
    return [f"{other.__module__}.{other.__qualname__}" for other in called if other is not None]


class _Walk:
    def __init__(self) -> None:
        self.files: set[str] = set()
        self.constants: set[str] = set()
        self.reaches_others = False
        self._seen: set[int] = set()
        self._keep: list[Any] = []  # so that no two objects have the same id

    def value(self, value: Any, name: str = "") -> None:
        """Take account of what a global name or a closure holds."""
        if isinstance(value, _PLAIN):
            self.constants.add(f"{name}={value!r}")
        elif isinstance(value, np.ndarray):
            self.constants.add(f"{name}={value.dtype} {value.shape} {sha256(value.tobytes()).hexdigest()}")
        elif isinstance(value, tuple | list | frozenset):
            for item in value:
                self.value(item, name)
        elif id(value) not in self._seen:
            self._seen.add(id(value))
            self._keep.append(value)
            self._object(value)

    def _object(self, value: Any) -> None:
        function = _python_function(value)
        if function is not None:
            if _is_ours(function):
                self._function(function)
            elif _is_compiled(value):
                self.reaches_others = True
        elif isinstance(value, type) and _is_ours(value):
            self._module(sys.modules.get(value.__module__))

    def _function(self, function: FunctionType) -> None:
        self.files.add(function.__code__.co_filename)
        self._module(sys.modules.get(function.__module__))
        names = set(_names(function.__code__))
        for name in names & function.__globals__.keys():
            value = function.__globals__[name]
            if isinstance(value, ModuleType) and _is_ours(value):
                for inner in names & value.__dict__.keys():
                    self.value(value.__dict__[inner], inner)
            else:
                self.value(value, name)
        for cell in function.__closure__ or ():
            self.value(cell.cell_contents)

    def _module(self, module: ModuleType | None) -> None:
        """Take the file of a module and the compiled functions in it: overloads are not called by their names."""
        if module is None or id(module) in self._seen or not getattr(module, "__file__", None):
            return
        self._seen.add(id(module))
        self.files.add(str(module.__file__))
        for value in list(module.__dict__.values()):
            if _is_compiled(value):
                self.value(value)


def _python_function(value: Any) -> FunctionType | None:
    function = value._defn if isinstance(value, _Intrinsic) else uncompiled(value)
    return function if isinstance(function, FunctionType) else None


def _is_compiled(value: Any) -> bool:
    return is_jitted(value) or isinstance(value, _Intrinsic)


def _is_ours(value: Any) -> bool:
    name = getattr(value, "__module__", None) or getattr(value, "__name__", "")
    return str(name).partition(".")[0] == _OURS


def _names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)


@cache
def _contents(file: str, changed: int) -> str:
    return sha256(Path(file).read_bytes()).hexdigest()

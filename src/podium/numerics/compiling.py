"""Compiled functions that are cached on disk and never stale.

Numba caches a compiled function for the next process, but notices changes only in the file that defines it. The names
of functions made here carry a digest of every source file they were made from, so a change in any of these makes
another function.
"""

from collections.abc import Callable
from functools import cache
from hashlib import sha1
from pathlib import Path
from types import FunctionType
from typing import Any, TypeVar

import numba

Kernel = Callable[..., Any]
Function = TypeVar("Function", bound=Callable[..., Any])


def njit(**options: Any) -> Callable[[Function], Function]:
    """Return Numba's decorator; what it compiles has, for type checkers, the type of the function."""
    return numba.njit(**options)


def uncompiled(function: Any) -> Any:
    """Return the Python function that was compiled; anything else as it is."""
    return getattr(function, "py_func", function)


def unbound(*_: Any) -> Any:
    """Stand for a function that a template calls and that :func:`with_globals` binds."""
    raise AssertionError("a template was called without what it is to be bound to")


def compiled(function: Callable[..., Any]) -> Kernel:
    """Compile a function that calls functions of other files, and cache it for later processes."""
    copy = with_globals(function)
    _rename(copy, function.__name__, copy.__code__.co_filename, _digest(source_files(function)))
    return njit(cache=True, nogil=True, error_model="numpy")(copy)


def specialize(
    template: Callable[..., Any], kernel: Kernel, variant: str, files: set[str], **names: Any
) -> tuple[FunctionType, bool]:
    """Return a copy of a template in which ``kernel`` and other names are bound, and whether to cache it on disk.

    ``variant`` tells copies for the same kernel apart; ``files`` are further files that the copy depends on.

    Numba caches a function with the file it stands in: the copy claims to stand in the kernel's. A kernel from outside
    Podium may be redefined without a trace (in a notebook, say): what is made of it is compiled anew in each process.
    """
    python_kernel = uncompiled(kernel)
    copy = with_globals(template, kernel=kernel, __name__=kernel.__module__, **names)
    digest = _digest(source_files(python_kernel) | source_files(template) | files, variant)
    _rename(copy, f"{template.__name__}_{kernel.__name__}", python_kernel.__code__.co_filename, digest)
    return copy, bool(python_kernel.__module__.startswith("podium."))


def with_globals(template: Callable[..., Any], **names: Any) -> FunctionType:
    """Return a copy of a function in which some global names mean something else."""
    return FunctionType(template.__code__, {**template.__globals__, **names}, template.__name__)


def source_files(function: Any, seen: set[Any] | None = None) -> set[str]:
    """Return the files of a function and of all functions it calls by a global name."""
    seen = set() if seen is None else seen
    function = uncompiled(function)
    if not isinstance(function, FunctionType) or function in seen or not function.__module__.startswith("podium"):
        return set()
    seen.add(function)
    files = {function.__code__.co_filename}
    for name in function.__code__.co_names:
        files |= source_files(function.__globals__.get(name), seen)
    return files


def _rename(function: Any, name: str, file: str, digest: str) -> None:
    name = f"{name}_{digest}"
    function.__code__ = function.__code__.replace(co_filename=file, co_name=name, co_qualname=name)
    function.__name__ = function.__qualname__ = name


def _digest(files: set[str], variant: str = "") -> str:
    # Without paths and times, so that a copied installation keeps its compiled functions.
    contents = sorted(_contents(file, Path(file).stat().st_mtime_ns) for file in files)
    return sha1(repr((contents, variant)).encode()).hexdigest()[:10]


@cache
def _contents(file: str, changed: int) -> str:
    return sha1(Path(file).read_bytes()).hexdigest()

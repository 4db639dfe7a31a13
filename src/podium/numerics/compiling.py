"""Compiled functions that are kept on disk and never stale.

Numba keeps a compiled function for the next process, but notices changes only in the file that defines it. The names
of functions made here carry a stamp of every source file they were made from, so that a change in any makes another.
"""

from __future__ import annotations

from collections.abc import Callable
from hashlib import sha1
from pathlib import Path
from types import FunctionType
from typing import Any

from numba import njit

Kernel = Callable[..., Any]

# Only the loop over queries runs in parallel: array operations within one query are too small to share out. (An array
# expression such as ``-x`` in the body of the loop itself then fails to compile: write it in a function of its own.)
ONLY_PRANGE = {
    "prange": True,
    "comprehension": False,
    "reduction": False,
    "inplace_binop": False,
    "setitem": False,
    "numpy": False,
    "stencil": False,
    "fusion": False,
}


def kept(function: Callable[..., Any], **jit_options: Any) -> Kernel:
    """Compile a function and keep it for later processes."""
    copy = with_globals(function)
    _rename(copy, function.__name__, copy.__code__.co_filename, _stamp(source_files(function)))
    return njit(cache=True, error_model="numpy", **jit_options)(copy)  # type: ignore[no-any-return]


def claim(function: Callable[..., Any], kernel: Kernel, source: str) -> bool:
    """Let a function that was written for a kernel look as if it stood in the kernel's file; say whether to keep it.

    Numba keeps only what stands in a file. A kernel from outside may be redefined without a trace (in a notebook, say):
    what is made of it is compiled anew in each process.
    """
    python_kernel = kernel.py_func  # type: ignore[attr-defined]
    stamp = _stamp(source_files(python_kernel) | {__file__}, source)
    _rename(function, kernel.__name__, python_kernel.__code__.co_filename, stamp)
    return bool(python_kernel.__module__.startswith("podium."))


def with_globals(template: Callable[..., Any], **names: Any) -> FunctionType:
    """A copy of a function in which some global names mean something else."""
    return FunctionType(template.__code__, {**template.__globals__, **names}, template.__name__)


def source_files(function: Any, seen: set[Any] | None = None) -> set[str]:
    """The files of a function and of all functions it calls by a global name."""
    seen = set() if seen is None else seen
    function = getattr(function, "py_func", function)
    if not isinstance(function, FunctionType) or function in seen or not function.__module__.startswith("podium"):
        return set()
    seen.add(function)
    files = {function.__code__.co_filename}
    for name in function.__code__.co_names:
        files |= source_files(function.__globals__.get(name), seen)
    return files


def _rename(function: Any, name: str, file: str, stamp: str) -> None:
    name = f"{name}_{stamp}"
    function.__code__ = function.__code__.replace(co_filename=file, co_name=name, co_qualname=name)
    function.__name__ = function.__qualname__ = name


def _stamp(files: set[str], text: str = "") -> str:
    states = [(file, Path(file).stat()) for file in sorted(files)]
    return sha1(repr(([(file, s.st_mtime_ns, s.st_size) for file, s in states], text)).encode()).hexdigest()[:10]

"""The one loop over queries, shared by every loss.

A loss is a compiled function of a single query,

    one_query(scores, prepared, q, start, parameters, gradient, curvature, d_parameters) -> value

which reads the query's ``scores`` (n,), overwrites ``gradient`` (n,) and returns the loss. ``prepared`` is what the
loss computed from the labels when it was bound to its data: a flat tuple of arrays over all documents (slice them at
``start``), arrays over all queries (index them with ``q``), tables, and plain numbers (the loss's settings).
``curvature`` is (n,) where second derivatives are wanted, else empty. ``parameters`` and ``d_parameters`` are (p,): the
loss's own learned parameters and the derivative with respect to them. Queries without documents never reach the
kernel. Scores that are not finite must make the value so: that is how they are noticed.

Numba cannot keep on disk a compiled function that closes over another one. So a loop is written here as an
ordinary function that calls a global name ``one_query``, and :func:`specialize` makes a copy of it in which this name
is the kernel of one loss. The copy claims the kernel's file as its own, so that its cache entry lives next to that
file, and carries in its name a stamp of every source file it was made from, so that it is never a stale one.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from hashlib import sha1
from pathlib import Path
from types import FunctionType
from typing import Any

import numpy as np
from numba import njit, prange

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


def specialize(loop: Callable[..., Any], kernel: Kernel, **jit_options: Any) -> Callable[..., Any]:
    """Compile a copy of ``loop`` in which the global name ``one_query`` is ``kernel``."""
    python_kernel = kernel.py_func  # type: ignore[attr-defined]
    stamp = _stamp(_source_files(loop) | _source_files(python_kernel))
    name = f"{kernel.__name__}_{loop.__name__}_{stamp}"
    copy = with_globals(loop, one_query=kernel, __name__=kernel.__module__)
    copy.__code__ = copy.__code__.replace(
        co_filename=python_kernel.__code__.co_filename, co_name=name, co_qualname=name
    )
    copy.__name__ = copy.__qualname__ = name
    # A kernel from outside may be redefined without a trace (in a notebook, say): it is compiled anew in each process.
    keep = python_kernel.__module__.startswith("podium.")
    return njit(cache=keep, error_model="numpy", **jit_options)(copy)  # type: ignore[no-any-return]


def with_globals(template: Callable[..., Any], **names: Any) -> FunctionType:
    """A copy of a function in which some global names mean something else."""
    return FunctionType(template.__code__, {**template.__globals__, **names}, template.__name__)


def one_query(*_: Any) -> float:
    """The name that :func:`specialize` binds to a loss's kernel."""
    raise AssertionError("a loop template was called without a kernel")


def _source_files(function: Any, seen: set[Any] | None = None) -> set[str]:
    """The files of a function and of all functions it calls by a global name: Numba's cache watches only the first."""
    seen = set() if seen is None else seen
    function = getattr(function, "py_func", function)
    if not isinstance(function, FunctionType) or function in seen or not function.__module__.startswith("podium"):
        return set()
    seen.add(function)
    files = {function.__code__.co_filename}
    for name in function.__code__.co_names:
        files |= _source_files(function.__globals__.get(name), seen)
    return files


def _stamp(files: set[str]) -> str:
    states = [(file, Path(file).stat()) for file in sorted(files)]
    return sha1(repr([(file, s.st_mtime_ns, s.st_size) for file, s in states]).encode()).hexdigest()[:10]


def _over_queries(
    scores: np.ndarray,
    offsets: np.ndarray,
    weights: np.ndarray,
    queries: np.ndarray,
    prepared: tuple[Any, ...],
    parameters: np.ndarray,
    gradient: np.ndarray,
    curvature: np.ndarray,
    values: np.ndarray,
    d_parameters: np.ndarray,
) -> None:
    """Loss, gradient and curvature of each listed query, scaled by the query's weight.

    Every query writes only its own part of the outputs, so the number of threads cannot change a bit.
    """
    for k in prange(len(queries)):
        q = queries[k]
        start, stop = offsets[q], offsets[q + 1]
        weight = weights[q]
        g = gradient[start:stop]
        if stop == start or weight == 0.0:
            values[k] = 0.0
            d_parameters[k, :] = 0.0
            g[:] = 0.0
            if len(curvature) > 0:
                curvature[start:stop] = 0.0
            continue
        h = curvature[start:stop] if len(curvature) > 0 else curvature
        values[k] = weight * one_query(scores[start:stop], prepared, q, start, parameters, g, h, d_parameters[k])
        scale = g.dtype.type(weight)
        for i in range(len(g)):
            g[i] *= scale
        for i in range(len(h)):
            h[i] *= scale
        for p in range(d_parameters.shape[1]):
            d_parameters[k, p] *= weight


@cache
def over_queries(kernel: Kernel) -> Callable[..., None]:
    """The compiled parallel loop over queries for one loss's kernel."""
    return specialize(_over_queries, kernel, parallel=ONLY_PRANGE)

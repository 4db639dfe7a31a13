"""The one loop over queries, shared by every loss.

A loss is a compiled function of a single query,

    one_query(scores, prepared, q, start, parameters, gradient, curvature, d_parameters) -> value

which reads the query's ``scores`` (n,), overwrites ``gradient`` (n,) and returns the loss. ``prepared`` is what the loss
computed from the labels when it was bound to its data: a tuple of arrays over all documents (slice them at
``start``) or over all queries (index them with ``q``). ``curvature`` is (n,) where second derivatives are wanted, else empty.
``parameters`` and ``d_parameters`` are (p,): the loss's own learned parameters and the derivative with respect to them.

Numba cannot keep on disk a compiled function that closes over another one. So a loop is written here as an
ordinary function that calls a global name ``one_query``, and :func:`specialize` makes a copy of it in which this name is
the kernel of one loss. The copy claims the kernel's file as its own, so that its cache entry lives and dies
with that file.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from types import FunctionType
from typing import Any

import numpy as np
from numba import njit, prange

Kernel = Callable[..., Any]


def specialize(loop: Callable[..., Any], kernel: Kernel, **jit_options: Any) -> Callable[..., Any]:
    """Compile a copy of ``loop`` in which the global name ``one_query`` is ``kernel``."""
    kernel_code = kernel.py_func.__code__  # type: ignore[attr-defined]
    code = loop.__code__
    name = f"{kernel.__name__}_{code.co_name}"
    code = code.replace(co_filename=kernel_code.co_filename, co_name=name, co_qualname=name)
    namespace = {**loop.__globals__, "one_query": kernel, "__name__": kernel.__module__}
    return njit(cache=True, error_model="numpy", **jit_options)(FunctionType(code, namespace, name))  # type: ignore[no-any-return]


def one_query(*_: Any) -> float:
    """The name that :func:`specialize` binds to a loss's kernel."""
    raise AssertionError("a loop template was called without a kernel")


def _over_queries(
    scores: np.ndarray,
    offsets: np.ndarray,
    weights: np.ndarray,
    queries: np.ndarray,
    prepared: tuple[np.ndarray, ...],
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
    return specialize(_over_queries, kernel, parallel=True)

"""The form of a loss's kernel, and how the loop over queries calls it.

A kernel is a function of one list,

    kernel(given: OneList, prepared, out: Derivatives) -> value

It overwrites ``out`` and returns the loss. ``prepared`` is what the loss computed from the labels when it was bound to
its data: a tuple, possibly nested, of arrays over all documents (slice them with :func:`own`), arrays over all queries
(index them with ``given.query``), tables, and plain numbers. Lists without documents never reach the kernel, and lists
with scores that are not finite only if they make the value so, too: that is how they are noticed.

Kernels are compiled with ``numba.njit``. One in plain Python works too, at a hundredth of the speed.
"""

import ctypes
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numba import carray
from numba.extending import is_jitted

from podium.numerics.calls import OK, Call, Routine, make_routine, pack, pointer, unpack
from podium.numerics.compiling import Array, Kernel, njit, specialize, unbound, with_globals
from podium.numerics.elementary import all_finite


class OneList(NamedTuple):
    """What a kernel is given of one list, besides what the loss prepared."""

    scores: Array
    """(n,)"""
    query: int
    """The query's number in the bound data."""
    start: int
    """The number of its first document."""
    parameters: Array
    """(n_parameters,) the loss's own learned parameters, float64."""


class Derivatives(NamedTuple):
    """What a kernel writes."""

    gradient: Array
    """(n,) with respect to the scores, in their type."""
    curvature: Array
    """(n,) second derivatives where these are wanted, else empty."""
    d_parameters: Array
    """(n_parameters,) with respect to the loss's own parameters, float64."""


class LossTable(NamedTuple):
    """What the C function of a loss works on."""

    scores: Array
    gradient: Array
    curvature: Array
    """Empty where it is not wanted."""
    parameters: Array
    prepared: Any


class BoundKernel:
    """A kernel with what its loss prepared, ``guarded`` from scores that are not finite: their value is NaN."""

    def __init__(self, kernel: Kernel, prepared: Any, guarded: bool = True) -> None:
        self.kernel = _guarded(kernel) if guarded else kernel
        self.is_compiled = is_jitted(kernel)
        self.prepared = pack(prepared) if self.is_compiled else prepared

    def routine(self, scores: Array, gradient: Array, parameters: Array, curvature: Array) -> Routine:
        """Return a routine that calls the kernel on one query and scales its derivatives."""
        table = LossTable(scores, gradient, curvature, parameters, self.prepared)
        if not self.is_compiled:
            return _python_routine(self.kernel, table)
        return make_routine(_call_loss, self.kernel, pack(table))


kernel: Kernel = unbound
KIND: Any = None


def _guard(given: OneList, prepared: Any, out: Derivatives) -> float:
    return kernel(given, prepared, out) if all_finite(given.scores) else np.nan


@cache
def _guarded(kernel: Kernel) -> Kernel:
    """Return a kernel whose value is NaN where a score is not finite."""
    if is_jitted(kernel):
        return njit(error_model="numpy")(specialize(_guard, kernel, ""))
    return with_globals(_guard, kernel=kernel)


def _call_loss(table: int, query: int, start: int, stop: int, block: int, scale: float, out: int, n_out: int) -> int:
    given = unpack(table, KIND)
    result = carray(pointer(out), (n_out,), np.float64)
    derivatives = Derivatives(given.gradient[start:stop], given.curvature[start:stop], result[1:])
    if scale == 0.0:
        result[:] = 0.0
    else:
        try:
            one_list = OneList(given.scores[start:stop], query, start, given.parameters)
            value = kernel(one_list, given.prepared, derivatives)
        except Exception:
            return 0
        result[0] = value
    _multiply(derivatives.gradient, scale)
    _multiply(derivatives.curvature, scale)
    _multiply(derivatives.d_parameters, scale)
    return OK


@njit(nogil=True, error_model="numpy")
def _multiply(array: Array, scale: float) -> None:
    if scale == 0.0:
        array[:] = 0.0
    factor = array.dtype.type(scale)
    for i in range(len(array)):
        array[i] *= factor


@njit(nogil=True, error_model="numpy", inline="always")
def own(array: Array, given: OneList) -> Array:
    """Return the list's part of an array over all documents."""
    return array[given.start : given.start + len(given.scores)]


# ---- kernels in plain Python

_CALLBACK = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_int64] * 5, ctypes.c_double, ctypes.c_int64, ctypes.c_int64)


def _python_routine(kernel: Kernel, table: LossTable) -> Routine:
    """Return a routine that calls back into Python; what the kernel raises is kept in ``routine.errors``."""
    errors: list[BaseException] = []

    def call(_: int, query: int, start: int, stop: int, block: int, scale: float, out: int, n_out: int) -> int:
        try:
            result = np.ctypeslib.as_array((ctypes.c_double * n_out).from_address(out))
            derivatives = Derivatives(table.gradient[start:stop], table.curvature[start:stop], result[1:])
            if scale == 0.0:
                result[0] = 0.0
            else:
                one_list = OneList(table.scores[start:stop], query, start, table.parameters)
                result[0] = kernel(one_list, table.prepared, derivatives)
            for array in derivatives:
                array[:] = scale * array if scale != 0.0 else 0.0
        except BaseException as error:  # reaches the caller of the loop
            errors.append(error)
            return 0
        return OK

    callback = _CALLBACK(call)
    address = ctypes.cast(callback, ctypes.c_void_p).value
    assert address is not None
    return Routine(Call(address, 0), (callback, table), errors)

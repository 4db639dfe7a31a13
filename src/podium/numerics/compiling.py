"""Compiling functions, and binding names in templates of functions.

Compiled functions are kept on disk for later processes: see :mod:`podium.numerics.code_cache`.
"""

from collections.abc import Callable, Mapping
from hashlib import sha256
from types import FunctionType
from typing import Any, TypeVar

import numba
from numba.core import event
from numba.core.ccallback import CFunc
from numba.core.sigutils import normalize_signature

from podium.core.arrays import Array as Array
from podium.numerics import compile_notice as compile_notice  # watches from now on
from podium.numerics.code_cache import CodeCache
from podium.numerics.code_stamp import uncompiled as uncompiled

Kernel = Callable[..., Any]
Function = TypeVar("Function", bound=Callable[..., Any])

_OPTIONS: Mapping[str, Any] = {"error_model": "numpy"}


def njit(*, cache: bool = False, **options: Any) -> Callable[[Function], Function]:
    """Return Numba's decorator; what it compiles has, for type checkers, the type of the function.

    ``cache`` keeps compiled functions on disk, as Numba would, but never stale.
    """

    def decorate(function: Function) -> Function:
        made = numba.njit(**options)(function)
        if cache and made is not function:  # with NUMBA_DISABLE_JIT it is
            made._cache = CodeCache(function, sorted((name, str(value)) for name, value in options.items()))
        return made

    return decorate


def compiled(function: Callable[..., Any], **names: Any) -> Kernel:
    """Compile a function that calls others through global names, and keep it on disk."""
    return njit(cache=True, nogil=True, error_model="numpy")(with_globals(function, **names))


def callback(function: Callable[..., Any], signature: Any) -> Any:
    """Compile a function as a C function, and keep it on disk; its address is in ``.address``."""
    made: Any = _Callback(function, normalize_signature(signature), locals={}, options=dict(_OPTIONS))
    made._cache = CodeCache(function, "C")
    made.compile()
    return made


class _Callback(CFunc):
    def _compile_uncached(self) -> Any:
        with event.trigger_event("numba:compile"):  # as for other functions
            return super()._compile_uncached()  # type: ignore[misc]


def unbound(*_: Any) -> Any:
    """Stand for a function that a template calls and that :func:`with_globals` binds."""
    raise AssertionError("a template was called without what it is to be bound to")


def specialize(template: Callable[..., Any], kernel: Kernel, variant: str, **names: Any) -> FunctionType:
    """Return a copy of a template in which ``kernel`` and other names are bound; ``variant`` is part of its name."""
    python_kernel = uncompiled(kernel)
    copy = with_globals(template, kernel=kernel, **names)
    digest = sha256(repr((python_kernel.__module__, python_kernel.__qualname__, variant)).encode()).hexdigest()[:10]
    name = f"{template.__name__}_{python_kernel.__name__}_{digest}"
    copy.__code__ = copy.__code__.replace(co_name=name, co_qualname=name)
    copy.__name__ = copy.__qualname__ = name
    return copy


def with_globals(template: Callable[..., Any], **names: Any) -> FunctionType:
    """Return a copy of a function in which some global names mean something else."""
    return FunctionType(template.__code__, {**template.__globals__, **names}, template.__name__)

"""Memory of compiled code that tests can govern: Numba allocates by a function of Python's, which is replaced.

Only for child processes: Python's own allocations of this kind are replaced, too, until the process ends.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np
from numba import carray, cfunc, types
from numba.core.runtime import _nrt_python


class _Allocator(ctypes.Structure):
    """PyMemAllocatorEx of Python's C interface."""

    _fields_ = [(name, ctypes.c_void_p) for name in ("state", "malloc", "calloc", "realloc", "free")]


def _libc(name: str, result: Any, *arguments: Any) -> Any:
    function = getattr(ctypes.CDLL(None), name)
    function.argtypes, function.restype = arguments, result
    return function


MALLOC, FREE = _libc("malloc", ctypes.c_void_p, ctypes.c_size_t), _libc("free", None, ctypes.c_void_p)


def _replace(state: np.ndarray, malloc: Any, free: Any = None) -> None:
    allocator, raw_memory = _Allocator(), 0
    ctypes.pythonapi.PyMem_GetAllocator(raw_memory, ctypes.byref(allocator))
    allocator.malloc, allocator.state = malloc.address, state.ctypes.data
    if free is not None:
        allocator.free = free.address
    _nrt_python.memsys_use_cpython_allocator()
    ctypes.pythonapi.PyMem_SetAllocator(raw_memory, ctypes.byref(allocator))


class FailingMemory:
    """The allocation of a given number fails."""

    def __init__(self) -> None:
        self.state = np.zeros(2, np.int64)  # allocations so far, the one to fail

        @cfunc(types.uintp(types.CPointer(types.int64), types.uintp))  # type: ignore[untyped-decorator]
        def allocate(address: Any, size: int) -> Any:
            state = carray(address, 2)
            state[0] += 1
            return 0 if state[0] == state[1] else MALLOC(size)

        self._keep = allocate
        _replace(self.state, allocate)

    def count(self, function: Callable[[], Any]) -> int:
        self.state[:] = 0
        function()
        return int(self.state[0])

    def outcome(self, function: Callable[[], Any], failing: int) -> Any:
        """Return what the function returns if this allocation fails, or None if it raises."""
        self.state[:] = 0, failing
        try:
            return function()
        except (MemoryError, RuntimeError, SystemError):
            return None
        finally:
            self.state[:] = 0


class PlacedMemory:
    """Allocations follow one another upwards or downwards, at a given distance, in a part of memory of their own.

    What is freed is not used again: 128 MB must do for a whole process.
    """

    def __init__(self, size: int = 2**27) -> None:
        self.room = np.empty(size, np.uint8)
        first, end = self.room.ctypes.data + 4096, self.room.ctypes.data + size - 4096
        # Step up (1), down (−1) or not at all (0); gap; the next place upwards; the next one downwards.
        self.state = np.array([0, 0, -(-first // 64) * 64, end // 64 * 64], np.int64)

        @cfunc(types.uintp(types.CPointer(types.int64), types.uintp))  # type: ignore[untyped-decorator]
        def allocate(address: Any, size: int) -> Any:
            state = carray(address, 4)
            taken = (size + 15) // 16 * 16 + state[1]
            if state[0] == 0 or state[2] + taken >= state[3]:
                return MALLOC(size)
            if state[0] > 0:
                place = state[2]
                state[2] += taken
                return place
            state[3] -= taken
            return state[3]

        @cfunc(types.void(types.CPointer(types.int64), types.uintp))  # type: ignore[untyped-decorator]
        def free(address: Any, place: int) -> None:
            if place < first or place > end:
                FREE(place)

        self._keep = allocate, free
        _replace(self.state, allocate, free)

    def placed(self, function: Callable[[], Any], step: int, gap: int) -> Any:
        """Return what the function returns when allocations are placed like this."""
        self.state[:2] = step, gap
        try:
            return function()
        finally:
            self.state[:2] = 0

    @property
    def n_bytes(self) -> int:
        """How much was placed so far."""
        return len(self.room) - int(self.state[3] - self.state[2])

"""A failed allocation inside compiled code is an exception, never an answer: every loss, and losses on every scorer.

As SQLite's tests do, the n-th allocation fails, for each n in turn. Numba allocates by a function of Python's that can
be replaced; that is done in a child process, which runs this file.
"""

from __future__ import annotations

import ctypes
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numba import carray, cfunc, types
from numba.core.runtime import _nrt_python

MOST = 40  # allocations that are made to fail per loss or scorer, spread over all there are


class _Allocator(ctypes.Structure):
    """PyMemAllocatorEx of Python's C interface."""

    _fields_ = [(name, ctypes.c_void_p) for name in ("state", "malloc", "calloc", "realloc", "free")]


class FailingMemory:
    """Replaces the memory of compiled code in this process; the allocation of a given number fails."""

    def __init__(self) -> None:
        malloc = ctypes.CDLL(None).malloc
        malloc.argtypes, malloc.restype = [ctypes.c_size_t], ctypes.c_void_p
        self.state = np.zeros(2, np.int64)  # allocations so far, the one to fail

        @cfunc(types.uintp(types.CPointer(types.int64), types.uintp))  # type: ignore[untyped-decorator]
        def allocate(address: Any, size: int) -> Any:
            state = carray(address, 2)
            state[0] += 1
            return 0 if state[0] == state[1] else malloc(size)

        self._keep, allocator, raw_memory = allocate, _Allocator(), 0
        ctypes.pythonapi.PyMem_GetAllocator(raw_memory, ctypes.byref(allocator))
        allocator.malloc, allocator.state = allocate.address, self.state.ctypes.data
        _nrt_python.memsys_use_cpython_allocator()
        ctypes.pythonapi.PyMem_SetAllocator(raw_memory, ctypes.byref(allocator))

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


def wrong_answers(memory: FailingMemory, name: str, function: Callable[[], np.ndarray]) -> tuple[int, list[str]]:
    """Return how many failures were raised as such, and a description of each that became a wrong answer."""
    right = function()
    n = memory.count(function)
    wrong, n_raised = [], 0
    for failing in np.unique(np.linspace(1, n, min(n, MOST)).astype(int)).tolist():
        result = memory.outcome(function, failing)
        n_raised += result is None
        if result is not None and not np.array_equal(result, right):
            wrong.append(f"{name}: allocation {failing} of {n} failed, and the answer was another one")
    if not np.array_equal(function(), right):
        wrong.append(f"{name}: another answer after failures")
    return n_raised, wrong


def main() -> None:
    import test_loss_contract as losses
    import test_scorer_contract as scorers
    from podium.losses import ListNetLoss
    from podium.training.objective import Objective

    memory = FailingMemory()
    lists = losses.Lists(seed=1)
    jobs: dict[str, Callable[[], np.ndarray]] = {}
    for loss in losses.ALL:
        bound = loss.bind(lists.labels, lists.offsets)

        def evaluate(bound: Any = bound) -> np.ndarray:
            result = bound.value_and_gradient(lists.scores)
            return np.concatenate(([result.value], result.d_scores, result.d_parameters))

        jobs[repr(loss)] = evaluate
    queries = scorers.queries_of()
    for scorer in scorers.SCORERS:
        objective = Objective(
            scorers.model_of(scorer, queries), ListNetLoss().bind(queries.labels, queries.offsets), queries
        )

        def step(objective: Any = objective) -> np.ndarray:
            value, gradient = objective(objective.initial())
            return np.append(gradient, value)

        jobs[f"ListNetLoss on {scorer}"] = step
    for name, function in jobs.items():
        n_raised, wrong = wrong_answers(memory, name, function)
        print(f"{n_raised}\t{name}\t{'; '.join(wrong)}", flush=True)


def test_failed_allocations_are_never_answers() -> None:
    done = subprocess.run([sys.executable, "-W", "error", __file__], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    rows = [line.split("\t") for line in done.stdout.splitlines()]
    assert [wrong for _, _, wrong in rows if wrong] == []
    # Most kernels allocate: the memory was indeed that of compiled code.
    assert sum(int(raised) > 0 for raised, _, _ in rows) > len(rows) / 2


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent))
    main()

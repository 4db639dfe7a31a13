"""One ranked list as compiled families see it.

A family's function

    value = function(shown, cutoff, parameter)

is compiled by itself, as a C function of the address of a table (see :mod:`podium.numerics.calls`) of the list. So the
loop over queries (:mod:`podium.metrics.kernel`) is compiled once, whatever families there are, and ranks each list
once, whatever metrics are wanted. Within a function, a cutoff may exceed the length of the list: :data:`WHOLE_LIST`
stands for none.
"""

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numba import carray

from podium.numerics.calls import OK, compiled_call, pack, pointer, unpack
from podium.numerics.compiling import Kernel, njit, unbound

WHOLE_LIST = np.iinfo(np.int64).max
"""The cutoff of a metric that has none."""


class CompiledRules(NamedTuple):
    """A convention as the numbers that compiled functions work with."""

    linear_gain: bool
    zero_ndcg_when_short: bool
    average_ties: bool
    ap_divides_by_min: bool
    stop_by_label: bool
    undiscounted: int
    short_precision: int
    relevant_from: float
    max_grade: float
    min_grade: float


class RankedList(NamedTuple):
    """The documents of one query, best score first, and the rules to measure them by."""

    n_listed: int
    """Documents that were retrieved."""
    n_relevant: int
    """Relevant documents that could be shown."""
    tied: bool
    """Are there tied documents whose orders are averaged over?"""
    rules: CompiledRules
    grades: np.ndarray
    """(n,) by rank; NaN, which is neither relevant nor worth anything, at ranks where nothing was retrieved."""
    dcg: np.ndarray
    """DCG at each rank up to the highest cutoff, and …"""
    ideal: np.ndarray
    """… that of the best possible order: only for families that have ``gains`` prepared."""
    hits: np.ndarray
    """(Expected) number of relevant documents up to each rank: only for families that have ``hits`` prepared."""
    scores: np.ndarray
    """(n,) float64 in row order, and …"""
    labels: np.ndarray
    """… (n,) their labels: only for families that have ``scores`` prepared."""
    passing: np.ndarray
    """(n + 1,) numbers to work with."""
    tie_end: np.ndarray
    """(n,) the rank after the last document tied with the one at this rank; only if ``tied``."""
    ranks: np.ndarray
    """(n,) integers to work with."""


_RULES = CompiledRules(False, False, False, False, False, 0, 0, 0.0, 0.0, 0.0)
_EXAMPLE = RankedList(0, 0, False, _RULES, *[np.empty(0)] * 7, *[np.empty(0, np.int64)] * 2)
kernel: Kernel = unbound
KIND: Any = None


def _call_family(
    table: int, cutoff: int, start: int, stop: int, block: int, parameter: float, out: int, n_out: int
) -> int:
    carray(pointer(out), (n_out,), np.float64)[0] = kernel(unpack(table, KIND), cutoff, parameter)
    return OK


@cache
def family_address(function: Callable[..., float]) -> int:
    """Return where the C function of a family is; it stays there as long as the process lives."""
    return int(compiled_call(_call_family, njit(error_model="numpy")(function), pack(_EXAMPLE).layout).address)


@njit(error_model="numpy", inline="always")
def tie_group(shown: RankedList, start: int) -> tuple[int, int]:
    """Return where the group of ties that starts at this rank ends, and how many of its documents are relevant."""
    end = shown.tie_end[start] if shown.tied else start + 1
    relevant = 0
    for r in range(start, end):
        relevant += shown.grades[r] >= shown.rules.relevant_from
    return end, relevant

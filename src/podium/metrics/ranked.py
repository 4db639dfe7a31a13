"""One ranked list as compiled families see it.

A family's function is compiled by itself, as a C function

    value = function(address, cutoff, parameter)

of the address of a table that says where everything known about the list is; its first line is

    shown = ranked_list(address)

So the loop over queries (:mod:`podium.metrics.kernel`) is compiled once, whatever families there are, and ranks each
list once, whatever metrics are wanted. Within a function, a cutoff may exceed the length of the list:
:data:`WHOLE_LIST` stands for none.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numba import carray, njit, types
from numba.extending import intrinsic

from podium.numerics.elementary import reinterpret

SIGNATURE = types.float64(types.int64, types.int64, types.float64)
WHOLE_LIST = np.iinfo(np.int64).max
"""The cutoff of a metric that has none."""
N_ARRAYS = 9
N_WORDS = 2 * N_ARRAYS + 9


class Rules(NamedTuple):
    """A convention as the numbers that compiled functions work with."""

    linear_gain: bool
    undiscounted: int
    zero_ndcg_when_short: bool
    short_precision: int
    relevant_from: float
    average_ties: bool
    ap_divides_by_min: bool
    allow_negative: bool
    stop_by_label: bool
    max_grade: float
    min_grade: float


class RankedList(NamedTuple):
    """The documents of one query, best score first, and the rules to measure them by."""

    grades: np.ndarray
    """(n,) by rank; NaN, which is neither relevant nor worth anything, at ranks where nothing was retrieved."""
    tie_end: np.ndarray
    """(n,) the rank after the last document tied with the one at this rank; empty if ties are not averaged over."""
    dcg: np.ndarray
    """DCG at each rank up to the highest cutoff, and …"""
    ideal: np.ndarray
    """… that of the best possible order: only for families that have ``gains`` prepared."""
    hits: np.ndarray
    """(Expected) number of relevant documents up to each rank: only for families that have ``hits`` prepared."""
    scores: np.ndarray
    """(n,) float64 in row order: only for families that have ``scores`` prepared."""
    labels: np.ndarray
    """(n,) in row order."""
    ranks: np.ndarray
    """(n,) integers to work with."""
    passing: np.ndarray
    """(n + 1,) numbers to work with."""
    n_listed: int
    """Documents that were retrieved."""
    n_relevant: int
    """Relevant documents that could be shown."""
    zero_ndcg_when_short: bool
    short_precision: int
    ap_divides_by_min: bool
    stop_by_label: bool
    relevant_from: float
    min_grade: float
    max_grade: float


@intrinsic
def _pointer(_: Any, address: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.inttoptr(args[0], context.get_value_type(types.voidptr))

    return types.voidptr(types.int64), generate


@intrinsic
def call_family(_: Any, function: Any, address: Any, cutoff: Any, parameter: Any) -> Any:
    """Call the C function at the address ``function`` with a list's table, a cutoff and a parameter."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        kind = ir.FunctionType(ir.DoubleType(), [ir.IntType(64), ir.IntType(64), ir.DoubleType()])
        return builder.call(builder.inttoptr(args[0], kind.as_pointer()), args[1:])

    return types.float64(types.int64, *SIGNATURE.args), generate


@njit(error_model="numpy", inline="always")
def put_array(table: np.ndarray, place: int, array: np.ndarray) -> None:
    """Write where an array is; the caller keeps it alive."""
    table[2 * place] = array.ctypes.data
    table[2 * place + 1] = len(array)


@njit(error_model="numpy")
def put_facts(table: np.ndarray, n_listed: int, n_relevant: int, rules: Rules) -> None:
    """Write the numbers that follow the arrays."""
    facts = table[2 * N_ARRAYS :]
    facts[0] = n_listed
    facts[1] = n_relevant
    facts[2] = rules.zero_ndcg_when_short
    facts[3] = rules.short_precision
    facts[4] = rules.ap_divides_by_min
    facts[5] = rules.stop_by_label
    facts[6] = reinterpret(rules.relevant_from)
    facts[7] = reinterpret(rules.min_grade)
    facts[8] = reinterpret(rules.max_grade)


@njit(error_model="numpy", inline="always")
def _array(table: np.ndarray, place: int, dtype: Any) -> np.ndarray:
    return carray(_pointer(table[2 * place]), (table[2 * place + 1],), dtype)


@njit(error_model="numpy", inline="always")
def ranked_list(address: int) -> RankedList:
    """Return the list whose table is at this address."""
    table = carray(_pointer(address), (N_WORDS,), np.int64)
    facts = table[2 * N_ARRAYS :]
    return RankedList(
        _array(table, 0, np.float64),
        _array(table, 1, np.int64),
        _array(table, 2, np.float64),
        _array(table, 3, np.float64),
        _array(table, 4, np.float64),
        _array(table, 5, np.float64),
        _array(table, 6, np.float64),
        _array(table, 7, np.int64),
        _array(table, 8, np.float64),
        facts[0],
        facts[1],
        facts[2] != 0,
        facts[3],
        facts[4] != 0,
        facts[5] != 0,
        reinterpret(facts[6]),
        reinterpret(facts[7]),
        reinterpret(facts[8]),
    )


@njit(error_model="numpy", inline="always")
def tie_group(shown: RankedList, start: int) -> tuple[int, int]:
    """Return where the group of ties that starts at this rank ends, and how many of its documents are relevant."""
    end = shown.tie_end[start] if len(shown.tie_end) > 0 else start + 1
    relevant = 0
    for r in range(start, end):
        relevant += shown.grades[r] >= shown.relevant_from
    return end, relevant

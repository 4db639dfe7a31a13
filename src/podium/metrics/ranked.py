"""One ranked list as compiled families see it.

A family's function is compiled by itself, as a C function

    value = function(address, cutoff, parameter)

of the address of a table that says where everything known about the list is; its first line is

    shown = ranked_list(address)

So the loop over queries (:mod:`podium.metrics.kernel`) is compiled once, whatever families there are, and ranks each
list once, whatever metrics are wanted. Within a function, a cutoff may exceed the length of the list:
:data:`WHOLE_LIST` stands for none.
"""

from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numba import carray, types
from numba.extending import intrinsic

from podium.numerics.calls import pointer
from podium.numerics.compiling import njit

SIGNATURE = types.float64(types.int64, types.int64, types.float64)
WHOLE_LIST = np.iinfo(np.int64).max
"""The cutoff of a metric that has none."""
_FLAGS = "linear_gain zero_ndcg_when_short average_ties ap_divides_by_min allow_negative stop_by_label"
_KINDS = {np.bool_: _FLAGS, np.int64: "undiscounted short_precision", np.float64: "relevant_from max_grade min_grade"}
RULES = np.dtype([(name, kind) for kind, names in _KINDS.items() for name in names.split()], align=True)
"""A convention as the numbers that compiled functions work with."""
ARRAYS = ("grades", "dcg", "ideal", "hits", "scores", "labels", "passing", "tie_end", "ranks")
TABLE = np.dtype([(name, np.int64) for name in (*ARRAYS, "n", "tied", "n_listed", "n_relevant", "rules")])
"""Addresses of the arrays and rules of a list, and numbers of documents."""
Rules = Any  # a record of RULES


class RankedList(NamedTuple):
    """The documents of one query, best score first, and the rules to measure them by."""

    n_listed: int
    """Documents that were retrieved."""
    n_relevant: int
    """Relevant documents that could be shown."""
    tied: bool
    """Are there tied documents whose orders are averaged over?"""
    rules: Rules
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


@intrinsic  # type: ignore[untyped-decorator]
def call_family(_: Any, function: Any, address: Any, cutoff: Any, parameter: Any) -> Any:
    """Call the C function at the address ``function`` with a list's table, a cutoff and a parameter."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        kind = ir.FunctionType(ir.DoubleType(), [ir.IntType(64), ir.IntType(64), ir.DoubleType()])
        return builder.call(builder.inttoptr(args[0], kind.as_pointer()), args[1:])

    return types.float64(types.int64, *SIGNATURE.args), generate


@njit(error_model="numpy", inline="always")
def _floats(address: int, n: int) -> np.ndarray:
    return carray(pointer(address), (n,), np.float64)


@njit(error_model="numpy", inline="always")
def ranked_list(address: int) -> RankedList:
    """Return the list whose table is at this address."""
    table = carray(pointer(address), (1,), TABLE)[0]
    n = table.n
    return RankedList(
        table.n_listed,
        table.n_relevant,
        table.tied != 0,
        carray(pointer(table.rules), (1,), RULES)[0],
        _floats(table.grades, n),
        _floats(table.dcg, n),
        _floats(table.ideal, n),
        _floats(table.hits, n),
        _floats(table.scores, n),
        _floats(table.labels, n),
        _floats(table.passing, n + 1),
        carray(pointer(table.tie_end), (n,), np.int64),
        carray(pointer(table.ranks), (n,), np.int64),
    )


@njit(error_model="numpy", inline="always")
def tie_group(shown: RankedList, start: int) -> tuple[int, int]:
    """Return where the group of ties that starts at this rank ends, and how many of its documents are relevant."""
    end = shown.tie_end[start] if shown.tied else start + 1
    relevant = 0
    for r in range(start, end):
        relevant += shown.grades[r] >= shown.rules.relevant_from
    return end, relevant

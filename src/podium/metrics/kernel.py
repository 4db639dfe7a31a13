"""All requested metrics of a range of queries in one pass: each query is ranked once."""

from typing import NamedTuple

import numpy as np

from podium.metrics.gains import WHOLE_GRADES, cumulate, ideal_order
from podium.metrics.ranked import CompiledRules
from podium.metrics.ranking import DEEP, compress, cumulate_hits, rank, score_at
from podium.numerics.calls import call_function
from podium.numerics.compiling import Array, njit

GAIN, RELEVANT, ORDER = range(3)
"""What a metric seeks, as :attr:`podium.metrics.family.Family.seeks` says it."""


class Shown(NamedTuple):
    """Lists as they are shown, and the best ones that could have been."""

    scores: Array
    labels: Array
    offsets: Array
    keys: Array
    """Break ties, ascending; may be empty."""
    pool: Array
    """The grades of the best possible lists, in any order within a query: the labels themselves, unless something keeps
    documents from being shown."""


class Wanted(NamedTuple):
    """The metrics wanted, as numbers."""

    functions: Array
    """Addresses of the families' compiled functions."""
    cutoffs: Array
    parameters: Array
    seeks: Array
    nothing: Array
    """Each metric's value for a query that has nothing to find."""
    depth: int
    """The highest cutoff of all metrics that look at ranks, …"""
    gain_depth: int
    """… of those made of gains (0 if there are none), …"""
    hit_depth: int
    """… and of those made of hits."""
    scores: bool
    """Does one need the scores?"""
    stops: bool
    """Is one made of probabilities to stop, which depend on the highest grade?"""


@njit(nogil=True, cache=True, error_model="numpy")
def measure_queries(
    first: int,
    stop: int,
    shown: Shown,
    wanted: Wanted,
    rules: CompiledRules,
    packed_rules: Array,
    logs: Array,
    values: Array,
) -> None:
    """Fill rows ``first:stop`` of ``values`` (n_queries, n_metrics).

    ``logs`` are those of :func:`podium.metrics.gains.log_discounts`, as many as the longest list has documents.
    """
    scores, labels, offsets, keys, pool = shown
    longest = len(logs)
    few_scores, best_scores = np.empty(longest, scores.dtype), np.empty(DEEP, scores.dtype)
    counts = np.empty(WHOLE_GRADES, np.int64)
    order, tie_end = np.empty(longest, np.int64), np.empty(longest, np.int64)
    # All in one array: none of them may be freed before the last list has been measured.
    work = np.empty((10, longest + 1))
    few_labels, few_keys, ranked, ideal_labels, dcg_at = work[0], work[1], work[2], work[3], work[4]
    ideal_at, hits_at, row_scores, row_labels, passing = work[5], work[6], work[7], work[8], work[9]
    # The words of a RankedList: three numbers, the rules, and the address and length of each of its nine arrays.
    table = np.empty(3 + len(packed_rules) + 2 * 9, np.int64)
    table[3:-18], arrays = packed_rules, table[-18:]
    arrays[0], arrays[2], arrays[4] = ranked.ctypes.data, dcg_at.ctypes.data, ideal_at.ctypes.data
    arrays[6], arrays[8], arrays[10] = hits_at.ctypes.data, row_scores.ctypes.data, row_labels.ctypes.data
    arrays[12], arrays[14], arrays[16] = passing.ctypes.data, tie_end.ctypes.data, order.ctypes.data
    found = np.empty(3, np.bool_)
    for q in range(first, stop):
        y = labels[offsets[q] : offsets[q + 1]]
        s = scores[offsets[q] : offsets[q + 1]]
        key = keys[offsets[q] : offsets[q + 1]]
        best = pool[offsets[q] : offsets[q + 1]]
        n = len(y)
        n_relevant = 0
        n_positive = 0
        for i in range(n):
            n_relevant += best[i] >= rules.relevant_from
            n_positive += best[i] > 0.0
        n_listed = 0
        for i in range(n):
            n_listed += s[i] > -np.inf
        found[GAIN], found[RELEVANT], found[ORDER] = n_positive > 0, n_relevant > 0, n > 0
        tied = False
        depth = min(n, wanted.depth)
        if depth > 0 and (n_relevant > 0 or n_positive > 0):
            lowest = scores.dtype.type(-np.inf)
            if depth < n and depth <= DEEP:
                lowest = score_at(s, depth, best_scores)
            if lowest > -np.inf or n_listed < n:
                n_few = compress(s, y, key, lowest, few_scores, few_labels, few_keys)
                s_few, y_few, key_few = few_scores[:n_few], few_labels[:n_few], few_keys[: min(n_few, len(key))]
            else:
                s_few, y_few, key_few = s, y, key
            tied = rank(s_few, y_few, key_few, rules.average_ties, order[: len(s_few)], ranked[:n], tie_end[:n])
        ties = tie_end[:n] if tied else tie_end[:0]

        dcg, ideal = dcg_at[: min(n, wanted.gain_depth)], ideal_at[: min(n, wanted.gain_depth)]
        hits = hits_at[: min(n, wanted.hit_depth)]
        if n_positive > 0 and wanted.gain_depth > 0:
            ideal_order(best, counts, ideal_labels[: len(ideal)])
            cumulate(ranked, ties, rules.linear_gain, logs, rules.undiscounted, dcg)
            cumulate(ideal_labels, ties[:0], rules.linear_gain, logs, rules.undiscounted, ideal)
        if n_relevant > 0 and wanted.hit_depth > 0:
            cumulate_hits(ranked, ties, rules.relevant_from, hits)
        if wanted.scores:
            for i in range(n):
                row_scores[i], row_labels[i] = s[i], y[i]

        table[0], table[1], table[2] = n_listed, n_relevant, tied
        arrays[1::2] = n
        arrays[13] = n + 1
        for m in range(len(wanted.functions)):
            values[q, m] = wanted.nothing[m]
            if found[wanted.seeks[m]]:
                family, cutoff, parameter = wanted.functions[m], wanted.cutoffs[m], wanted.parameters[m]
                call_function(family, table.ctypes.data, cutoff, 0, 0, 0, parameter, values[q, m:].ctypes.data, 1)

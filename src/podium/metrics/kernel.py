"""All requested metrics of a range of queries in one pass: each query is ranked once."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from podium.metrics.checks import (
    ABOVE_MAX_GRADE,
    GOOD,
    HUGE_GRADE,
    LABEL_NOT_FINITE,
    NEGATIVE_GRADE,
    SCORE_IS_NAN,
)
from podium.metrics.dcg import WHOLE_GRADES, cumulate, ideal_order, mean_ndcg, ndcg
from podium.metrics.err import expected_reciprocal_rank
from podium.metrics.precision import cumulative_hits, precision, precision_sum, reciprocal_rank
from podium.metrics.ranking import DEEP, compress, rank, score_at

NDCG, DCG, MEAN_NDCG, AP, PRECISION, RECALL, RECIPROCAL_RANK, ERR = range(8)
FAMILY_CODES = {
    "ndcg": NDCG,
    "dcg": DCG,
    "meanndcg": MEAN_NDCG,
    "map": AP,
    "p": PRECISION,
    "r": RECALL,
    "mrr": RECIPROCAL_RANK,
    "err": ERR,
}
OF_GAINS, OF_HITS, OF_STOPS = (NDCG, DCG, MEAN_NDCG), (PRECISION, RECALL), (ERR,)
"""What a family is made of."""
WHOLE_LIST = np.iinfo(np.int64).max
"""The cutoff of a metric that has none."""
LARGEST_GRADE = 1000.0
"""2^y of anything above would leave the range of float64."""


class Rules(NamedTuple):
    """A convention as the numbers that the kernel works with."""

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


class Asked(NamedTuple):
    """The metrics wanted, as numbers."""

    families: np.ndarray
    cutoffs: np.ndarray
    nothing: np.ndarray
    """Each metric's value for a query that has nothing to find."""
    depth: int
    """The highest cutoff of all, …"""
    gain_depth: int
    """… of those made of gains (0 if there are none), …"""
    hit_depth: int
    """… and of those made of counts of relevant documents."""
    stops: bool
    """Is there one made of chances to stop?"""


@njit(nogil=True, cache=True, error_model="numpy")
def measure_queries(
    first: int,
    stop: int,
    scores: np.ndarray,
    labels: np.ndarray,
    offsets: np.ndarray,
    keys: np.ndarray,
    pool: np.ndarray,
    asked: Asked,
    rules: Rules,
    logs: np.ndarray,
    values: np.ndarray,
    trouble: np.ndarray,
) -> None:
    """Fill rows ``first:stop`` of ``values`` (n_queries, n_metrics) and ``trouble`` (n_queries,).

    ``trouble`` says what is wrong with a query, as :mod:`podium.metrics.checks` numbers it. ``keys`` break ties and may
    be empty. ``pool`` are the grades that the best possible list has: the labels themselves, unless something keeps
    documents from being shown. ``logs`` are those of :func:`podium.metrics.dcg.log_discounts`, as many as the longest
    list has documents.
    """
    longest = len(logs)
    few_labels = np.empty(longest)
    few_scores = np.empty(longest, scores.dtype)
    few_keys = np.empty(longest)
    order = np.empty(longest, np.int64)
    ranked = np.empty(longest)
    tie_end = np.empty(longest, np.int64)
    best_scores = np.empty(DEEP, scores.dtype)
    counts = np.empty(WHOLE_GRADES, np.int64)
    ideal_labels = np.empty(longest)
    dcg_at = np.empty(longest)
    ideal_at = np.empty(longest)
    hits_at = np.empty(longest)
    passing = np.empty(longest + 1)
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
        trouble[q] = _trouble(s, y, rules, asked)
        if trouble[q] != GOOD or n_relevant + n_positive == 0:
            for m in range(len(asked.families)):
                values[q, m] = asked.nothing[m]
            continue

        depth = min(n, asked.depth)
        lowest = scores.dtype.type(-np.inf)
        if depth < n and depth <= DEEP:
            lowest = score_at(s, depth, best_scores)
        if lowest > -np.inf or n_listed < n:
            n_few = compress(s, y, key, lowest, few_scores, few_labels, few_keys)
            y_listed, s_listed, key_listed = few_labels[:n_few], few_scores[:n_few], few_keys[: min(n_few, len(key))]
        else:
            y_listed, s_listed, key_listed = y, s, key
        grouped = rank(
            s_listed, y_listed, key_listed, rules.average_ties, order[: len(s_listed)], ranked[:n], tie_end[:n]
        )
        ties = tie_end[:n] if grouped else tie_end[:0]

        dcg, ideal = dcg_at[: min(n, asked.gain_depth)], ideal_at[: min(n, asked.gain_depth)]
        hits = hits_at[: min(n, asked.hit_depth)]
        if asked.gain_depth > 0:
            ideal_order(best, counts, ideal_labels[: len(ideal)])
            cumulate(ranked, ties, rules.linear_gain, logs, rules.undiscounted, dcg)
            cumulate(ideal_labels, ties[:0], rules.linear_gain, logs, rules.undiscounted, ideal)
        if asked.hit_depth > 0:
            cumulative_hits(ranked, ties, rules.relevant_from, hits)

        for m in range(len(asked.families)):
            family = asked.families[m]
            cutoff = asked.cutoffs[m]
            last = min(cutoff, n)
            value = asked.nothing[m]
            if family == NDCG:
                # No list is shorter than itself.
                strict = rules.zero_ndcg_when_short and cutoff != WHOLE_LIST
                value = ndcg(dcg, ideal, cutoff, n_listed, strict, value)
            elif family == MEAN_NDCG:
                value = mean_ndcg(dcg, ideal, n_listed, rules.zero_ndcg_when_short, value)
            elif family == DCG:
                if ideal[0] > 0.0:
                    value = dcg[last - 1]
            elif family == ERR:
                if n_positive > 0:
                    value = expected_reciprocal_rank(
                        ranked, ties, last, rules.min_grade, rules.max_grade, rules.stop_by_label, passing
                    )
            elif n_relevant > 0:
                if family == AP:
                    divisor = min(n_relevant, cutoff) if rules.ap_divides_by_min else n_relevant
                    value = precision_sum(ranked, ties, rules.relevant_from, last, order) / divisor
                elif family == PRECISION:
                    value = precision(hits, cutoff, n_listed, rules.short_precision)
                elif family == RECALL:
                    value = hits[last - 1] / n_relevant
                elif family == RECIPROCAL_RANK:
                    value = reciprocal_rank(ranked, ties, rules.relevant_from, last)
            values[q, m] = value


@njit(error_model="numpy")
def _trouble(scores: np.ndarray, labels: np.ndarray, rules: Rules, asked: Asked) -> int:
    """What stands against evaluating this query."""
    # Counted one by one, since such loops vectorise, and minima and maxima do not.
    not_numbers = 0
    for i in range(len(scores)):
        not_numbers += scores[i] != scores[i]
    not_finite = 0
    negative = 0
    above = 0
    huge = 0
    for i in range(len(labels)):
        not_finite += not abs(labels[i]) < np.inf
        negative += labels[i] < 0.0
        above += labels[i] > rules.max_grade
        huge += labels[i] > LARGEST_GRADE
    if not_numbers > 0:
        return SCORE_IS_NAN
    if not_finite > 0:
        return LABEL_NOT_FINITE
    if negative > 0 and not rules.allow_negative and (asked.gain_depth > 0 or asked.stops):
        return NEGATIVE_GRADE
    if above > 0 and asked.stops:
        return ABOVE_MAX_GRADE
    if huge > 0 and ((asked.gain_depth > 0 and not rules.linear_gain) or (asked.stops and not rules.stop_by_label)):
        return HUGE_GRADE
    return GOOD

"""Gains, discounts and their cumulative sum, DCG, of one list.

    DCG@k = Σ_{i ≤ k} gain(y at rank i) · discount(i)

All cutoffs are read off one cumulative sum. Documents tied in score share the mean of their gains where the
convention averages over tie orders, which is the exact expectation since the sum is linear in each rank's gain.

A term is computed as (gain · ln 2) / ln(·), in this order: it reproduces the figures of the LETOR tool to the last of
the 15 digits that it prints.
"""

import math

import numpy as np

from podium.numerics.compiling import Array, njit
from podium.numerics.sorting import descending

LN2 = math.log(2.0)
WHOLE_GRADES = 32
"""Grades 0, 1, … below this are sorted by counting them."""


@njit(error_model="numpy", inline="always")
def gain(label: float, linear: bool) -> float:
    """Return what a document is worth; nothing if its grade is negative or NaN."""
    if not label > 0.0:
        return 0.0
    if linear:
        return label
    if label < WHOLE_GRADES and int(label) == label:  # much quicker than a power
        return float((1 << int(label)) - 1)
    return 2.0**label - 1.0


def log_discounts(depth: int, letor: bool) -> tuple[Array, int]:
    """Return ln(·) of the discount ln 2 / ln(·) at ranks 1, 2, …, and how many of the first ranks count in full."""
    ranks = np.arange(1, depth + 1)
    return (np.log(ranks), 2) if letor else (np.log(ranks + 1.0), 1)


@njit(error_model="numpy")
def ideal_order(labels: Array, counts: Array, ideal: Array) -> None:
    """Write the highest grades, descending, as many as fit; zeros where positive ones run out."""
    odd = 0
    for i in range(len(labels)):
        odd += not (labels[i] < WHOLE_GRADES and np.floor(labels[i]) == labels[i])
    if odd > 0:
        order = np.empty(len(labels), np.int64)
        descending(labels, order)
        for r in range(len(ideal)):
            ideal[r] = max(labels[order[r]], 0.0)
        return
    counts[:] = 0
    for i in range(len(labels)):
        counts[int(max(labels[i], 0.0))] += 1
    r = 0
    for grade in range(WHOLE_GRADES - 1, 0, -1):
        stop = min(r + counts[grade], len(ideal))
        ideal[r:stop] = grade
        r = stop
    ideal[r:] = 0.0


@njit(error_model="numpy")
def cumulate(ranked: Array, tie_end: Array, linear: bool, logs: Array, undiscounted: int, dcg: Array) -> None:
    """Write DCG@1, DCG@2, … of grades in rank order, as many as fit; ``tie_end`` is empty without groups of ties."""
    total, shared, group_end = 0.0, 0.0, 0
    for r in range(len(dcg)):
        worth = gain(ranked[r], linear)
        if len(tie_end) > 0 and tie_end[r] > r + 1 and r >= group_end:
            group_end = tie_end[r]
            shared = 0.0
            for i in range(r, group_end):
                shared += gain(ranked[i], linear)
            shared /= group_end - r
        if r < group_end:
            worth = shared
        total += worth if r < undiscounted else worth * LN2 / logs[r]
        dcg[r] = total

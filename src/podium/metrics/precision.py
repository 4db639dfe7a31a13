"""Metrics that know only relevant and not relevant documents: precision, recall, average precision, reciprocal rank.

Where tied scores are averaged, all four are exact expectations over the orders of each group of ties. In a group of m
documents, r of them relevant, that follows ``ahead`` documents of which ``hits`` are relevant:

* the expected number of relevant documents up to its j-th is hits + j · r/m;
* its j-th document is relevant with probability r/m, and then (j − 1)(r − 1)/(m − 1) of those before it are expected
  to be: its part of the average precision is Σ_j r/m · (hits + 1 + (j − 1)(r − 1)/(m − 1)) / (ahead + j);
* its first relevant document is the j-th with probability p_j, where p_1 = r/m and
  p_{j+1} = p_j · (m − j − r + 1)/(m − j).
"""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(error_model="numpy", inline="always")
def _group(ranked: np.ndarray, tie_end: np.ndarray, start: int, relevant_from: float) -> tuple[int, int]:
    """Where the group of ties that starts at this rank ends, and how many of its documents are relevant."""
    end = tie_end[start] if len(tie_end) > 0 else start + 1
    relevant = 0
    for r in range(start, end):
        relevant += ranked[r] >= relevant_from
    return end, relevant


@njit(error_model="numpy")
def cumulative_hits(ranked: np.ndarray, tie_end: np.ndarray, relevant_from: float, hits: np.ndarray) -> None:
    """Expected number of relevant documents among the first 1, 2, … documents, as many as fit."""
    total = 0.0
    if len(tie_end) == 0:
        for r in range(len(hits)):
            total += ranked[r] >= relevant_from
            hits[r] = total
        return
    start = 0
    while start < len(hits):
        end, relevant = _group(ranked, tie_end, start, relevant_from)
        for r in range(start, min(end, len(hits))):
            hits[r] = total + relevant * (r - start + 1) / (end - start)
        total += relevant
        start = end


@njit(error_model="numpy")
def precision(hits: np.ndarray, cutoff: int, n_listed: int, short: int) -> float:
    """Share of relevant documents among the first ``cutoff``; ``short`` is 0 to pad short lists, 1 for 0, 2 to clip."""
    if len(hits) == 0 or n_listed == 0 or (short == 1 and cutoff > n_listed):
        return 0.0
    found = hits[min(cutoff, len(hits)) - 1]
    return found / (min(cutoff, n_listed) if short == 2 else cutoff)  # type: ignore[no-any-return]


@njit(error_model="numpy")
def precision_sum(ranked: np.ndarray, tie_end: np.ndarray, relevant_from: float, depth: int, work: np.ndarray) -> float:
    """Sum of the precisions at the relevant documents among the first ``depth``; ``work`` has room for their ranks."""
    total = 0.0
    hits = 0
    if len(tie_end) == 0:
        for r in range(depth):  # written without a branch, which the processor would guess wrong all the time
            work[hits] = r + 1
            hits += ranked[r] >= relevant_from
        for i in range(hits):
            total += (i + 1) / work[i]
        return total
    start = 0
    while start < depth:
        end, relevant = _group(ranked, tie_end, start, relevant_from)
        if relevant > 0:
            probability = relevant / (end - start)
            others = (relevant - 1) / max(end - start - 1, 1)
            for r in range(start, min(end, depth)):
                total += probability * (hits + 1 + (r - start) * others) / (r + 1)
        hits += relevant
        start = end
    return total


@njit(error_model="numpy")
def reciprocal_rank(ranked: np.ndarray, tie_end: np.ndarray, relevant_from: float, depth: int) -> float:
    """One over the rank of the first relevant document; 0 if it is beyond ``depth``."""
    start = 0
    while start < depth:
        end, relevant = _group(ranked, tie_end, start, relevant_from)
        if relevant > 0:
            size = end - start
            probability = relevant / size
            total = 0.0
            for r in range(start, min(end, depth)):
                total += probability / (r + 1)
                left = size - (r - start) - 1
                probability *= (left - relevant + 1) / max(left, 1)
            return total
        start = end
    return 0.0

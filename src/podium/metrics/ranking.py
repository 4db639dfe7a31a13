"""The documents of one query in rank order, best score first.

``rank`` writes the grades by rank, and NaN (which compares false with everything, and so is worth nothing and not
relevant) at ranks where no document was retrieved. Under the ``average`` rule for ties, ``tie_end[r]`` is the rank
after the last of the documents tied with the one at rank ``r``; within a group of ties, grades are in row order.
"""

import numpy as np

from podium.numerics.compiling import Array, njit
from podium.numerics.sorting import descending

DEEP = 64
"""Deepest cutoff for which the best scores are first found by insertion."""


@njit(error_model="numpy")
def score_at(scores: Array, depth: int, best: Array) -> float:
    """Return the ``depth``-th highest score; ``best`` is work space of that length."""
    best[:depth] = -np.inf
    last = depth - 1
    for i in range(len(scores)):
        score = scores[i]
        if score > best[last]:
            place = last
            while place > 0 and best[place - 1] < score:
                best[place] = best[place - 1]
                place -= 1
            best[place] = score
    return best[last]


@njit(error_model="numpy")
def compress(
    scores: Array, labels: Array, keys: Array, lowest: float, few_scores: Array, few_labels: Array, few_keys: Array
) -> int:
    """Copy the retrieved documents with a score of ``lowest`` or more; return how many."""
    n = 0
    for i in range(len(scores)):
        if scores[i] >= lowest and scores[i] > -np.inf:
            few_labels[n] = labels[i]
            few_scores[n] = scores[i]
            if len(keys) > 0:
                few_keys[n] = keys[i]
            n += 1
    return n


@njit(error_model="numpy")
def rank(scores: Array, labels: Array, keys: Array, average: bool, order: Array, ranked: Array, tie_end: Array) -> bool:
    """Write grades, and with ``average`` the ends of groups of ties, by rank; return whether there are such groups.

    Ties are broken by ``keys``, ascending, if there are any, then by row. ``order`` is work space.
    """
    n = len(scores)
    descending(scores, order)
    grouped = False
    if average or len(keys) > 0:
        start = 0
        while start < n:
            end = start + 1
            while end < n and scores[order[end]] == scores[order[start]]:
                end += 1
            if end > start + 1 and len(keys) > 0:
                _sort_by_key(keys, order[start:end])
            if end > start + 1 and average:
                if not grouped:
                    tie_end[:] = np.arange(1, len(tie_end) + 1)
                    grouped = True
                tie_end[start:end] = end
            start = end
    for r in range(n):
        ranked[r] = labels[order[r]]
    ranked[n:] = np.nan
    return grouped


@njit(error_model="numpy")
def cumulate_hits(ranked: Array, tie_end: Array, relevant_from: float, hits: Array) -> None:
    """Write the expected number of relevant documents among the first 1, 2, … documents, as many as fit.

    In a group of m tied documents, r of them relevant, the first j are expected to hold j · r/m relevant ones.
    """
    total, start = 0.0, 0
    if len(tie_end) == 0:
        for r in range(len(hits)):
            total += ranked[r] >= relevant_from
            hits[r] = total
        return
    while start < len(hits):
        end = tie_end[start]
        relevant = 0
        for r in range(start, end):
            relevant += ranked[r] >= relevant_from
        for r in range(start, min(end, len(hits))):
            hits[r] = total + relevant * (r - start + 1) / (end - start)
        total += relevant
        start = end


@njit(error_model="numpy")
def _sort_by_key(keys: Array, rows: Array) -> None:
    order = np.empty(len(rows), np.int64)
    descending(-keys[rows], order)
    rows[:] = rows[order]


@njit(nogil=True, cache=True, error_model="numpy")
def tied_documents(first: int, stop: int, scores: Array, offsets: Array, tied: Array) -> None:
    """Mark documents of queries ``first:stop`` that share their score with another document of their query."""
    for q in range(first, stop):
        s = scores[offsets[q] : offsets[q + 1]]
        order = np.empty(len(s), np.int64)
        descending(s, order)
        for i in range(1, len(s)):
            if s[order[i]] == s[order[i - 1]]:
                tied[offsets[q] + order[i]] = True
                tied[offsets[q] + order[i - 1]] = True

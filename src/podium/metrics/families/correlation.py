"""Rank correlation of scores and grades: Kendall's τ-b and pairwise accuracy.

Both count pairs of documents of one query: those ordered alike by score and by grade (concordant), oppositely
(discordant), and tied in either. Knight's method counts all of them by sorting, in O(n log n): sort by score and then
grade, and the discordant pairs are the exchanges that a merge sort by grade then makes.

    τ-b      = (concordant − discordant) / √(pairs with different scores · pairs with different grades)
    accuracy = (concordant + ½ · pairs with different grades but equal scores) / pairs with different grades

A query whose documents all have one grade orders nothing: its τ-b and accuracy are NaN. If only the scores are all
tied, τ-b is 0 (no association) and accuracy ½. Documents with a score of −∞ are tied behind all others.

W. R. Knight: A computer method for calculating Kendall's tau with ungrouped data, JASA 1966.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import njit

from podium.metrics.family import family
from podium.metrics.ranked import RankedList, ranked_list
from podium.numerics.sorting import descending

OF_PAIRS = {"cutoff": "none", "seeks": "order", "prepared": "scores"}


class Pairs(NamedTuple):
    """Numbers of pairs of documents."""

    concordant: int
    discordant: int
    scored: int
    """Pairs with different scores."""
    graded: int
    """Pairs with different grades."""
    graded_tied: int
    """Pairs with different grades but equal scores."""


@family("tau", "Kendall's τ-b", aliases=("kendall", "kendalltau", "tau-b"), **OF_PAIRS)
def tau(address: int, cutoff: int, parameter: float) -> float:
    pairs = _count(ranked_list(address))
    if pairs.graded == 0:
        return np.nan
    if pairs.scored == 0:
        return 0.0
    return (pairs.concordant - pairs.discordant) / (math.sqrt(pairs.scored) * math.sqrt(pairs.graded))


@family(
    "accuracy",
    "share of pairs in the right order; a pair with tied scores counts ½",
    aliases=("pairwise",),
    **OF_PAIRS,
)
def accuracy(address: int, cutoff: int, parameter: float) -> float:
    pairs = _count(ranked_list(address))
    return (pairs.concordant + 0.5 * pairs.graded_tied) / pairs.graded if pairs.graded > 0 else np.nan


@njit(error_model="numpy")
def _count(shown: RankedList) -> Pairs:
    labels, scores = shown.labels, shown.scores
    n = len(labels)
    by_label = np.empty(n, np.int64)
    descending(labels, by_label)
    order = np.empty(n, np.int64)
    descending(scores[by_label], order)
    order = by_label[order]
    y = labels[order]
    s = scores[order]
    pairs = n * (n - 1) // 2
    tied_scores = 0
    tied_both = 0
    same_score = 0
    same_both = 0
    for i in range(1, n):
        same_score = same_score + 1 if s[i] == s[i - 1] else 0
        same_both = same_both + 1 if same_score > 0 and y[i] == y[i - 1] else 0
        tied_scores += same_score
        tied_both += same_both
    discordant = _exchanges(y)
    tied_labels = 0
    same_label = 0
    for i in range(1, n):
        same_label = same_label + 1 if y[i] == y[i - 1] else 0
        tied_labels += same_label
    concordant = pairs - tied_scores - tied_labels + tied_both - discordant
    return Pairs(concordant, discordant, pairs - tied_scores, pairs - tied_labels, tied_scores - tied_both)


@njit(error_model="numpy")
def _exchanges(values: np.ndarray) -> int:
    """Sort descending, in place, by merging; return how many pairs stood in the wrong order."""
    n = len(values)
    target = np.empty_like(values)
    exchanges = 0
    width = 1
    while width < n:
        for start in range(0, n, 2 * width):
            middle = min(start + width, n)
            end = min(start + 2 * width, n)
            left = start
            right = middle
            for k in range(start, end):
                if left < middle and (right >= end or values[left] >= values[right]):
                    target[k] = values[left]
                    left += 1
                else:
                    target[k] = values[right]
                    exchanges += middle - left
                    right += 1
        for k in range(n):
            values[k] = target[k]
        width *= 2
    return exchanges

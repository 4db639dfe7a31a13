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

import math
from typing import NamedTuple

import numpy as np

from podium.metrics.family import family
from podium.metrics.ranked import RankedList
from podium.numerics.compiling import njit
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
def tau(shown: RankedList, cutoff: int, parameter: float) -> float:
    pairs = _count(shown)
    if pairs.graded == 0:
        return np.nan
    if pairs.scored == 0:
        return 0.0
    return (pairs.concordant - pairs.discordant) / (math.sqrt(pairs.scored) * math.sqrt(pairs.graded))


@family(
    "accuracy", "share of pairs in the right order; a pair with tied scores counts ½", aliases=("pairwise",), **OF_PAIRS
)
def accuracy(shown: RankedList, cutoff: int, parameter: float) -> float:
    pairs = _count(shown)
    return (pairs.concordant + 0.5 * pairs.graded_tied) / pairs.graded if pairs.graded > 0 else np.nan


@njit(error_model="numpy")
def _count(shown: RankedList) -> Pairs:
    labels, scores = shown.labels, shown.scores
    n = len(labels)
    by_label, by_score = np.empty(n, np.int64), np.empty(n, np.int64)
    descending(labels, by_label)
    descending(scores[by_label], by_score)
    order = by_label[by_score]
    y, s = labels[order], scores[order]
    pairs = n * (n - 1) // 2
    same_score = s[1:] == s[:-1]
    tied_scores = _pairs_in_runs(same_score)
    tied_both = _pairs_in_runs(same_score & (y[1:] == y[:-1]))
    discordant = _exchanges(y)  # which sorts y
    tied_labels = _pairs_in_runs(y[1:] == y[:-1])
    concordant = pairs - tied_scores - tied_labels + tied_both - discordant
    return Pairs(concordant, discordant, pairs - tied_scores, pairs - tied_labels, tied_scores - tied_both)


@njit(error_model="numpy")
def _pairs_in_runs(like_previous: np.ndarray) -> int:
    """Return how many pairs are in the same run, given whether each entry but the first continues one."""
    pairs = run = 0
    for i in range(len(like_previous)):
        run = run + 1 if like_previous[i] else 0
        pairs += run
    return pairs


@njit(error_model="numpy")
def _exchanges(values: np.ndarray) -> int:
    """Sort descending, in place, by merging; return how many pairs stood in the wrong order."""
    n = len(values)
    target = np.empty_like(values)
    exchanges, width = 0, 1
    while width < n:
        for start in range(0, n, 2 * width):
            middle, end = min(start + width, n), min(start + 2 * width, n)
            left, right = start, middle
            for k in range(start, end):
                if left < middle and (right >= end or values[left] >= values[right]):
                    target[k] = values[left]
                    left += 1
                else:
                    target[k] = values[right]
                    exchanges += middle - left
                    right += 1
        values[:] = target
        width *= 2
    return exchanges

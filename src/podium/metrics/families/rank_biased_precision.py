"""Rank-biased precision: a user goes on to the next document with probability p, the persistence.

    RBP@k = (1 − p) · Σ_{i ≤ k} p^(i−1) · [the document at rank i is relevant]

``rbp`` has p = 0.8; ``rbp.95`` is the one with p = 0.95. The value is at most 1 − p^k, not 1. Where tied scores are
averaged, it is the exact expectation since the sum is linear in each rank's relevance.

A. Moffat, J. Zobel: Rank-biased precision for measurement of retrieval effectiveness, TOIS 2008.
"""

from podium.metrics.family import family
from podium.metrics.ranked import RankedList


@family("rbp", "rank-biased precision, with the persistence after a point (rbp.95)", prepared="hits", parameter=0.8)
def rank_biased_precision(shown: RankedList, cutoff: int, persistence: float) -> float:
    total = 0.0
    before = 0.0
    weight = 1.0 - persistence
    for r in range(min(cutoff, len(shown.grades))):
        total += weight * (shown.hits[r] - before)
        before = shown.hits[r]
        weight *= persistence
    return total

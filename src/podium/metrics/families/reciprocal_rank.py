"""Reciprocal rank of the first relevant document; 0 if it is beyond the cutoff.

Where tied scores are averaged, this is the exact expectation: in a group of m documents, r of them relevant, the first
relevant one is the j-th with probability p_j, where p_1 = r/m and p_{j+1} = p_j · (m − j − r + 1)/(m − j).
"""

from podium.metrics.family import family
from podium.metrics.ranked import RankedList, tie_group


@family("mrr", "reciprocal rank of the first relevant document", aliases=("rr",))
def reciprocal_rank(shown: RankedList, cutoff: int, parameter: float) -> float:
    depth = min(cutoff, len(shown.grades))
    start = 0
    while start < depth:
        end, relevant = tie_group(shown, start)
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

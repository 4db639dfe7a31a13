"""Average precision: the mean, over the relevant documents, of the precision at the rank of each (0 if not found).

Where tied scores are averaged, this is the exact expectation. In a group of m documents, r of them relevant, that
follows ``ahead`` documents of which ``hits`` are relevant, the j-th document is relevant with probability r/m, and
then (j − 1)(r − 1)/(m − 1) of those before it are expected to be: its part of the sum is

    r/m · (hits + 1 + (j − 1)(r − 1)/(m − 1)) / (ahead + j)
"""

from podium.metrics.family import family
from podium.metrics.ranked import RankedList, tie_group
from podium.numerics.compiling import njit


@family(
    "map", "average precision", aliases=("ap",), name_with_cutoff="ap", normalized=True, no_relevant="no_relevant_ap"
)
def average_precision(shown: RankedList, cutoff: int, parameter: float) -> float:
    depth = min(cutoff, len(shown.grades))
    divisor = min(shown.n_relevant, cutoff) if shown.rules.ap_divides_by_min else shown.n_relevant
    if not shown.tied:
        return _precision_sum(shown, depth) / divisor
    return _expected_sum(shown, depth) / divisor


@njit(error_model="numpy")
def _precision_sum(shown: RankedList, depth: int) -> float:
    grades, ranks = shown.grades, shown.ranks
    total = 0.0
    hits = 0
    for r in range(depth):  # without a branch, which the processor would often predict wrongly
        ranks[hits] = r + 1
        hits += grades[r] >= shown.rules.relevant_from
    for i in range(hits):
        total += (i + 1) / ranks[i]
    return total


@njit(error_model="numpy")
def _expected_sum(shown: RankedList, depth: int) -> float:
    total = 0.0
    hits = 0
    start = 0
    while start < depth:
        end, relevant = tie_group(shown, start)
        if relevant > 0:
            probability = relevant / (end - start)
            others = (relevant - 1) / max(end - start - 1, 1)
            for r in range(start, min(end, depth)):
                total += probability * (hits + 1 + (r - start) * others) / (r + 1)
        hits += relevant
        start = end
    return total

"""Expected reciprocal rank.

A user goes down the list and stops at a document of grade y with probability V(y) = (2^y − 1) / 2^max_grade (grades
counted from the lowest there is); ERR is the expectation of one over the rank where that happens (0 if it never does):

    ERR@k = Σ_{i ≤ k} 1/i · V(y_i) · Π_{j < i} (1 − V(y_j))

Where tied scores are averaged, let T_j be the mean of Π (1 − V) over all sets of j documents of a group of m: the
probability that the user passes the first j of them, over all orders. The group's j-th document then stops the user
with probability T_{j−1} − T_j. Adding the documents one by one, the means of m documents follow from those of m − 1,

    T_j ← (m − j)/m · T_j + j/m · (1 − V_m) · T_{j−1},

since a set of j either leaves the new document out or holds it. All terms are positive, so nothing cancels.

O. Chapelle, D. Metzler, Y. Zhang, P. Grinspan: Expected reciprocal rank for graded relevance, CIKM 2009.
"""

from podium.metrics.family import family
from podium.metrics.gains import gain
from podium.metrics.ranked import RankedList
from podium.numerics.compiling import Array, njit


@family("err", "expected reciprocal rank", seeks="gain", needs_max_grade=True)
def expected_reciprocal_rank(shown: RankedList, cutoff: int, parameter: float) -> float:
    lowest, by_label = shown.rules.min_grade, shown.rules.stop_by_label
    scale = 2.0 ** (lowest - shown.rules.max_grade)
    depth = min(cutoff, len(shown.grades))
    total = 0.0
    reached = 1.0
    start = 0
    while start < depth:
        end = shown.tie_end[start] if shown.tied else start + 1
        if end == start + 1:
            stop = _stop_probability(shown.grades[start], lowest, scale, by_label)
            total += reached * stop / end
            reached *= 1.0 - stop
        else:
            deepest = min(end, depth) - start
            group = shown.grades[start:end]
            passing_all = _mean_passing(group, lowest, scale, by_label, deepest, shown.passing)
            for j in range(1, deepest + 1):
                total += reached * (shown.passing[j - 1] - shown.passing[j]) / (start + j)
            reached *= passing_all
        start = end
    return total


@njit(error_model="numpy", inline="always")
def _stop_probability(label: float, lowest: float, scale: float, by_label: bool) -> float:
    """Return V(y), with ``scale`` = 2^−(max_grade − lowest); or the label itself."""
    return label if by_label and label > 0.0 else gain(label - lowest, False) * scale


@njit(error_model="numpy")
def _mean_passing(group: Array, lowest: float, scale: float, by_label: bool, deepest: int, passing: Array) -> float:
    """Write T_0, …, T_deepest of a group of ties; return the probability that the user passes all of it."""
    for j in range(deepest + 1):
        passing[j] = 1.0
    m = 0
    # Documents at which nobody stops change nothing: all means of them are 1.
    for i in range(len(group)):
        m += not group[i] > lowest
    passing_all = 1.0
    for i in range(len(group)):
        if group[i] > lowest:
            m += 1
            go_on = 1.0 - _stop_probability(group[i], lowest, scale, by_label)
            passing_all *= go_on
            for j in range(min(m, deepest), 0, -1):
                passing[j] = ((m - j) * passing[j] + j * go_on * passing[j - 1]) / m
    return passing_all

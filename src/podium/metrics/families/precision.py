"""Metrics of the number of relevant documents among the first k: precision, recall, F1, R-precision, hit rate.

    P@k = hits / k,  R@k = hits / relevant,  F1@k = 2 · hits / (k + relevant),  R-precision = P@k with k = relevant

F1 is the harmonic mean of P@k and R@k, with P@k as the convention has it for lists shorter than k; without a cutoff
it is that of all retrieved documents. Where tied scores are averaged, hits are an expectation, and all of these are
exact since they are linear in it. The hit rate is the probability that at least one of the first k is relevant.
"""

from podium.metrics.family import family
from podium.metrics.ranked import WHOLE_LIST, RankedList, tie_group
from podium.numerics.compiling import njit

AT_K = {"cutoff": "required", "prepared": "hits"}
PAD, _, CLIP = range(3)
"""P@k of a list of n < k documents: hits / k; or 0; or hits / n."""


@njit(error_model="numpy")
def _length(shown: RankedList, cutoff: int) -> int:
    """Return what P@k divides by; 0 if P@k is 0 whatever was found."""
    short = shown.rules.short_precision
    if cutoff <= shown.n_listed or (short == PAD and cutoff != WHOLE_LIST):
        return cutoff if shown.n_listed > 0 else 0
    return shown.n_listed if short == CLIP or cutoff == WHOLE_LIST else 0


@family("p", "precision: share of relevant documents among the first k", aliases=("precision", "prec"), **AT_K)
def precision(shown: RankedList, cutoff: int, parameter: float) -> float:
    length = _length(shown, cutoff)
    return shown.hits[min(cutoff, len(shown.grades)) - 1] / length if length > 0 else 0.0


@family(
    "r",
    "recall: share of the relevant documents that are among the first k",
    aliases=("recall",),
    normalized=True,
    **AT_K,
)
def recall(shown: RankedList, cutoff: int, parameter: float) -> float:
    return shown.hits[min(cutoff, len(shown.grades)) - 1] / shown.n_relevant


@family("f1", "harmonic mean of precision and recall", prepared="hits")
def f1(shown: RankedList, cutoff: int, parameter: float) -> float:
    length = _length(shown, cutoff)
    return 2.0 * shown.hits[min(cutoff, len(shown.grades)) - 1] / (length + shown.n_relevant) if length > 0 else 0.0


@family(
    "rprec",
    "R-precision: precision at the number of relevant documents",
    cutoff="none",
    aliases=("r-precision", "rprecision"),
    prepared="hits",
    normalized=True,
)
def r_precision(shown: RankedList, cutoff: int, parameter: float) -> float:
    return shown.hits[min(shown.n_relevant, len(shown.grades)) - 1] / shown.n_relevant


@family(
    "hit",
    "hit rate: is any of the first k documents relevant?",
    cutoff="required",
    aliases=("hits", "hit_rate", "success"),
)
def hit(shown: RankedList, cutoff: int, parameter: float) -> float:
    depth = min(cutoff, len(shown.grades))
    missed = 1.0
    start = 0
    while start < depth and missed > 0.0:
        end, relevant = tie_group(shown, start)
        # The first documents of a group of ties are drawn without replacement.
        for drawn in range(min(end, depth) - start):
            missed *= (end - start - relevant - drawn) / (end - start - drawn)
        start = end
    return 1.0 - missed

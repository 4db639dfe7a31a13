"""DCG, NDCG, MeanNDCG, and NDCG over judged documents only.

    NDCG@k = DCG@k / DCG@k of the best possible order

MeanNDCG is the mean of NDCG@1, …, NDCG@n. The condensed NDCG is the NDCG of the list without its unjudged documents:
ranks close up, so that a document nobody has judged costs nothing (T. Sakai: Alternatives to bpref, SIGIR 2007).
"""

from podium.metrics.family import family
from podium.metrics.ranked import WHOLE_LIST, RankedList

NORMALIZED = {"seeks": "gain", "prepared": "gains", "normalized": True}


@family("ndcg", "normalized discounted cumulative gain", **NORMALIZED)
@family(
    "condensed-ndcg", "NDCG of the judged documents alone", aliases=("condensed_ndcg",), judged_only=True, **NORMALIZED
)
def ndcg(shown: RankedList, cutoff: int, parameter: float) -> float:
    if shown.rules.zero_ndcg_when_short and cutoff > shown.n_listed and cutoff != WHOLE_LIST:
        return 0.0
    last = min(cutoff, len(shown.grades)) - 1
    return shown.dcg[last] / shown.ideal[last]


@family("dcg", "discounted cumulative gain", seeks="gain", prepared="gains", bounded=False)
def dcg(shown: RankedList, cutoff: int, parameter: float) -> float:
    return shown.dcg[min(cutoff, len(shown.grades)) - 1]


@family("meanndcg", "mean of NDCG@1 … NDCG@n", cutoff="none", aliases=("mean-ndcg", "mean_ndcg"), **NORMALIZED)
def mean_ndcg(shown: RankedList, cutoff: int, parameter: float) -> float:
    total = 0.0
    for r in range(len(shown.grades)):
        if not (shown.rules.zero_ndcg_when_short and r + 1 > shown.n_listed):
            total += shown.dcg[r] / shown.ideal[r]
    return total / len(shown.grades)

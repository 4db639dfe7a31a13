"""Binary preference: how many judged documents that are not relevant stand above each relevant one.

    bpref = 1/R · Σ_{relevant documents retrieved} (1 − min(number of judged others above it, R) / min(N, R))

with R relevant and N judged but not relevant documents; documents that were not judged are not looked at. This is the
formula of trec_eval. Where tied scores are averaged, it is the exact expectation: of z others tied with a relevant
document, each number from 0 to z is equally likely to stand above it.

C. Buckley, E. Voorhees: Retrieval evaluation with incomplete information, SIGIR 2004.
"""

from podium.metrics.family import family
from podium.metrics.ranked import RankedList, tie_group


@family(
    "bpref",
    "binary preference: judged documents that are not relevant above relevant ones",
    cutoff="none",
    normalized=True,
    judged_only=True,
)
def bpref(shown: RankedList, cutoff: int, parameter: float) -> float:
    n_relevant = shown.n_relevant
    most = max(min(len(shown.grades) - n_relevant, n_relevant), 1)
    total = 0.0
    above = 0
    start = 0
    while start < shown.n_listed:
        end, relevant = tie_group(shown, start)
        if relevant > 0:
            others = end - start - relevant
            lost = 0.0
            for i in range(others + 1):
                lost += min(above + i, n_relevant) / most
            total += relevant * (1.0 - lost / (others + 1))
        above += end - start - relevant
        start = end
    return total / n_relevant

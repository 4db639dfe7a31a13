"""Cao, Qin, Liu, Tsai, Li: learning to rank, from pairwise approach to listwise approach, ICML 2007 (its slides)."""

from ..machinery.page import Paper
from .comparison import accuracy, csearch
from .curves import convergence
from .objectives import models, objectives
from .pairs import bias, pairs

PAPER = Paper(
    "listnet",
    "ListNet: from pairwise approach to listwise approach",
    "Cao, Qin, Liu, Tsai & Li, *Learning to rank: from pairwise approach to listwise approach*, ICML 2007, by the "
    "slides that present it. The method: [ListNet](../methods/listnet.md).\n\n"
    "The slides' figures are plots without numbers. OHSUMED is computed (LETOR 2.0's, with 25 features where the "
    "slides say 30; features scaled to [0, 1] within each query); in italics, LETOR 2.0's official figures of the same "
    "methods on the same data. Means over all test queries. The settings that are searched for the baselines were "
    "widened after a first version of this page, so with its test figures known: RankBoost gained .008 in MAP, and its "
    "claim went from *holds* (+.0136, p .002) to *cannot tell here*.",
    [accuracy, csearch, bias, pairs, convergence, objectives, models],
    {
        ("Experiments, TREC 2003", "ListNet outperforms RankNet, Ranking SVM and RankBoost"): (
            "TREC 2003's web pages and features cannot be had here"
        ),
        ("Experiments, CSearch", "the data set of a commercial search engine"): (
            "never published; two public sets of five grades stand in, in their section"
        ),
        ("Experiments, CSearch", "too large to run Ranking SVM with SVMlight"): (
            "neither the data nor that program are here; Podium's Ranking SVM sums over pairs in n log n steps"
        ),
        ("Motivation", "existing methods of classification can be applied to pairs; pairs are easily obtained"): (
            "nothing to compute"
        ),
        ("Listwise approach", "definitions of the model, of the top-one probability and of the algorithm"): (
            "definitions; the tests of ListNet's loss compare it with enumerated permutations"
        ),
    },
)

"""Volkovs, Zemel: BoltzRank: learning to maximize expected ranking gain, ICML 2009."""

from ..machinery.page import Paper
from .choices import figure_3b, hidden_units, optimizer, pair_weights, redrawn, sample_size, subsampling
from .comparison import more_grades, table_2
from .cost import cost
from .distributions import figure_3a, figures_1_and_2, pair_probability
from .films import collaborative_filtering

PAPER = Paper(
    "boltzrank",
    "BoltzRank: learning to maximize expected ranking gain",
    "Volkovs & Zemel, *BoltzRank: learning to maximize expected ranking gain*, ICML 2009. The method: "
    "[BoltzRank](../methods/boltzrank.md).\n\n"
    "The paper's OHSUMED is that of LETOR 3.0 (45 features); here is LETOR 2.0's (25 features; the same 106 queries "
    "and five folds), so that printed figures, in italics, are context and not a target. Features are scaled to [0, 1] "
    "within each query, convention `letor`, 50 epochs of one query per step (the paper trains to a tolerance that it "
    "does not print), random starts chosen between by MAP on the validation queries (by NDCG@5 where choices are "
    "compared). Figures are means over all test queries; times are of a machine that had other work as well.",
    [
        figures_1_and_2,
        pair_probability,
        figure_3a,
        table_2,
        figure_3b,
        pair_weights,
        hidden_units,
        sample_size,
        redrawn,
        optimizer,
        subsampling,
        cost,
        more_grades,
        collaborative_filtering,
    ],
    {
        ("Table 2, TD2004", "BoltzRank1 and 2 on 75 queries of 1,000 documents; BoltzRank2 beats all but once"): (
            "LETOR 3.0's TD2004 cannot be had here"
        ),
        ("§4.1", "80 % of TD2004's irrelevant documents can be left out"): (
            "TD2004 cannot be had; the same on OHSUMED is in its section"
        ),
        ("Table 2, OHSUMED", "on the 45 features of LETOR 3.0"): "LETOR 3.0 cannot be had; 25 features stand in",
        ("Table 1", "notation"): "nothing to compute",
    },
)

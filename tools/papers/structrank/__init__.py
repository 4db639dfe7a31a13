"""Huang, Frey: structured ranking learning using cumulative distribution networks, NIPS 2008."""

from ..machinery.page import Paper
from .figure_4 import baselines, topologies
from .networks import figure_1b, known_networks, properties
from .open_questions import functions, partial_orders, scorers
from .training import learning_time, loss_and_ndcg

PAPER = Paper(
    "structrank",
    "StructRank: structured ranking learning using cumulative distribution networks",
    "Huang & Frey, *Structured ranking learning using cumulative distribution networks*, NIPS 2008. The method: "
    "[StructRank](../methods/structrank.md).\n\n"
    "All experiments of the paper are on OHSUMED of LETOR 2.0, which is at hand: 106 queries, 25 features, five folds, "
    "features scaled to [0, 1] within each query, convention `letor`. Its figures are plots whose numbers are not "
    "printed; in italics, LETOR 2.0's official figures of the baselines. Means over all test queries.",
    [
        figure_1b,
        properties,
        known_networks,
        topologies,
        baselines,
        partial_orders,
        functions,
        scorers,
        loss_and_ndcg,
        learning_time,
    ],
    {
        ("§5", "additional results for TREC 2004"): "neither the data nor the supplement can be had here",
        ("Supplement", "gradients; Supplementary Figure 2"): (
            "the supplement cannot be had; gradients are tested against finite differences"
        ),
        ("Figures 1(a), 2, 3", "example networks and order graphs"): "drawings: nothing to compute",
        ("Figure 4, MHR-BC", "one of the seven baselines"): "not in Podium; its official figures are in the table",
        ("§2", "conditional independence: A of B given C if no path between them passes through C"): (
            "refers to another paper; preferences are never conditioned on each other's exact margins"
        ),
        ("§2", "inference by message passing (derivative-sum-product)"): (
            "refers to another paper; learning needs the joint probability only"
        ),
    },
)

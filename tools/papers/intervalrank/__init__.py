"""Moon, Smola, Chang, Zheng: IntervalRank, WSDM 2010."""

from ..machinery.page import Paper
from .ohsumed import figure_1, table_1
from .solver import algorithm_2, the_loss
from .trees import barrier, figure_3

PAPER = Paper(
    "intervalrank",
    "IntervalRank: isotonic regression with listwise and pairwise constraints",
    "Moon, Smola, Chang & Zheng, *IntervalRank: isotonic regression with listwise and pairwise constraints*, WSDM "
    "2010. The method: [IntervalRank](../methods/intervalrank.md).",
    [figure_1, table_1, the_loss, algorithm_2, figure_3, barrier],
    {
        (
            "Figure 2, Table 2, §4.3",
            "the grades of 341,300 + 32,008 commercial documents",
        ): "the data are not to be had",
        ("Figure 3, §4.3", "the curves themselves"): "shown as a plot of commercial data, without figures",
        (
            "§4.3",
            "a change of 1 % is significant for commercial web search",
        ): "a statement about a business",
    },
)

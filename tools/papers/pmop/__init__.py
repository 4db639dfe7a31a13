"""Truyen, Phung, Venkatesh: probabilistic models over ordered partitions, SDM 2011."""

from ..machinery.page import Paper
from .counting import counting
from .documents import table_1
from .films import table_3
from .samplers import bias, drawn_pairs, figure_2
from .speed import table_2
from .theory import appendix_c, concavity, derivations

PAPER = Paper(
    "pmop",
    "PMOP: probabilistic models over ordered partitions",
    "Truyen, Phung & Venkatesh, *Probabilistic models over ordered partitions with applications in document ranking "
    "and collaborative filtering*, SDM 2011. The method: [PMOP](../methods/pmop.md).",
    [counting, derivations, appendix_c, table_1, figure_2, bias, drawn_pairs, table_2, concavity, table_3],
    {
        ("§6.1, Table 1", "the figures themselves, on Yahoo!'s data"): "19,944 queries of the Yahoo! challenge are not "
        "to be had, and the paper's own split is not published",
        ("§6.1, footnote 19", "a position in the top 4 % of the Yahoo! challenge"): "the challenge is over, and the "
        "features of that entry are not described",
        ("Figure 1", "complete ordering and subset ordering"): "a drawing of the model, with no result",
        ("§7", "Bayesian modeling, latent aspects, other approximations"): "named as future work, without a result",
    },
)

"""Truyen, Phung, Venkatesh: probabilistic models over ordered partitions, SDM 2011."""

from ..machinery.page import Paper
from .counting import counting
from .documents import table_1
from .samplers import bias, drawn_pairs, figure_2
from .theory import appendix_c, concavity, derivations

PAPER = Paper(
    "pmop",
    "PMOP: probabilistic models over ordered partitions",
    "Truyen, Phung & Venkatesh, *Probabilistic models over ordered partitions with applications in document ranking "
    "and collaborative filtering*, SDM 2011. The method: [PMOP](../methods/pmop.md).",
    [counting, derivations, appendix_c, table_1, figure_2, bias, drawn_pairs, concavity],
    {},
)

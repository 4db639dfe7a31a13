"""ListMLE: the Plackett-Luce likelihood of an order."""

from functools import partial

from podium.core.random_state import seed_of
from podium.losses import ListMLELoss, Loss
from podium.rankers.methods import METHODS
from podium.rankers.presets.boosted import REGRESSION, TREES, LossOnTrees
from podium.rankers.presets.linear import L2, LinearPreset

__all__ = ["ListMLE"]


class ListMLE(LinearPreset):
    """ListMLE: likelihood of the labels' order under the Plackett-Luce model.

    Xia, Liu, Wang, Zhang, Li: Listwise approach to learning to rank: theory and algorithm. ICML 2008.

    Parameters
    ----------
    ties : {"random", "stable"}
        The model knows no ties: equal grades are taken in random orders, or in the order of the rows, which is then
        learned. PMOP models ties.
    discount : None, "log" or "lan"
        Weights that fall from place to place, see :class:`podium.losses.ListMLELoss`.

    Examples
    --------
    >>> import podium
    >>> queries = podium.make_queries(n_queries=50, n_documents=10, n_features=5)
    >>> ranker = podium.ListMLE(random_state=0).fit(queries)
    >>> ranker.score(queries) > 0.8, ranker.log_likelihood(queries) < 0
    (True, True)
    """

    ties: str = "random"
    discount: str | None = None

    def _loss(self) -> Loss:
        return ListMLELoss(ties=self.ties, random_state=seed_of(self.random_state), discount=self.discount)


_SUMMARY, _REFERENCE = "Plackett-Luce likelihood of the order", "Xia et al., ICML 2008"
METHODS.add("listmle", ListMLE, _SUMMARY, _REFERENCE, "listwise", L2, stochastic=True)
METHODS.add_variant(
    "listmle",
    "plistmle",
    partial(ListMLE, discount="lan"),
    "ListMLE with weights that halve from place to place",
    reference="Lan et al., UAI 2014",
)
_ON_TREES = partial(LossOnTrees, ListMLELoss(orders_per_epoch=8))
METHODS.add_variant("listmle", "listmle-trees", _ON_TREES, "ListMLE's loss on boosted trees", **TREES)
METHODS.add_variant(
    "listmle-trees",
    "listmle-trees-reg",
    partial(_ON_TREES, regression=0.1),
    "ListMLE's loss on boosted trees with a regression term",
    reference="Moon et al., WSDM 2010",
    grid=REGRESSION,
)

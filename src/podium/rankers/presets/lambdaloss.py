"""The LambdaLoss family: pairs weighted by bounds on a metric."""

from functools import partial

from podium.losses import LambdaLoss
from podium.rankers.methods import METHODS
from podium.rankers.presets.boosted import TREES, LossOnTrees
from podium.rankers.presets.linear import L2, LossOnLine
from podium.rankers.presets.stepped import STEPS, LossBySteps

METHODS.add(
    "lambdaloss",
    partial(LossBySteps, LambdaLoss()),
    "pairs weighted by a bound on NDCG (NDCG-Loss2++)",
    "Wang et al., CIKM 2018",
    "listwise",
    STEPS,
    stochastic=True,
)
for _kind, _summary in (
    ("ndcg1", "pairs weighted by one document's discounted gain (NDCG-Loss1)"),
    ("ndcg2", "pairs weighted by a bound on NDCG (NDCG-Loss2)"),
):
    METHODS.add_variant("lambdaloss", f"lambdaloss-{_kind}", partial(LossBySteps, LambdaLoss(_kind)), _summary)
for _kind, _summary in (
    ("arp1", "pairs weighted by one document's grade (ARP-Loss1)"),
    ("arp2", "pairs weighted by the difference of their grades (ARP-Loss2)"),
):
    METHODS.add_variant(
        "lambdaloss",
        f"lambdaloss-{_kind}",
        partial(LossOnLine, LambdaLoss(_kind), l2=10.0),
        _summary,
        grid=L2,
        stochastic=False,
    )
_ON_TREES = partial(LossOnTrees, LambdaLoss())
METHODS.add_variant("lambdaloss", "lambdaloss-trees", _ON_TREES, "NDCG-Loss2++ on boosted trees", **TREES)

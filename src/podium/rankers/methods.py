"""The methods by name, each with the small grid of settings that a comparison searches on validation queries."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from podium.losses import StructRankLoss
from podium.rankers.base import BaseRanker
from podium.rankers.floors import BestFeature, RandomRanker
from podium.rankers.lambdarank import LambdaRank
from podium.rankers.listwise import ListMLE, ListNet
from podium.rankers.pairties import PairTies
from podium.rankers.pairwise import RankNet, RankRegress, RankSVM
from podium.rankers.pmop import PMOP
from podium.rankers.pointwise import Regression
from podium.rankers.ranker import Ranker
from podium.rankers.structrank import StructRank
from podium.scorers.linear import Linear


@dataclass(frozen=True, slots=True)
class Method:
    """A method as a comparison knows it."""

    name: str
    build: Callable[..., BaseRanker]
    """An unfitted ranker from parameters by name, ``random_state`` among them."""
    summary: str
    reference: str
    family: str
    """``listwise``, ``pairwise``, ``pointwise`` or ``floor``."""
    grid: dict[str, list[Any]] = field(default_factory=dict)
    """Values to try for each parameter, all combinations."""
    stochastic: bool = False
    """Does the result depend on the order in which queries are seen?"""
    variant: bool = False
    """Another form of a method that stands in the table already: entered by name only, not by ``all``."""


def _best_feature(metric: Any = "ndcg@10", random_state: Any = None) -> BestFeature:
    return BestFeature(metric)


def _structrank_linear(
    topology: str = "full", l2: float = 1e-3, normalize: str | None = "standard", random_state: Any = None
) -> Ranker:
    loss = StructRankLoss(topology, learn_weights=False)
    return Ranker(loss, Linear(l2=l2), normalize=normalize, random_state=random_state)


_LANDMARKS = 1000  # training documents that kernel regression looks at: ten times faster than all of OHSUMED's

# The ranges hold what validation queries preferred on OHSUMED under either normalisation, and less for larger data.
# Losses are on different scales: ListMLE's is a sum over documents, so its penalties are larger.
METHODS: Mapping[str, Method] = {
    method.name: method
    for method in (
        Method(
            "listnet",
            ListNet,
            "cross entropy of who is first",
            "Cao et al., ICML 2007",
            "listwise",
            {"l2": [1e-4, 1e-3, 1e-2, 1e-1]},
        ),
        Method(
            "listmle",
            ListMLE,
            "Plackett-Luce likelihood of the order",
            "Xia et al., ICML 2008",
            "listwise",
            {"l2": [0.1, 1.0, 10.0, 100.0]},
        ),
        Method(
            "pmop",
            PMOP,
            "likelihood of the ordered partition, ties and all",
            "Truyen et al., SDM 2011",
            "listwise",
            {"l2": [1e-3, 1e-2, 1e-1, 1.0]},
        ),
        Method(
            "pmop-geometric",
            partial(PMOP, potential="geometric"),
            "PMOP with the geometric potential, exact",
            "Truyen et al., SDM 2011",
            "listwise",
            {"l2": [1e-2, 1e-1, 1.0, 10.0]},
            variant=True,
        ),
        *(
            Method(
                f"pmop-{method}",
                partial(PMOP, "geometric", method),
                f"PMOP with the geometric potential, sampled: {words}",
                "Truyen et al., SDM 2011",
                "listwise",
                {"l2": [1e-2, 1e-1, 1.0, 10.0]},
                stochastic=True,
                variant=True,
            )
            for method, words in (("gibbs", "Gibbs"), ("mh", "Metropolis-Hastings"))
        ),
        Method(
            "structrank",
            partial(StructRank, n_landmarks=_LANDMARKS),
            "all preferences of a list as one network, on kernel regression",
            "Huang & Frey, NIPS 2008",
            "listwise",
            {"radius": [5.0, 10.0, 20.0]},
            stochastic=True,
        ),
        *(
            Method(
                f"structrank-{topology}",
                partial(StructRank, topology, n_landmarks=_LANDMARKS),
                f"StructRank with the topology {topology!r}",
                "Huang & Frey, NIPS 2008",
                "listwise",
                {"radius": [5.0, 10.0, 20.0]},
                stochastic=True,
                variant=True,
            )
            for topology in ("random", "none")
        ),
        Method(
            "structrank-linear",
            _structrank_linear,
            "StructRank's loss on a linear scorer",
            "Huang & Frey, NIPS 2008",
            "listwise",
            {"l2": [1e-4, 1e-3, 1e-2, 1e-1]},
        ),
        Method(
            "ranknet",
            RankNet,
            "logistic loss on pairs",
            "Burges et al., ICML 2005",
            "pairwise",
            {"l2": [1e-4, 1e-2, 1e-1, 1.0]},
        ),
        Method(
            "davidson",
            PairTies,
            "pairs that may be tied, Davidson's model",
            "Davidson, JASA 1970",
            "pairwise",
            {"l2": [1e-4, 1e-3, 1e-2, 1e-1]},
        ),
        Method(
            "rao-kupper",
            partial(PairTies, model="rao-kupper"),
            "pairs that may be tied, Rao and Kupper's model",
            "Rao & Kupper, JASA 1967",
            "pairwise",
            {"l2": [1e-4, 1e-3, 1e-2, 1e-1]},
        ),
        Method(
            "ranksvm",
            RankSVM,
            "squared hinge loss on pairs",
            "Joachims, KDD 2002",
            "pairwise",
            {"l2": [1e-4, 1e-2, 1e-1, 1.0]},
        ),
        Method(
            "rankregress",
            RankRegress,
            "squared error on differences of pairs",
            "baseline of Truyen et al., SDM 2011",
            "pairwise",
            {"l2": [1e-4, 1e-2, 1e-1, 1.0]},
        ),
        Method(
            "lambdarank",
            LambdaRank,
            "pairs weighted by what swapping them does to NDCG",
            "Burges et al., NIPS 2006",
            "listwise",
            {"l2": [1e-4, 1e-2], "learning_rate": [0.01, 0.1]},
            stochastic=True,
        ),
        Method(
            "regression",
            Regression,
            "least squares on the grades",
            "folklore",
            "pointwise",
            {"l2": [1e-4, 1e-2, 1e-1, 1.0]},
        ),
        Method("best-feature", _best_feature, "the best single feature, up or down", "floor", "floor"),
        Method("random", RandomRanker, "chance", "floor", "floor"),
    )
}

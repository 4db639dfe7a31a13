"""The methods by name, each with the small grid of settings that a comparison searches on validation queries."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from podium.losses import ListMLELoss, ListNetLoss, PMOPLoss, StructRankLoss, WithRegression
from podium.losses.base import Loss
from podium.rankers.estimator import BaseRanker
from podium.rankers.presets.boltzrank import BoltzRank
from podium.rankers.presets.boosted import GBDT, GBRank, IntervalRank, IsotonicRank, LambdaMART, QueryOffset
from podium.rankers.presets.feature_boosting import AdaRank, FRank, RankBoost
from podium.rankers.presets.floors import BestFeature, RandomRanker
from podium.rankers.presets.lambdarank import LambdaRank
from podium.rankers.presets.listwise import ListMLE, ListNet
from podium.rankers.presets.pairties import PairTies
from podium.rankers.presets.pairwise import RankNet, RankRegress, RankSVM
from podium.rankers.presets.pmop import PMOP
from podium.rankers.presets.pointwise import Regression
from podium.rankers.presets.softrank import SoftRank
from podium.rankers.presets.structrank import StructRank
from podium.rankers.ranker import Ranker
from podium.rankers.spaces import LogUniform
from podium.scorers.linear.scorer import Linear
from podium.scorers.trees.scorer import Trees


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
    grid: dict[str, Sequence[Any]] = field(default_factory=dict)
    """Values to try for each parameter, all combinations; a :class:`~podium.rankers.spaces.Space` also says what lies
    between them, for searches that draw."""
    stochastic: bool = False
    """Does the result depend on the order in which queries are seen?"""
    variant: bool = False
    """Another form of a method that stands in the table already: entered by name only, not by ``all``."""
    kind: str = "weights"
    """Of its models: ``weights`` (one a feature: linear, or widths of a kernel), ``network``, ``trees`` or ``features``
    (single ones, weighted or cut by boosting)."""
    restarts: int = 1
    """Random starts that a comparison tries with each setting, each a trial of its own."""


_N_TREES = 200
"""Trees grown at most; as many are kept as are best on the validation queries, so their rate matters little."""
_TREES: dict[str, Sequence[Any]] = {"n_leaves": [4, 8, 16], "learning_rate": LogUniform(0.03, 0.1)}
_FEW: dict[str, Any] = {"n_trees": _N_TREES, "learning_rate": 0.05}


def _best_feature(metric: Any = "ndcg@10", random_state: Any = None) -> BestFeature:
    return BestFeature(metric)


def _structrank_linear(
    topology: str = "full", l2: float = 1e-3, normalize: str | None = "standard", random_state: Any = None
) -> Ranker:
    loss = StructRankLoss(topology, learn_weights=False)
    return Ranker(loss, Linear(l2=l2), normalize=normalize, random_state=random_state)


def _on_trees(
    loss: Callable[[], Loss],
    n_trees: int = _N_TREES,
    n_leaves: int = 31,
    learning_rate: float = 0.1,
    min_documents_in_leaf: int = 20,
    regression: float = 0.0,
    normalize: str | None = None,
    random_state: Any = None,
) -> Ranker:
    trees = Trees(n_trees, n_leaves, learning_rate, min_documents_in_leaf)
    whole = WithRegression(loss(), regression) if regression else loss()
    return Ranker(whole, trees, normalize=normalize, random_state=random_state)


# Networks are trained to their end, as in BoltzRank's paper, and validation queries choose between runs: the best of
# all epochs of all runs on a few queries would be luck.
_BOLTZRANK: dict[str, Sequence[Any]] = {
    "metric": ["ndcg@5", "map"],
    "weight": [0.5, 0.9],
}
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
            {"l2": LogUniform(1e-4, 1e-3, 1e-2, 1e-1)},
        ),
        Method(
            "listmle",
            ListMLE,
            "Plackett-Luce likelihood of the order",
            "Xia et al., ICML 2008",
            "listwise",
            {"l2": LogUniform(0.1, 1.0, 10.0, 100.0)},
        ),
        Method(
            "pmop",
            PMOP,
            "likelihood of the ordered partition, ties and all",
            "Truyen et al., SDM 2011",
            "listwise",
            {"l2": LogUniform(1e-3, 1e-2, 1e-1, 1.0)},
        ),
        Method(
            "pmop-geometric",
            partial(PMOP, potential="geometric"),
            "PMOP with the geometric potential, exact",
            "Truyen et al., SDM 2011",
            "listwise",
            {"l2": LogUniform(1e-2, 1e-1, 1.0, 10.0)},
            variant=True,
        ),
        *(
            Method(
                f"pmop-{method}",
                partial(PMOP, "geometric", method),
                f"PMOP with the geometric potential, sampled: {words}",
                "Truyen et al., SDM 2011",
                "listwise",
                {"l2": LogUniform(1e-2, 1e-1, 1.0, 10.0)},
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
            {"radius": LogUniform(5.0, 10.0, 20.0)},
            stochastic=True,
        ),
        *(
            Method(
                f"structrank-{topology}",
                partial(StructRank, topology, n_landmarks=_LANDMARKS),
                f"StructRank with the topology {topology!r}",
                "Huang & Frey, NIPS 2008",
                "listwise",
                {"radius": LogUniform(5.0, 10.0, 20.0)},
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
            {"l2": LogUniform(1e-4, 1e-3, 1e-2, 1e-1)},
        ),
        Method(
            "boltzrank",
            partial(BoltzRank, epochs=50, early_stopping=False, n_jobs=1),
            "expected metric under a Boltzmann distribution, on a small network",
            "Volkovs & Zemel, ICML 2009",
            "listwise",
            {"hidden": [3, 5, 10], **_BOLTZRANK},
            stochastic=True,
            kind="network",
        ),
        Method(
            "boltzrank-pairs",
            partial(BoltzRank, pairwise=True, epochs=50, early_stopping=False, n_jobs=1),
            "BoltzRank with potentials over pairs of documents",
            "Volkovs & Zemel, ICML 2009",
            "listwise",
            {"pool": ["sum", "mean"], **_BOLTZRANK},
            stochastic=True,
            variant=True,
            kind="network",
        ),
        Method(
            "softrank",
            partial(SoftRank, epochs=50, early_stopping=False, n_jobs=1),
            "NDCG expected under noisy scores",
            "Taylor et al., WSDM 2008",
            "listwise",
            {"sigma": LogUniform(0.3, 1.0), "l2": LogUniform(1e-4, 1e-3)},
            stochastic=True,
        ),
        Method(
            "ranknet",
            RankNet,
            "logistic loss on pairs",
            "Burges et al., ICML 2005",
            "pairwise",
            {"l2": LogUniform(1e-4, 1e-2, 1e-1, 1.0)},
        ),
        Method(
            "davidson",
            PairTies,
            "pairs that may be tied, Davidson's model",
            "Davidson, JASA 1970",
            "pairwise",
            {"l2": LogUniform(1e-4, 1e-3, 1e-2, 1e-1)},
        ),
        Method(
            "rao-kupper",
            partial(PairTies, model="rao-kupper"),
            "pairs that may be tied, Rao and Kupper's model",
            "Rao & Kupper, JASA 1967",
            "pairwise",
            {"l2": LogUniform(1e-4, 1e-3, 1e-2, 1e-1)},
        ),
        Method(
            "ranksvm",
            RankSVM,
            "squared hinge loss on pairs",
            "Joachims, KDD 2002",
            "pairwise",
            {"l2": LogUniform(1e-4, 1e-2, 1e-1, 1.0)},
        ),
        Method(
            "rankregress",
            RankRegress,
            "squared error on differences of pairs",
            "baseline of Truyen et al., SDM 2011",
            "pairwise",
            {"l2": LogUniform(1e-4, 1e-2, 1e-1, 1.0)},
        ),
        Method(
            "lambdarank",
            LambdaRank,
            "pairs weighted by what swapping them does to NDCG",
            "Burges et al., NIPS 2006",
            "listwise",
            {"l2": LogUniform(1e-4, 1e-2), "learning_rate": LogUniform(0.01, 0.1)},
            stochastic=True,
        ),
        *(
            Method(
                f"adarank-{name}",
                partial(AdaRank, metric),
                f"features weighted by the {metric} of badly ranked queries",
                "Xu & Li, SIGIR 2007",
                "listwise",
                {"direction": ["up", "both"]},
                variant=name == "ndcg",
                kind="features",
            )
            for name, metric in (("map", "map"), ("ndcg", "ndcg@10"))
        ),
        *(
            Method(
                name,
                partial(ranker, early_stopping=False),
                f"rules on single features, boosted by the {loss} loss of pairs",
                reference,
                "pairwise",
                {"direction": ["up", "both"], "n_rounds": [30, 100, 300]},
                kind="features",
            )
            for name, ranker, loss, reference in (
                ("rankboost", RankBoost, "exponential", "Freund et al., JMLR 2003"),
                ("frank", FRank, "fidelity", "Tsai et al., SIGIR 2007"),
            )
        ),
        Method(
            "regression",
            Regression,
            "least squares on the grades",
            "folklore",
            "pointwise",
            {"l2": LogUniform(1e-4, 1e-2, 1e-1, 1.0)},
        ),
        Method(
            "gbdt",
            partial(GBDT, n_trees=_N_TREES),
            "boosted trees, least squares on the grades",
            "Friedman, Annals of Statistics 2001",
            "pointwise",
            _TREES,
            kind="trees",
        ),
        Method(
            "lambdamart",
            partial(LambdaMART, n_trees=_N_TREES),
            "boosted trees on LambdaRank's gradients",
            "Wu et al., Information Retrieval 2010",
            "listwise",
            _TREES,
            kind="trees",
        ),
        Method(
            "intervalrank",
            partial(IntervalRank, **_FEW),
            "boosted trees, grades in separate intervals",
            "Moon et al., WSDM 2010",
            "listwise",
            {"n_leaves": [4, 16], "separation": LogUniform(1.0, 10.0, 100.0)},
            kind="trees",
        ),
        Method(
            "intervalrank-reg",
            partial(IntervalRank, separation=10.0, **_FEW),
            "IntervalRank with a regression term",
            "Moon et al., WSDM 2010",
            "listwise",
            {"n_leaves": [4, 16], "regression": LogUniform(0.01, 0.1, 1.0)},
            variant=True,
            kind="trees",
        ),
        Method(
            "gbrank",
            partial(GBRank, **_FEW),
            "boosted trees, squared hinge on pairs with margins",
            "Zheng et al., NIPS 2007",
            "pairwise",
            {"n_leaves": [4, 16], "ties": [0.0, 0.1, 1.0]},
            kind="trees",
        ),
        Method(
            "gbrank-reg",
            partial(GBRank, **_FEW),
            "GBRank with a regression term",
            "Moon et al., WSDM 2010",
            "pairwise",
            {"n_leaves": [4, 16], "regression": LogUniform(0.01, 0.1, 1.0)},
            variant=True,
            kind="trees",
        ),
        Method(
            "isotonicrank",
            partial(IsotonicRank, n_trees=_N_TREES),
            "boosted trees, least change that orders the pairs",
            "Zheng et al., Allerton 2008",
            "listwise",
            _TREES,
            variant=True,
            kind="trees",
        ),
        Method(
            "query-offset",
            partial(QueryOffset, n_trees=_N_TREES),
            "boosted trees, least squares up to a constant for each query",
            "Moon et al., WSDM 2010",
            "listwise",
            _TREES,
            variant=True,
            kind="trees",
        ),
        *(
            Method(
                f"{name}-trees",
                partial(_on_trees, loss),
                f"{title}'s loss on boosted trees",
                reference,
                "listwise",
                _TREES,
                variant=True,
                kind="trees",
            )
            for name, title, loss, reference in (
                ("listmle", "ListMLE", ListMLELoss, "Xia et al., ICML 2008"),
                ("listnet", "ListNet", ListNetLoss, "Cao et al., ICML 2007"),
                ("pmop", "PMOP", PMOPLoss, "Truyen et al., SDM 2011"),
            )
        ),
        Method(
            "listmle-trees-reg",
            partial(_on_trees, ListMLELoss, **_FEW),
            "ListMLE's loss on boosted trees with a regression term",
            "Moon et al., WSDM 2010",
            "listwise",
            {"n_leaves": [4, 16], "regression": LogUniform(0.01, 0.1, 1.0)},
            variant=True,
            kind="trees",
        ),
        Method("best-feature", _best_feature, "the best single feature, up or down", "floor", "floor"),
        Method("random", RandomRanker, "chance", "floor", "floor"),
    )
}

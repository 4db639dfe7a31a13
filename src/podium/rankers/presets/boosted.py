"""Presets on boosted trees: their base class, what their searches share, and those whose losses are made for trees."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from podium.core.parameters import choice, count, number
from podium.core.random_state import seed_of
from podium.losses import (
    GBRankLoss,
    IntervalRankLoss,
    IsotonicLoss,
    LambdaRankLoss,
    Loss,
    QueryOffsetLoss,
    RegressionLoss,
    WithRegression,
)
from podium.losses.pointwise import Targets
from podium.rankers.inputs import TrainingInput
from podium.rankers.methods import METHODS
from podium.rankers.repeating import repeated_fit
from podium.rankers.spaces import LogUniform
from podium.rankers.tree_methods import TreeMethods
from podium.scorers.trees.scorer import Trees
from podium.training import Boosting, Fit, Trainer

__all__ = ["GBDT", "GBRank", "IntervalRank", "IsotonicRank", "LambdaMART", "QueryOffset"]

ON_TREES: dict[str, Any] = {"kind": "trees", "stochastic": True}
_RATES = LogUniform(0.001, 0.01, 0.03, 0.1, 0.3, 1.0)
TREES: dict[str, Any] = {**ON_TREES, "grid": {"n_leaves": [2, 4, 16, 128], "learning_rate": _RATES}}
FEW_LEAVES: dict[str, Sequence[Any]] = {"n_leaves": [2, 4, 16, 256]}
REGRESSION = {**FEW_LEAVES, "regression": LogUniform(0.0, 0.01, 0.1, 1.0, 30.0, 1000.0)}
FEW_DOCUMENTS, REPEATS_OF_FEW = 100_000, 3
"""Up to how many documents ``repeats=None`` means how many fits."""
_SAMPLED: dict[str, Any] = {"query_fraction": None, "feature_fraction": None}


class BoostedPreset(TreeMethods):
    """Trees grown on the loss of the subclass.

    Parameters
    ----------
    n_trees : int, optional
        Trees to grow, at most. By default 150 to 300, by the size of the data, or three times as many with validation
        queries, which tell when to stop.
    n_leaves : int, optional
        Leaves per tree, at most. By default 7 for up to 40,000 documents, 15 for up to 200,000, 31 for up to a
        million, else 63.
    learning_rate : float
        Factor of each tree's values.
    min_documents_in_leaf : int, optional
        Training documents per leaf, at least. By default one in 200, from 5 to 50.
    l2 : float
        Penalty on the values of leaves.
    tree_options : mapping, optional
        Any other parameter of :class:`podium.scorers.Trees`: ``{"query_fraction": 0.5, "monotone": {0: 1}}``. By
        default each tree sees 70 % of the queries (if there are 20) and half of the features (if there are 10).
    patience : int, optional
        With validation queries: stop after this many trees without a better validation metric. The number of trees
        that is best on them is kept either way. None grows all trees.
    repeats : int, optional
        Fits with consecutive seeds, from ``random_state`` on, whose mean is the model: one larger sum of trees, which
        varies less from seed to seed. None: 3 for up to 100,000 documents, where fits differ most, else 1.
    normalize : {None, "minmax", "zscore", "robust", "standard"}
        Rescaling within each query (then ``predict`` needs ``qid``). Trees need no other: the last two do nothing.
    """

    n_trees: int | None = None
    n_leaves: int | None = None
    learning_rate: float = 0.05
    min_documents_in_leaf: int | None = None
    l2: float = 0.0
    tree_options: Mapping[str, Any] | None = None
    patience: int | None = 50
    repeats: int | None = count(1, optional=True)
    normalize: str | None = None

    def _train(self, given: TrainingInput) -> Fit:
        few = given.queries.n_documents <= FEW_DOCUMENTS
        repeats = (REPEATS_OF_FEW if few else 1) if self.repeats is None else self.repeats
        return super()._train(given) if repeats == 1 else repeated_fit(self, given, repeats)

    def _scorer(self) -> Trees:
        named = (self.n_trees, self.n_leaves, self.learning_rate, self.min_documents_in_leaf, self.l2)
        return Trees(*named, **{**_SAMPLED, **(self.tree_options or {})})

    def _trainer(self) -> Trainer:
        return Boosting(self.patience)


class LossOnTrees(BoostedPreset):
    """Trees grown on a loss that other presets put on linear scorers.

    Parameters
    ----------
    loss : Loss
        What it draws at random, it draws with the ranker's seed.
    regression : float
        Weight of squared errors on the grades that are added to the loss.
    """

    loss: Loss
    regression: float = 0.0

    def _loss(self) -> Loss:
        loss = self.loss.seeded(seed_of(self.random_state))
        return WithRegression(loss, self.regression) if self.regression else loss


class LambdaMART(BoostedPreset):
    """LambdaMART: trees on RankNet's gradients, each pair weighted by the change in a metric when it is swapped.

    Wu, Burges, Svore, Gao: Adapting boosting for information retrieval measures. Information Retrieval 2010.
    Gradients are normalized per query, as in LightGBM.

    Parameters
    ----------
    metric : str
        The metric whose changes weigh the pairs, under any convention.
    truncation : int, optional
        Pairs count only if one of the two is among the first so many; None counts all.
    sigma : float
        Steepness of RankNet's logistic function.
    debias : {None, "pairwise", "additive"}
        Learn from a log of clicks with sessions, ``fit(clicks)``, and what places did beside the trees, as other
        packages do: each list that was shown is a list, its labels are the clicks. ``"pairwise"``: losses of pairs are
        divided by factors of both places (Unbiased LambdaMART; XGBoost's ``lambdarank_unbiased``). ``"additive"``:
        places add to scores (LightGBM's ``position`` field).
    debias_penalty : float
        What draws these to none: of ``"pairwise"``, factors are taken to the power 1 / (1 + penalty); of
        ``"additive"``, half the penalty times the square of what a place adds, per document shown there, is added to
        the loss.

    Attributes
    ----------
    bias_ : object
        With ``debias``: ``propensities_`` and ``negative_propensities_``, or ``additive_``, one number per place.

    Examples
    --------
    >>> import podium
    >>> queries = podium.make_queries(n_queries=50, n_documents=10, n_features=5)
    >>> ranker = podium.LambdaMART(n_trees=20, random_state=0).fit(queries)
    >>> ranker.score(queries) > 0.8, ranker.contributions(queries).shape == (queries.n_documents, 6)
    (True, True)
    """

    metric: str = "ndcg"
    truncation: int | None = 30
    sigma: float = 1.0
    debias: str | None = choice(None, "pairwise", "additive")
    debias_penalty: float = number(0.0, at_least=0)

    def _loss(self) -> Loss:
        seed = seed_of(self.random_state)
        debiased: dict[str, Any] = {"debias": self.debias, "debias_penalty": self.debias_penalty}
        return LambdaRankLoss(
            self.metric, self.truncation, self.sigma, truncated_ideal=True, random_state=seed, **debiased
        )


class GBDT(BoostedPreset):
    """Boosted regression on the grades: what ranking losses on trees have to beat.

    Friedman: Greedy function approximation: a gradient boosting machine. Annals of Statistics 2001. Every document
    counts the same, in long lists and short ones.

    Parameters
    ----------
    targets : "identity", None or a sequence
        What is regressed on: the grade, 2^grade − 1, or a number for each of the grades 0, 1, 2 and so on.

    Examples
    --------
    >>> import podium
    >>> queries = podium.make_queries(n_queries=50, n_documents=10, n_features=5)
    >>> ranker = podium.GBDT(n_trees=20, random_state=0).fit(queries)
    >>> ranker.score(queries) > 0.8, ranker.feature_importances_.shape
    (True, (5,))
    """

    targets: Targets = "identity"

    def _loss(self) -> Loss:
        return RegressionLoss(normalize=False, targets=self.targets)


class QueryOffset(GBDT):
    """Boosted regression on the grades up to a constant for each query: only differences within a list count.

    Equation 3 of the IntervalRank paper.

    Examples
    --------
    >>> import podium
    >>> queries = podium.make_queries(n_queries=50, n_documents=10, n_features=5)
    >>> ranker = podium.QueryOffset(n_trees=20, targets=[0, 1, 4], random_state=0).fit(queries)
    >>> ranker.score(queries) > 0.8
    True
    """

    def _loss(self) -> Loss:
        return QueryOffsetLoss(normalize=False, targets=self.targets)


class GBRank(BoostedPreset):
    """GBRank: a squared hinge on pairs, with the margin that their targets ask for, and a pull between equal grades.

    Zheng, Zha, Zhang, Chapelle, Chen, Sun: A general boosting method and its application to learning ranking functions
    for web search. NIPS 2007.

    Parameters
    ----------
    ties : float
        Weight of the pull between equal grades.
    regression : float
        Weight of squared errors on the targets; above 0, this is the IntervalRank paper's GBRank_Reg.
    targets : None, "identity" or a sequence
        2^grade − 1, the grade, or a number for each of the grades 0, 1, 2 and so on.

    Examples
    --------
    >>> import podium
    >>> queries = podium.make_queries(n_queries=50, n_documents=10, n_features=5)
    >>> ranker = podium.GBRank(n_trees=20, ties=0.5, random_state=0).fit(queries)
    >>> ranker.score(queries) > 0.8
    True
    """

    ties: float = 0.1
    regression: float = 0.0
    targets: Targets = None

    def _loss(self) -> Loss:
        return GBRankLoss(self.ties, self.regression, self.targets)


class IntervalRank(BoostedPreset):
    """IntervalRank: scores move as little as they must for the grades to lie in separate, narrow intervals.

    Moon, Smola, Chang, Zheng: IntervalRank: isotonic regression with listwise and pairwise constraints. WSDM 2010.

    Parameters
    ----------
    separation : float
        Cost of missing distance between neighboring grades, the paper's λ1.
    width : float
        Cost of the width of a grade's interval, the paper's λ2.
    regression : float
        Weight of squared errors on the targets, the paper's λ3; above 0, this is its IntervalRank_Reg. The paper's
        plain form, called ``intervalrank`` in comparisons, is 0 (with ``separation=100``); the default is the best of
        six values on two sets.
    targets : None, "identity" or a sequence
        2^grade − 1, the grade, or a number for each of the grades 0, 1, 2 and so on.
    barrier : float, optional
        See :class:`podium.losses.IntervalRankLoss`.

    Examples
    --------
    >>> import podium
    >>> queries = podium.make_queries(n_queries=50, n_documents=10, n_features=5)
    >>> ranker = podium.IntervalRank(n_trees=20, separation=100.0, random_state=0).fit(queries)
    >>> ranker.score(queries) > 0.8
    True
    """

    separation: float = 1.0
    width: float = 1.0
    regression: float = 1.0
    targets: Targets = None
    barrier: float | None = None

    def _loss(self) -> Loss:
        return IntervalRankLoss(self.separation, self.width, self.regression, self.targets, self.barrier)


class IsotonicRank(BoostedPreset):
    """Isotonic ranking: the least change of scores after which every pair is as far apart as its targets.

    Zheng, Zha, Sun: Query-level learning to rank using isotonic regression. Allerton 2008 (equation 5 of the
    IntervalRank paper).

    Parameters
    ----------
    targets : None, "identity" or a sequence
        Where grades should be: 2^grade − 1, the grade, or a number for each of the grades 0, 1, 2 and so on.

    Examples
    --------
    >>> import podium
    >>> queries = podium.make_queries(n_queries=50, n_documents=10, n_features=5)
    >>> ranker = podium.IsotonicRank(n_trees=20, targets="identity", random_state=0).fit(queries)
    >>> ranker.score(queries) > 0.8
    True
    """

    targets: Targets = None

    def _loss(self) -> Loss:
        return IsotonicLoss(self.targets)


_WU, _FRIEDMAN = "Wu et al., Information Retrieval 2010", "Friedman, Annals of Statistics 2001"
_MOON = "Moon et al., WSDM 2010"
METHODS.add("lambdamart", LambdaMART, "boosted trees on LambdaRank's gradients", _WU, "listwise", **TREES)
METHODS.add("gbdt", GBDT, "boosted trees, least squares on the grades", _FRIEDMAN, "pointwise", **TREES)
METHODS.add_variant(
    "gbdt",
    "query-offset",
    QueryOffset,
    "boosted trees, least squares up to a constant for each query",
    reference=_MOON,
    family="listwise",
)
METHODS.add(
    "gbrank",
    GBRank,
    "boosted trees, squared hinge on pairs with margins",
    "Zheng et al., NIPS 2007",
    "pairwise",
    {**FEW_LEAVES, "ties": LogUniform(0.0, 0.01, 0.1, 1.0, 10.0, 100.0)},
    **ON_TREES,
)
_WITH_REGRESSION = partial(GBRank, regression=0.1), "GBRank with a regression term"
METHODS.add_variant("gbrank", "gbrank-reg", *_WITH_REGRESSION, reference=_MOON, grid=REGRESSION)
METHODS.add(
    "intervalrank",
    partial(IntervalRank, separation=100.0, regression=0.0),
    "boosted trees, grades in separate intervals",
    _MOON,
    "listwise",
    {**FEW_LEAVES, "separation": LogUniform(0.1, 1.0, 10.0, 100.0, 1000.0, 10000.0)},
    **ON_TREES,
)
_WITH_REGRESSION = partial(IntervalRank, separation=100.0, regression=0.1), "IntervalRank with a regression term"
METHODS.add_variant("intervalrank", "intervalrank-reg", *_WITH_REGRESSION, grid=REGRESSION)
METHODS.add_variant(
    "intervalrank",
    "isotonicrank",
    IsotonicRank,
    "boosted trees, least change that orders the pairs",
    reference="Zheng et al., Allerton 2008",
    **TREES,
)

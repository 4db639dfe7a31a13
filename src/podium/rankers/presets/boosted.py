"""The presets on boosted trees: a loss each, one learner for all."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from podium.losses import GBRankLoss, IntervalRankLoss, IsotonicLoss, LambdaRankLoss, QueryOffsetLoss, RegressionLoss
from podium.losses.base import Loss
from podium.losses.targets import Targets
from podium.rankers.tree_methods import TreeMethods
from podium.scorers.trees.scorer import Trees
from podium.training.base import Trainer
from podium.training.boosting import Boosting


class BoostedPreset(TreeMethods):
    """Trees grown on the loss of the subclass.

    Parameters
    ----------
    n_trees, n_leaves, learning_rate, min_documents_in_leaf, l2
        See :class:`podium.scorers.Trees`.
    tree_options : mapping, optional
        Any other parameter of :class:`podium.scorers.Trees`: ``{"query_fraction": 0.5, "monotone": {0: 1}}``.
    patience : int, optional
        With validation queries: stop after this many trees without a better validation metric. The number of
        trees that is best on them is kept either way.
    normalize : {None, "minmax", "zscore", "standard"}
        Rescaling within each query (then ``predict`` needs ``qid``). Trees need no other: ``"standard"`` does nothing.
    random_state : int, optional
    verbose : int
        1 prints a line for each tree.
    """

    def __init__(
        self,
        n_trees: int = 100,
        n_leaves: int = 31,
        learning_rate: float = 0.1,
        min_documents_in_leaf: int = 20,
        l2: float = 0.0,
        tree_options: Mapping[str, Any] | None = None,
        patience: int | None = None,
        normalize: str | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.n_trees = n_trees
        self.n_leaves = n_leaves
        self.learning_rate = learning_rate
        self.min_documents_in_leaf = min_documents_in_leaf
        self.l2 = l2
        self.tree_options = tree_options
        self.patience = patience
        self.normalize = normalize
        self.random_state = random_state
        self.verbose = verbose

    def _scorer(self) -> Trees:
        named = (self.n_trees, self.n_leaves, self.learning_rate, self.min_documents_in_leaf, self.l2)
        return Trees(*named, **(self.tree_options or {}))

    def _trainer(self) -> Trainer:
        return Boosting(self.patience)


class GBDT(BoostedPreset):
    """Boosted regression on the grades: what ranking losses on trees have to beat.

    Friedman: Greedy function approximation: a gradient boosting machine. Annals of Statistics 2001.

    Parameters
    ----------
    targets : "identity", None or a sequence
        What is regressed on: the grade, 2^grade − 1, or a number for each of the grades 0, 1, 2, …
    n_trees, n_leaves, learning_rate, min_documents_in_leaf, l2, tree_options, patience, normalize, random_state,
    verbose
        See :class:`BoostedPreset`. Every document counts the same, in long lists and short ones.
    """

    def __init__(
        self,
        targets: Targets = "identity",
        n_trees: int = 100,
        n_leaves: int = 31,
        learning_rate: float = 0.1,
        min_documents_in_leaf: int = 20,
        l2: float = 0.0,
        tree_options: Mapping[str, Any] | None = None,
        patience: int | None = None,
        normalize: str | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        shared = (tree_options, patience, normalize, random_state, verbose)
        super().__init__(n_trees, n_leaves, learning_rate, min_documents_in_leaf, l2, *shared)
        self.targets = targets

    def _loss(self) -> Loss:
        return RegressionLoss(normalize=False, targets=self.targets)


class LambdaMART(BoostedPreset):
    """LambdaMART: trees on RankNet's gradients, each pair weighted by what swapping it does to a metric.

    Wu, Burges, Svore, Gao: Adapting boosting for information retrieval measures. Information Retrieval 2010.

    Parameters
    ----------
    metric, truncation, sigma
        See :class:`podium.losses.LambdaRankLoss`; its normalisation and ``truncated_ideal`` are on, as in LightGBM.
    n_trees, n_leaves, learning_rate, min_documents_in_leaf, l2, tree_options, patience, normalize, random_state,
    verbose
        See :class:`BoostedPreset`.

    Examples
    --------
    >>> import podium
    >>> queries = podium.make_queries(n_queries=50, n_documents=10, n_features=5)
    >>> ranker = podium.LambdaMART(n_trees=20, random_state=0).fit(queries)
    >>> ranker.score(queries) > 0.8, ranker.contributions(queries).shape == (queries.n_documents, 6)
    (True, True)
    """

    def __init__(
        self,
        metric: str = "ndcg",
        truncation: int | None = 30,
        sigma: float = 1.0,
        n_trees: int = 100,
        n_leaves: int = 31,
        learning_rate: float = 0.1,
        min_documents_in_leaf: int = 20,
        l2: float = 0.0,
        tree_options: Mapping[str, Any] | None = None,
        patience: int | None = None,
        normalize: str | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        shared = (tree_options, patience, normalize, random_state, verbose)
        super().__init__(n_trees, n_leaves, learning_rate, min_documents_in_leaf, l2, *shared)
        self.metric = metric
        self.truncation = truncation
        self.sigma = sigma

    def _loss(self) -> Loss:
        return LambdaRankLoss(self.metric, self.truncation, self.sigma, truncated_ideal=True)


class GBRank(BoostedPreset):
    """GBRank: a squared hinge on pairs, with the margin that their targets ask for, and a pull between equal grades.

    Zheng, Zha, Zhang, Chapelle, Chen, Sun: A general boosting method and its application to learning ranking functions
    for web search. NIPS 2007.

    Parameters
    ----------
    ties, regression, targets
        See :class:`podium.losses.GBRankLoss`; ``regression`` above 0 is the IntervalRank paper's GBRank_Reg.
    n_trees, n_leaves, learning_rate, min_documents_in_leaf, l2, tree_options, patience, normalize, random_state,
    verbose
        See :class:`BoostedPreset`.
    """

    def __init__(
        self,
        ties: float = 0.1,
        regression: float = 0.0,
        targets: Targets = None,
        n_trees: int = 100,
        n_leaves: int = 31,
        learning_rate: float = 0.1,
        min_documents_in_leaf: int = 20,
        l2: float = 0.0,
        tree_options: Mapping[str, Any] | None = None,
        patience: int | None = None,
        normalize: str | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        shared = (tree_options, patience, normalize, random_state, verbose)
        super().__init__(n_trees, n_leaves, learning_rate, min_documents_in_leaf, l2, *shared)
        self.ties = ties
        self.regression = regression
        self.targets = targets

    def _loss(self) -> Loss:
        return GBRankLoss(self.ties, self.regression, self.targets)


class IntervalRank(BoostedPreset):
    """IntervalRank: scores move as little as they must for the grades to lie in separate, narrow intervals.

    Moon, Smola, Chang, Zheng: IntervalRank: isotonic regression with listwise and pairwise constraints. WSDM 2010.

    Parameters
    ----------
    separation, width, regression, targets, barrier
        See :class:`podium.losses.IntervalRankLoss`; ``regression`` above 0 is the paper's IntervalRank_Reg.
    n_trees, n_leaves, learning_rate, min_documents_in_leaf, l2, tree_options, patience, normalize, random_state,
    verbose
        See :class:`BoostedPreset`.
    """

    def __init__(
        self,
        separation: float = 1.0,
        width: float = 1.0,
        regression: float = 0.0,
        targets: Targets = None,
        barrier: float | None = None,
        n_trees: int = 100,
        n_leaves: int = 31,
        learning_rate: float = 0.1,
        min_documents_in_leaf: int = 20,
        l2: float = 0.0,
        tree_options: Mapping[str, Any] | None = None,
        patience: int | None = None,
        normalize: str | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        shared = (tree_options, patience, normalize, random_state, verbose)
        super().__init__(n_trees, n_leaves, learning_rate, min_documents_in_leaf, l2, *shared)
        self.separation = separation
        self.width = width
        self.regression = regression
        self.targets = targets
        self.barrier = barrier

    def _loss(self) -> Loss:
        return IntervalRankLoss(self.separation, self.width, self.regression, self.targets, self.barrier)


class IsotonicRank(BoostedPreset):
    """Isotonic ranking: the least change of scores after which every pair is as far apart as its targets.

    Zheng, Zha, Sun: Query-level learning to rank using isotonic regression. Allerton 2008 (equation 5 of the
    IntervalRank paper).

    Parameters
    ----------
    targets : None, "identity" or a sequence
        Where grades should be, see :class:`podium.losses.IsotonicLoss`.
    n_trees, n_leaves, learning_rate, min_documents_in_leaf, l2, tree_options, patience, normalize, random_state,
    verbose
        See :class:`BoostedPreset`.
    """

    def __init__(
        self,
        targets: Targets = None,
        n_trees: int = 100,
        n_leaves: int = 31,
        learning_rate: float = 0.1,
        min_documents_in_leaf: int = 20,
        l2: float = 0.0,
        tree_options: Mapping[str, Any] | None = None,
        patience: int | None = None,
        normalize: str | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        shared = (tree_options, patience, normalize, random_state, verbose)
        super().__init__(n_trees, n_leaves, learning_rate, min_documents_in_leaf, l2, *shared)
        self.targets = targets

    def _loss(self) -> Loss:
        return IsotonicLoss(self.targets)


class QueryOffset(GBDT):
    """Regression on the grades up to a constant for each query: only differences within a list count.

    Equation 3 of the IntervalRank paper.

    Parameters
    ----------
    targets : "identity", None or a sequence
        What is regressed on, see :class:`podium.losses.QueryOffsetLoss`.
    n_trees, n_leaves, learning_rate, min_documents_in_leaf, l2, tree_options, patience, normalize, random_state,
    verbose
        See :class:`BoostedPreset`.
    """

    def _loss(self) -> Loss:
        return QueryOffsetLoss(normalize=False, targets=self.targets)

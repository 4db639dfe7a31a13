"""Random forests: the mean of trees that are grown on queries drawn anew, under any loss."""

from collections.abc import Mapping
from typing import Any

from podium.losses import Loss, RegressionLoss
from podium.rankers.methods import METHODS
from podium.rankers.presets.boosted import ON_TREES
from podium.rankers.tree_methods import TreeMethods
from podium.scorers.trees.scorer import Trees
from podium.training import Bagging, Trainer

__all__ = ["RandomForest"]


class RandomForest(TreeMethods):
    """Random forest: the mean of trees, each grown on queries drawn with replacement and on random features.

    Breiman: Random forests. Machine Learning 45, 2001. Whole queries are drawn, each with all its documents. Under
    squared errors, the default, a tree is a regression on the grades; under another loss it is one step from equal
    scores along the loss's gradient (:class:`podium.training.Bagging`).

    Parameters
    ----------
    loss : Loss, optional
        Any of :mod:`podium.losses`; squared errors on the grades if not given.
    n_trees : int
        Trees. All are kept; more vary less.
    n_leaves : int
        Leaves per tree, at most: trees of a forest are large, since their mean does what a penalty does elsewhere.
    min_documents_in_leaf : int
        Training documents per leaf, at least.
    feature_fraction : float
        Share of the features, drawn anew for each split.
    query_fraction : float
        Queries drawn with replacement for each tree, as a share of their number.
    tree_options : mapping, optional
        Any other parameter of :class:`podium.scorers.Trees`.
    normalize : {None, "minmax", "zscore", "robust", "standard"}
        Rescaling within each query (then ``predict`` needs ``qid``). Trees need no other: the last two do nothing.

    Examples
    --------
    >>> import podium
    >>> queries = podium.make_queries(n_queries=50, n_documents=10, n_features=5)
    >>> ranker = RandomForest(n_trees=20, random_state=0).fit(queries)
    >>> ranker.score(queries) > 0.8, ranker.model_.n_trees  # one holds the mean grade
    (True, 21)
    """

    loss: Loss | None = None
    n_trees: int = 200
    n_leaves: int = 64
    min_documents_in_leaf: int = 5
    feature_fraction: float = 0.3
    query_fraction: float = 1.0
    tree_options: Mapping[str, Any] | None = None
    normalize: str | None = None

    def _loss(self) -> Loss:
        if self.loss is None:
            return RegressionLoss(normalize=False)
        if not isinstance(self.loss, Loss):
            raise ValueError(f"loss must be one of podium.losses, such as RankNetLoss(); got {self.loss!r}")
        return self.loss

    def _scorer(self) -> Trees:
        options = {"curvature": True, **(self.tree_options or {})}
        drawn = {"feature_fraction_bynode": self.feature_fraction, **(options.pop("lightgbm_params", None) or {})}
        return Trees(
            self.n_trees,
            self.n_leaves,
            learning_rate=1.0,
            min_documents_in_leaf=self.min_documents_in_leaf,
            query_fraction=self.query_fraction,
            lightgbm_params=drawn,
            **options,
        )

    def _trainer(self) -> Trainer:
        return Bagging()


METHODS.add(
    "random-forest",
    RandomForest,
    "the mean of trees on queries drawn anew, least squares on the grades",
    "Breiman, Machine Learning 2001",
    "pointwise",
    {"n_leaves": [2, 4, 16, 64, 256, 1024], "feature_fraction": [0.01, 0.1, 0.3, 1.0]},
    **ON_TREES,
)

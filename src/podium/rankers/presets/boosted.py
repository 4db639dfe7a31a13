"""Base class of presets on boosted trees, and what their searches share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from podium.losses import Loss, WithRegression
from podium.rankers.spaces import LogUniform
from podium.rankers.tree_methods import TreeMethods
from podium.scorers.trees.scorer import Trees
from podium.training.base import Trainer
from podium.training.boosting import Boosting

N_TREES = 200
"""Trees grown at most in a comparison, which keeps as many as are best on the validation queries: their rate matters
little."""
MODERATE: dict[str, Any] = {"n_trees": N_TREES, "learning_rate": 0.05}
TREES: dict[str, Any] = {"grid": {"n_leaves": [4, 8, 16], "learning_rate": LogUniform(0.03, 0.1)}, "kind": "trees"}
FEW_LEAVES: dict[str, Sequence[Any]] = {"n_leaves": [4, 16]}
REGRESSION = {**FEW_LEAVES, "regression": LogUniform(0.01, 0.1, 1.0)}


class BoostedPreset(TreeMethods):
    """Trees grown on the loss of the subclass.

    Parameters
    ----------
    n_trees : int
        Trees to grow, at most.
    n_leaves : int
        Leaves per tree, at most.
    learning_rate : float
        Factor of each tree's values.
    min_documents_in_leaf : int
        Training documents per leaf, at least.
    l2 : float
        Penalty on the values of leaves.
    tree_options : mapping, optional
        Any other parameter of :class:`podium.scorers.Trees`: ``{"query_fraction": 0.5, "monotone": {0: 1}}``.
    patience : int, optional
        With validation queries: stop after this many trees without a better validation metric. The number of trees
        that is best on them is kept either way.
    normalize : {None, "minmax", "zscore", "standard"}
        Rescaling within each query (then ``predict`` needs ``qid``). Trees need no other: ``"standard"`` does nothing.
    """

    n_trees: int = 100
    n_leaves: int = 31
    learning_rate: float = 0.1
    min_documents_in_leaf: int = 20
    l2: float = 0.0
    tree_options: Mapping[str, Any] | None = None
    patience: int | None = None
    normalize: str | None = None

    def _scorer(self) -> Trees:
        named = (self.n_trees, self.n_leaves, self.learning_rate, self.min_documents_in_leaf, self.l2)
        return Trees(*named, **(self.tree_options or {}))

    def _trainer(self) -> Trainer:
        return Boosting(self.patience)


class LossOnTrees(BoostedPreset):
    """Trees grown on a loss that other presets put on linear scorers.

    Parameters
    ----------
    loss : Loss
    regression : float
        Weight of squared errors on the grades that are added to the loss.
    """

    loss: Loss
    regression: float = 0.0
    n_trees: int = N_TREES

    def _loss(self) -> Loss:
        return WithRegression(self.loss, self.regression) if self.regression else self.loss

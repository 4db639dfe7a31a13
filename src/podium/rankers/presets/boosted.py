"""Base class of presets on boosted trees, and what their searches share."""

from collections.abc import Mapping, Sequence
from typing import Any

from podium.core.parameters import require_count
from podium.losses import Loss, WithRegression
from podium.rankers.inputs import TrainingInput
from podium.rankers.repeating import repeated_fit
from podium.rankers.spaces import LogUniform
from podium.rankers.tree_methods import TreeMethods
from podium.scorers.trees.scorer import Trees
from podium.training import Boosting, Fit, Trainer

ON_TREES: dict[str, Any] = {"kind": "trees", "stochastic": True}
TREES: dict[str, Any] = {**ON_TREES, "grid": {"n_leaves": [4, 8, 16], "learning_rate": LogUniform(0.03, 0.1)}}
FEW_LEAVES: dict[str, Sequence[Any]] = {"n_leaves": [4, 16]}
REGRESSION = {**FEW_LEAVES, "regression": LogUniform(0.01, 0.1, 1.0)}
WITH_REGRESSION: dict[str, Any] = {"regression": 0.1}
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
    repeats : int
        Fits with consecutive seeds, from ``random_state`` on, whose mean is the model: one larger sum of trees, which
        varies less from seed to seed.
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
    repeats: int = 1
    normalize: str | None = None

    def _train(self, given: TrainingInput) -> Fit:
        require_count("repeats", self.repeats)
        return super()._train(given) if self.repeats == 1 else repeated_fit(self, given, self.repeats)

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
    regression : float
        Weight of squared errors on the grades that are added to the loss.
    """

    loss: Loss
    regression: float = 0.0

    def _loss(self) -> Loss:
        return WithRegression(self.loss, self.regression) if self.regression else self.loss

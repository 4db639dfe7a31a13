"""A sum of trees: LightGBM's own text, nothing else."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from podium.core.later import required
from podium.core.parameters import require_choice
from podium.data.indexed import IndexedQueries
from podium.numerics.pool import LITTLE_WORK, n_threads
from podium.numerics.trees.evaluate import TreeEvaluator
from podium.numerics.trees.forest import Forest, read_forest
from podium.numerics.trees.lightgbm_text import mean_text
from podium.scorers.base import Arrays, Model, Queries, Scorer
from podium.scorers.linear.rows import as_rows

__all__ = ["TreesModel"]

DEEPEST = 1000
"""Nodes on the way to a leaf, for which LightGBM computes contributions by recursion."""


class TreesModel(Model):
    """A sum of trees, as LightGBM's text.

    Parameters
    ----------
    text : str
        What LightGBM writes to a model file.

    Examples
    --------
    >>> import podium
    >>> queries = podium.make_queries(n_queries=50, n_documents=10, n_features=5)
    >>> model = podium.LambdaMART(n_trees=5, random_state=0).fit(queries).model_
    >>> model.n_trees, model.n_features, model.feature_importance("split").shape
    (5, 5, (5,))
    """

    kind: ClassVar[str] = "trees"

    def __init__(self, text: str) -> None:
        self.text = text

    @cached_property
    def forest(self) -> Forest:
        """The trees as flat arrays; ValueError if the text is not that of proper trees."""
        return read_forest(self.text)

    @classmethod
    def mean(cls, models: Sequence[TreesModel]) -> Self:
        """Return the model whose scores are the mean of those of several: a sum of all their trees."""
        return cls(mean_text([model.text for model in models]))

    @property
    def n_features(self) -> int:  # type: ignore[override]
        """How many features the trees know."""
        return self.forest.n_features

    @property
    def n_trees(self) -> int:
        """How many trees there are."""
        return self.forest.n_trees

    @cached_property
    def booster(self) -> Any:
        """LightGBM's own object."""
        lightgbm = import_lightgbm()
        try:
            return lightgbm.Booster(model_str=self.text)
        except lightgbm.basic.LightGBMError as error:
            raise ValueError(f"LightGBM cannot read the model's trees: {error}") from None

    @cached_property
    def _evaluator(self) -> TreeEvaluator:
        return TreeEvaluator(self.forest)

    def scores(self, queries: Queries, n_trees: int | None = None) -> np.ndarray:
        """Return scores by all trees, or by some.

        Parameters
        ----------
        queries : Queries
            What to score.
        n_trees : int, optional
            Only the first so many count.

        Returns
        -------
        numpy.ndarray
            Scores, (n_documents,), in the grouped order.
        """
        if not isinstance(queries, IndexedQueries):
            return self._evaluator.scores(as_rows(queries.features), n_trees)
        return np.concatenate([np.empty(0), *(self._evaluator.scores(rows, n_trees) for rows in queries.blocks())])

    def staged_scores(self, queries: Queries) -> Iterator[np.ndarray]:
        """Yield scores after each tree."""
        rows, scores = as_rows(queries.features), np.zeros(queries.n_documents)
        for k in range(self.n_trees):
            scores = scores + TreeEvaluator(self.forest.tree(k)).scores(rows)
            yield scores

    contributions_method: ClassVar[str] = "SHAP values of the trees"

    def contributions(self, queries: Queries) -> np.ndarray:
        """Return (n_documents, n_features + 1) SHAP values: each feature's part in a score; last, the expected one."""
        if queries.n_documents == 0:
            return np.zeros((0, self.n_features + 1))
        if self.forest.is_deeper_than(DEEPEST):
            raise ValueError(f"a tree is more than {DEEPEST} nodes deep, too deep to compute contributions")
        threads = lightgbm_threads(work=1e3 * queries.n_documents)
        values = self.booster.predict(rows_for_lightgbm(queries), pred_contrib=True, num_threads=threads)
        return np.asarray(values.toarray() if hasattr(values, "toarray") else values, dtype=np.float64)

    def feature_importance(self, kind: str = "gain") -> np.ndarray:
        """Return (n_features,) the total gain of splits on each feature, or their number (``"split"``)."""
        require_choice("kind", kind, ("gain", "split"))
        forest = self.forest
        gain = forest.gain.astype(np.float32)  # LightGBM's type
        counted = np.where(gain > 0, gain if kind == "gain" else 1.0, 0.0)
        return np.bincount(forest.feature, counted, forest.n_features)

    def to_arrays(self) -> Arrays:
        return {"trees": self.text}

    @classmethod
    def from_arrays(cls, scorer: Scorer | None, arrays: Arrays) -> Self:
        text = arrays.get("trees")
        if not isinstance(text, str):
            raise ValueError("the model's 'trees' are missing")
        model = cls(text)
        _ = model.forest  # checks the text
        return model

    def __getstate__(self) -> dict[str, Any]:
        return {"text": self.text}  # everything else is made from it again


def rows_for_lightgbm(queries: Queries) -> Any:
    """Return the features, sparse ones as the class that LightGBM knows; nothing is copied."""
    from scipy import sparse

    return sparse.csr_matrix(queries.features) if queries.is_sparse else queries.features


def lightgbm_threads(work: float) -> int:
    """Return how many threads LightGBM may use for work of this many nanoseconds.

    Its OpenMP waits forever for threads that a fork did not copy; on one thread it needs none.
    """
    return 1 if work < LITTLE_WORK or _forked_with_lightgbm else n_threads()


_forked_with_lightgbm = False


def _after_fork() -> None:
    global _forked_with_lightgbm
    _forked_with_lightgbm = "lightgbm" in sys.modules


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def import_lightgbm() -> Any:
    """Return the package, which takes seconds to load; raise ImportError with what to do if it is missing."""
    return required("lightgbm", "lightgbm", "growing trees")

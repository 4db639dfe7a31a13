"""What can be asked of a fitted ranker whose scores are a sum of trees."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import numpy as np

from podium.core.atomic import atomic_write
from podium.data.queries import Queries
from podium.rankers.estimator import BaseRanker
from podium.scorers.trees.model import TreesModel


class TreeMethods(BaseRanker):
    """Importances, SHAP values, scores tree by tree, and LightGBM's own file, for rankers on boosted trees."""

    def feature_importance(self, kind: str = "gain") -> np.ndarray:
        """(n_features,) what splits on each feature gained in total, or how many there are (``kind="split"``)."""
        return self._trees().feature_importance(kind)

    @property
    def feature_importances_(self) -> np.ndarray:
        """(n_features,) each feature's share in the total gain of all splits, as scikit-learn's tools expect it."""
        if not isinstance(getattr(self, "model_", None), TreesModel):
            raise AttributeError(f"this {type(self).__name__} has no trees with importances")
        gain = self.feature_importance()
        return gain / (gain.sum() or 1.0)

    def contributions(self, X: Any, qid: Any = None) -> np.ndarray:
        """(n_documents, n_features + 1) SHAP values: each feature's part in a score, and the expected score last.

        A row's sum is the score. Rows as given; ``qid`` where :meth:`predict` needs it.
        """
        trees, queries = self._trees(), self._to_score(X, qid)
        return queries.restore(trees.contributions(self._as_trained(queries)))

    def staged_predict(self, X: Any, qid: Any = None) -> Iterator[np.ndarray]:
        """Scores by the first tree, the first two, and so on; each like :meth:`predict`'s."""
        trees, queries = self._trees(), self._to_score(X, qid)
        for scores in trees.staged_scores(self._as_trained(queries)):
            yield queries.restore(scores)

    def export_lightgbm(self, path: str | os.PathLike[str]) -> None:
        """Write the trees as LightGBM's text, for ``lightgbm.Booster(model_file=path)`` and whatever else reads it.

        Its predictions are this ranker's, on features as this ranker's trees see them: under ``normalize="minmax"`` or
        ``"zscore"``, those rescaled within each query.
        """
        with atomic_write(path, "w") as file:
            file.write(self._trees().text)

    def _as_trained(self, queries: Queries) -> Queries:
        return self._standardized(self._within_query(queries))

    def _trees(self) -> TreesModel:
        self._require_fitted()
        if not isinstance(self.model_, TreesModel):
            raise ValueError(f"this {type(self).__name__} has no trees: its scorer is {type(self._scorer()).__name__}")
        return self.model_

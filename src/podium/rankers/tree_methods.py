"""Methods of fitted rankers whose scores are a sum of trees."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from sklearn.utils.metaestimators import available_if

from podium.core.atomic import atomic_write
from podium.data.normalize import WITHIN_QUERY
from podium.rankers.estimator import BaseRanker
from podium.scorers.trees.model import TreesModel


def _has_trees(ranker: TreeMethods) -> bool:
    """Return whether the ranker's scorer makes trees; raise AttributeError, saying what it makes, if not."""
    scorer = ranker._scorer()
    if not issubclass(scorer.model_class, TreesModel):
        raise AttributeError(f"this {type(ranker).__name__} has no trees: its scorer is {type(scorer).__name__}")
    return True


_on_trees: Callable[[Any], Any] = available_if(_has_trees)


class TreeMethods(BaseRanker):
    """Importances, SHAP values, scores tree by tree and LightGBM's file format, where the scorer is made of trees.

    A ranker on any other scorer does not have these methods.
    """

    @_on_trees
    def feature_importance(self, kind: str = "gain") -> np.ndarray:
        """Return the total gain of the splits on each feature, or their number.

        Parameters
        ----------
        kind : {"gain", "split"}
            What is counted.

        Returns
        -------
        numpy.ndarray
            One number per feature.
        """
        return self._trees().feature_importance(kind)

    @property
    def feature_importances_(self) -> np.ndarray:
        """Return each feature's share in the total gain of all splits, as scikit-learn's tools expect it."""
        _has_trees(self)
        if not hasattr(self, "model_"):
            raise AttributeError(f"this {type(self).__name__} is not fitted yet, so it has no importances")
        gain = self.feature_importance()
        return gain / (gain.sum() or 1.0)

    @_on_trees
    def contributions(self, X: Any, qid: Any = None) -> np.ndarray:
        """Return SHAP values: each feature's part in a score.

        Parameters
        ----------
        X, qid : array, frame or Queries
            As in ``predict``.

        Returns
        -------
        numpy.ndarray
            Contributions (n_documents, n_features + 1), the expected score last; the sum of a row is the score.
        """
        trees, queries = self._trees(), self._to_score(X, qid)
        return queries.restore(trees.contributions(self._as_trained(queries)))

    @_on_trees
    def staged_predict(self, X: Any, qid: Any = None) -> Iterator[np.ndarray]:
        """Yield scores by the first tree, the first two, and so on; each like :meth:`predict`'s.

        Parameters
        ----------
        X, qid : array, frame or Queries
            As in ``predict``.

        Yields
        ------
        numpy.ndarray
            Scores (n_documents,).
        """
        trees, queries = self._trees(), self._to_score(X, qid)
        for scores in trees.staged_scores(self._as_trained(queries)):
            yield queries.restore(scores)

    @_on_trees
    def export_lightgbm(self, path: str | os.PathLike[str]) -> None:
        """Write the trees as LightGBM's text, for ``lightgbm.Booster(model_file=path)`` and whatever else reads it.

        ``podium.export(ranker, path, format="lightgbm")`` also takes names of features, and rules of single features.

        Parameters
        ----------
        path : path
            The file.

        Raises
        ------
        ValueError
            If features are rescaled within each query before they reach the trees, which LightGBM would not do.
        """
        self._require_fitted()
        if self.normalize in WITHIN_QUERY:
            raise ValueError(
                f"this {type(self).__name__} rescales features within each query (normalize={self.normalize!r}), and "
                "LightGBM would apply its trees to features as they come: train it with normalize=None, or see "
                "podium.distill"
            )
        with atomic_write(path, "w") as file:
            file.write(self._trees().text)

    def _trees(self) -> TreesModel:
        self._require_fitted()
        assert isinstance(self.model_, TreesModel)
        return self.model_

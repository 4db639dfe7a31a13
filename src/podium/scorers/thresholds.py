"""A sum of step functions, each of one feature."""

from collections.abc import Iterator
from typing import ClassVar, Self

import numpy as np
from scipy import sparse

from podium.data.features import Features
from podium.numerics.forward import step_part, step_tables
from podium.scorers.base import Arrays, Model, Queries, Scorer, require_array


class StepModel(Model):
    """``score(x) = Σ weight · [x[feature] > threshold]``.

    Steps of one feature are stored together, lowest threshold first, and equal ones are added up: scoring then takes
    one binary search per document and feature, however many rounds of boosting there were.
    """

    kind: ClassVar[str] = "steps"
    n_features: int

    def __init__(self, n_features: int, feature: np.ndarray, threshold: np.ndarray, weight: np.ndarray) -> None:
        self.n_features = n_features
        place, which = np.unique(np.column_stack((feature, threshold)), axis=0, return_inverse=True)
        self.feature = place[:, 0].astype(np.int64)
        self.threshold = np.ascontiguousarray(place[:, 1])
        self.weight = np.bincount(which.ravel(), weight, len(place))

    def scores(self, queries: Queries) -> np.ndarray:
        scores = np.zeros(queries.n_documents)
        for _, part in self._parts(queries):
            scores += part
        return scores

    contributions_method: ClassVar[str] = "exact: the score is a sum of rules on single features"

    def contributions(self, queries: Queries) -> np.ndarray:
        parts = np.zeros((queries.n_documents, self.n_features + 1))
        for j, part in self._parts(queries):
            parts[:, j] = part
        return parts

    def _parts(self, queries: Queries) -> Iterator[tuple[int, np.ndarray]]:
        """Yield each feature that has steps, and its part in each score, (n_documents,)."""
        features = by_column(queries.features)
        for table in step_tables(self.feature, self.threshold, self.weight):
            yield table[0], step_part(table, column(features, table[0]))

    def to_arrays(self) -> Arrays:
        return {
            "n_features": np.array(float(self.n_features)),
            "feature": self.feature.astype(np.float64),
            "threshold": self.threshold,
            "weight": self.weight,
        }

    @classmethod
    def from_arrays(cls, scorer: Scorer | None, arrays: Arrays) -> Self:
        n_features = float(require_array(arrays, "n_features", ()))
        feature = require_array(arrays, "feature", (None,))
        whole = n_features.is_integer() and (feature == np.floor(feature)).all()
        if not whole or (feature < 0).any() or (feature >= n_features).any():
            raise ValueError(f"the model's 'feature' must hold whole numbers from 0 to {n_features - 1:g}")
        shape = (len(feature),)
        return cls(
            int(n_features), feature, require_array(arrays, "threshold", shape), require_array(arrays, "weight", shape)
        )


class Steps(Scorer, model_class=StepModel, scale_free=True):
    """The scorer of rankers boosted from thresholds on single features."""


def by_column(features: Features) -> np.ndarray | sparse.csc_matrix:
    """Return features in a form from which :func:`column` is quick."""
    return features if isinstance(features, np.ndarray) else features.tocsc()


def column(features: np.ndarray | sparse.csc_matrix, j: int) -> np.ndarray:
    """Return one feature of all documents, (n_documents,) float64."""
    values = features[:, j] if isinstance(features, np.ndarray) else features[:, [j]].toarray()
    return values.astype(np.float64).ravel()

"""Loss and gradient of a linear model in one pass over the features.

For each query: scores, then the loss's kernel, then the query's part of the gradient, while its rows are still in the
processor's cache. Reading the features is what such a step costs, and two matrix products read them twice.
"""

from __future__ import annotations

import numpy as np

from podium.data.queries import Queries
from podium.losses.base import BoundLoss
from podium.numerics.loop import blocks_of_queries, n_partial_sums, new_sums
from podium.scorers.base import SmoothModel
from podium.scorers.linear.epoch import linear_routines
from podium.scorers.linear.scorer import LinearModel
from podium.training.objective import Objective


class FusedLinearObjective(Objective):
    """The objective of a linear model. Its bits do not depend on the number of threads."""

    model: LinearModel

    def __init__(self, model: LinearModel, bound: BoundLoss, queries: Queries) -> None:
        super().__init__(model, bound, queries)
        self._bounds = blocks_of_queries(queries.offsets, n_partial_sums(queries.n_documents, queries.n_features))
        self._scores = np.empty(queries.n_documents)
        self._d_scores = np.empty(queries.n_documents)
        self._sums = new_sums(len(self._bounds) - 1, bound.loss.n_parameters, queries.n_features + 1)

    def loss(self, model: SmoothModel, parameters: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        assert isinstance(model, LinearModel)
        routines = linear_routines(model, self.queries.features, self._scores, self._d_scores)
        sums = self.bound.visit(
            self._scores, self._d_scores, parameters, model=routines, bounds=self._bounds, sums=self._sums
        )
        value, *d_parameters = sums.totals.sum(axis=0)
        *d_coef, d_intercept = sums.gradient.sum(axis=0)
        return float(value), model.to_theta(np.array(d_coef), d_intercept), np.array(d_parameters)


def worth_fusing(queries: Queries) -> bool:
    """Return whether handing out whole queries keeps all cores busy: none is a large part of all documents."""
    return len(queries) > 0 and int(queries.sizes.max()) <= max(queries.n_documents / 16, 1000)

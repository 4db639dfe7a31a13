"""Loss and gradient of a linear model in one pass over the features.

For each query: scores, then the loss's kernel, then the query's part of the gradient, while its rows are still in the
processor's cache. Reading the features is what such a step costs, and two matrix products read them twice.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import prange

from podium.data.queries import Queries
from podium.losses.base import BoundLoss
from podium.numerics.calls import call_entry
from podium.numerics.compiling import ONLY_PRANGE, kept
from podium.scorers.base import SmoothModel
from podium.scorers.linear.rows import add_rows, as_rows, score_rows
from podium.scorers.linear.scorer import LinearModel, n_partial_sums
from podium.training.objective import Objective


class FusedLinearObjective(Objective):
    """The objective of a linear model. Its bits do not depend on the number of threads."""

    model: LinearModel

    def __init__(self, model: LinearModel, bound: BoundLoss, queries: Queries) -> None:
        super().__init__(model, bound, queries)
        self._rows = as_rows(queries.features)
        self._bounds = chunks_of_queries(queries.offsets, n_partial_sums(queries.n_documents, queries.n_features))
        self._scores = np.empty(queries.n_documents)
        self._d_scores = np.empty(queries.n_documents)
        n_chunks, n_parameters = len(self._bounds) - 1, bound.loss.n_parameters
        self._values = np.empty((n_chunks, 2))
        self._d_coef = np.empty((n_chunks, queries.n_features))
        self._d_parameters = np.empty((n_chunks, 2, n_parameters))

    def loss(self, model: SmoothModel, parameters: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        assert isinstance(model, LinearModel)
        call = self.bound.call(self._scores, self._d_scores, parameters)
        fused_pass(
            call.entry,
            call.address,
            self._rows,
            self.bound.offsets,
            self.bound.weights,
            self._bounds,
            model.coef,
            model.intercept,
            self._scores,
            self._d_scores,
            self._values,
            self._d_coef,
            self._d_parameters,
        )
        value, d_intercept = self._values.sum(axis=0)
        gradient = model.to_theta(self._d_coef.sum(axis=0), float(d_intercept))
        return float(value), gradient, self._d_parameters[:, 0].sum(axis=0)


def worth_fusing(queries: Queries) -> bool:
    """Whether handing out whole queries keeps all cores busy: none is a large part of all documents."""
    return len(queries) > 0 and int(queries.sizes.max()) <= max(queries.n_documents / 16, 1000)


def chunks_of_queries(offsets: np.ndarray, n_chunks: int) -> np.ndarray:
    """Bounds of runs of whole queries with about equally many documents; they depend on the data alone."""
    targets = np.linspace(0, offsets[-1], n_chunks + 1)[1:-1]
    return np.unique(np.concatenate(([0], np.searchsorted(offsets, targets), [len(offsets) - 1])))


def _fused_pass(
    entry: int,
    block: int,
    rows: Any,
    offsets: np.ndarray,
    weights: np.ndarray,
    bounds: np.ndarray,
    coef: np.ndarray,
    intercept: float,
    scores: np.ndarray,
    d_scores: np.ndarray,
    values: np.ndarray,
    d_coef: np.ndarray,
    d_parameters: np.ndarray,
) -> None:
    """Per chunk of queries: loss and sum of ``d_scores`` (``values``), ``d_coef``, and ``d_parameters[:, 0]``."""
    for c in prange(len(bounds) - 1):
        total, d_intercept = 0.0, 0.0
        gradient, d_own, d_one = d_coef[c], d_parameters[c, 0], d_parameters[c, 1]
        gradient[:] = 0.0
        d_own[:] = 0.0
        for q in range(bounds[c], bounds[c + 1]):
            start, stop, weight = offsets[q], offsets[q + 1], weights[q]
            if start == stop or weight == 0.0:
                continue
            s, g = scores[start:stop], d_scores[start:stop]
            score_rows(rows, start, stop, coef, intercept, s)
            total += weight * call_entry(entry, block, q, start, stop, d_one.ctypes.data)
            for i in range(len(g)):
                g[i] *= weight
                d_intercept += g[i]
            add_rows(rows, start, stop, g, gradient)
            for p in range(len(d_own)):
                d_own[p] += weight * d_one[p]
        values[c, 0] = total
        values[c, 1] = d_intercept


fused_pass = kept(_fused_pass, parallel=ONLY_PRANGE)

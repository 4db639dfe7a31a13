"""The ranker inside an estimate of the bias: scores linear in the features, and an own deviation of each document."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from podium.data.queries import Queries
from podium.scorers.standardization import Standardization

_MOST_FEATURES = 1000
_FARTHEST = 5.0
"""Standardized features are clipped to this: heavy tails would decide alone."""


@dataclass(frozen=True)
class DocumentScores:
    """Scores s = x·w + u of documents, of which differences within queries matter.

    The deviations u let it express any relevance; ½ u² is added to the loss, and ½ w², so that documents of which the
    log says little are scored by their features.
    """

    x: np.ndarray
    """(n_documents, n_features) standardized; no feature where there are none, or far too many, or sparse ones."""
    query: np.ndarray
    n_queries: int
    weights: np.ndarray
    own: np.ndarray

    @classmethod
    def of(cls, queries: Queries) -> DocumentScores:
        """Return scores that are all 0."""
        x = _standardized(queries)
        nothing = np.zeros(x.shape[1]), np.zeros(queries.n_documents)
        return cls(x, queries.query_of_document, len(queries), *nothing)

    @property
    def scores(self) -> np.ndarray:
        """(n_documents,)"""
        return self.x @ self.weights + self.own

    def improved(self, downhill: np.ndarray, curvature: np.ndarray, times: np.ndarray) -> tuple[DocumentScores, float]:
        """Return the scores after a Newton step, and the largest change.

        ``downhill`` is minus the gradient of the loss by the scores and ``curvature`` at least the diagonal of its
        Hessian; ``times`` is how often each document counts. A constant that is added to all scores of a query does not
        change the loss, and is not penalized: it is part of the step, and forgotten.
        """
        pull = np.maximum(times, 1e-300)
        held = curvature * pull / (curvature + pull)  # curvature of the features' part, the deviations following
        force = pull * (downhill + curvature * self.own) / (curvature + pull)
        total = np.maximum(np.bincount(self.query, held, self.n_queries), 1e-300)
        d_weights = np.zeros(self.x.shape[1])
        moved = np.zeros(len(self.own))
        if len(d_weights):
            centered = self.x - _means_of_queries(self.x, held, total, self.query)
            hessian = (centered * held[:, np.newaxis]).T @ centered + np.eye(len(d_weights))
            d_weights = np.linalg.solve(hessian, centered.T @ force - self.weights)
            moved = self.x @ d_weights
        shift = np.bincount(self.query, force - held * moved, self.n_queries) / total
        d_own = (downhill - curvature * (moved + shift[self.query]) - pull * self.own) / (curvature + pull)
        change = float(np.abs(moved + d_own).max(initial=0.0))
        size = min(1.0, 3.0 / max(change, 1e-300))
        made = replace(self, weights=self.weights + size * d_weights, own=self.own + size * d_own)
        return made, change


def _means_of_queries(x: np.ndarray, held: np.ndarray, total: np.ndarray, query: np.ndarray) -> np.ndarray:
    starts = np.flatnonzero(np.diff(query, prepend=-1))  # documents are sorted by query, and some may have none
    sums = np.add.reduceat(x * held[:, np.newaxis], starts, axis=0)
    return (sums / total[query[starts]][:, np.newaxis])[
        np.repeat(np.arange(len(starts)), np.diff(starts, append=len(x)))
    ]


def _standardized(queries: Queries) -> np.ndarray:
    features = queries.features
    if not isinstance(features, np.ndarray) or not 0 < features.shape[1] <= _MOST_FEATURES:
        return np.empty((queries.n_documents, 0))
    scale = Standardization.of(queries)
    x = (features.astype(np.float64) - scale.mean) * scale.inverse_scale
    return np.where(np.isfinite(x), np.clip(x, -_FARTHEST, _FARTHEST), 0.0)

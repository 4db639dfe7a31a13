"""A weighted sum of the features."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from numba import njit, prange

from podium.core.arrays import Arrays, require_array
from podium.core.parameters import require_number
from podium.data.queries import Queries
from podium.numerics.loop import n_partial_sums
from podium.scorers.base import PLAIN, Backward, Scorer, SmoothModel, StartOptions
from podium.scorers.linear.rows import add_rows, as_rows, score_rows
from podium.scorers.standardization import Standardization

__all__ = ["Linear", "LinearModel"]


class LinearModel(SmoothModel):
    """``scores = features @ coef + intercept``.

    It is learned in the coordinates of standardized features: ``coef = theta * inverse_scale``. So the features are
    read as they are, never copied, and yet the optimiser and the penalties see features of unit variance.
    """

    n_features: int

    def __init__(
        self,
        theta: np.ndarray,
        *,
        has_intercept: bool,
        standardization: Standardization | None = None,
        l1: float = 0.0,
        l2: float = 0.0,
    ) -> None:
        self.theta = theta
        self.has_intercept = has_intercept
        self.n_features = len(theta) - has_intercept
        self.mean = np.zeros(self.n_features) if standardization is None else standardization.mean
        self.inverse_scale = np.ones(self.n_features) if standardization is None else standardization.inverse_scale
        is_weight = np.arange(len(theta)) < self.n_features  # the intercept is free
        self.l1 = np.where(is_weight, l1, 0.0) if l1 > 0 else None
        self.l2 = np.where(is_weight, l2, 0.0)

    @property
    def coef(self) -> np.ndarray:
        """(n_features,) weight of each feature as it comes, not standardized."""
        return self.theta[: self.n_features] * self.inverse_scale

    @property
    def intercept(self) -> float:
        return float(self.theta[-1] - self.mean @ self.coef) if self.has_intercept else 0.0

    def scores(self, queries: Queries) -> np.ndarray:
        scores = np.empty(queries.n_documents)
        _score_all(as_rows(queries.features), self.coef, self.intercept, scores)
        return scores

    def forward(self, queries: Queries) -> tuple[np.ndarray, Backward]:
        return self.scores(queries), lambda d_scores: self._backward(queries, d_scores)

    def _backward(self, queries: Queries, d_scores: np.ndarray) -> np.ndarray:
        # Each chunk sums into a row of its own; their number bounds the memory and does not depend on the threads.
        n_chunks = n_partial_sums(queries.n_documents, self.n_features)
        bounds = np.linspace(0, queries.n_documents, n_chunks + 1).astype(np.int64)
        parts = np.empty((n_chunks, self.n_features))
        _add_all(as_rows(queries.features), bounds, d_scores, parts)
        return self.to_theta(parts.sum(axis=0), float(d_scores.sum()))

    def to_theta(self, d_coef: np.ndarray, d_intercept: float) -> np.ndarray:
        """The gradient with respect to ``theta`` from ``features.T @ d_scores`` and the sum of ``d_scores``."""
        gradient = np.empty_like(self.theta)
        weights = gradient[: self.n_features]
        np.copyto(weights, d_coef)
        if self.has_intercept:
            weights -= self.mean * d_intercept
            gradient[-1] = d_intercept
        weights *= self.inverse_scale
        return gradient

    def to_arrays(self) -> Arrays:
        return {"coef": self.coef, "intercept": np.array(self.intercept)}

    @classmethod
    def from_arrays(cls, scorer: Scorer | None, arrays: Arrays) -> Self:
        coef = require_array(arrays, "coef", (None,))
        return cls.from_coefficients(coef, float(require_array(arrays, "intercept", ())))

    @classmethod
    def from_coefficients(cls, coef: np.ndarray, intercept: float = 0.0) -> Self:
        """The model with these weights of the features as they come."""
        return cls(np.append(coef, intercept), has_intercept=True)


class Linear(Scorer):
    """Linear scorer: ``score(x) = coef · x``, plus an intercept where the loss can see one.

    Parameters
    ----------
    l1, l2 : float
        Penalties ``l1 ‖w‖₁ + l2/2 ‖w‖²`` added to the mean loss over queries, where ``w`` are the weights of the
        normalised features. With ``l1`` many weights become exactly zero.

    Adding a constant to all scores of a list leaves most losses as they are; then there is no intercept.
    """

    l1: float = 0.0
    l2: float = 1e-3

    folds_standardization: ClassVar[bool] = True
    model_class: ClassVar[type[LinearModel]] = LinearModel

    def start(self, queries: Queries, rng: np.random.Generator, options: StartOptions = PLAIN) -> LinearModel:
        require_number("l1", self.l1, at_least=0)
        require_number("l2", self.l2, at_least=0)
        return LinearModel(
            np.zeros(queries.n_features + options.intercept),
            has_intercept=options.intercept,
            standardization=options.standardization,
            l1=self.l1,
            l2=self.l2,
        )


@njit(parallel=True, cache=True, error_model="numpy")
def _score_all(rows: Any, coef: np.ndarray, intercept: float, scores: np.ndarray) -> None:
    block = 1024
    n = len(scores)
    for b in prange((n + block - 1) // block):
        start, stop = b * block, min((b + 1) * block, n)
        score_rows(rows, start, stop, coef, intercept, scores[start:stop])


@njit(parallel=True, cache=True, error_model="numpy")
def _add_all(rows: Any, bounds: np.ndarray, d_scores: np.ndarray, parts: np.ndarray) -> None:
    for c in prange(len(parts)):
        parts[c, :] = 0.0
        add_rows(rows, bounds[c], bounds[c + 1], d_scores[bounds[c] : bounds[c + 1]], parts[c])

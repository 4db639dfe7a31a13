"""The function a trainer minimises: mean loss over queries plus penalty, over one flat parameter vector."""

from __future__ import annotations

import math
from functools import cached_property

import numpy as np

from podium.data.queries import Queries
from podium.losses.base import BoundLoss
from podium.scorers.base import SmoothModel
from podium.scorers.linear.scorer import LinearModel


class Objective:
    """Value and gradient over ``theta`` = the model's parameters followed by the loss's own.

    Works for any smooth model; :func:`objective` picks a faster one where there is one.
    """

    def __init__(self, model: SmoothModel, bound: BoundLoss, queries: Queries) -> None:
        self.model = model
        self.bound = bound
        self.queries = queries
        self.n_evaluations = 0

    def initial(self) -> np.ndarray:
        return np.concatenate((self.model.theta, self.bound.parameters()))

    def __call__(self, theta: np.ndarray) -> tuple[float, np.ndarray]:
        """Mean loss over all queries plus the smooth penalty."""
        self.n_evaluations += 1
        model, parameters = self.split(theta)
        value, d_theta, d_parameters = self.loss(model, parameters)
        if not math.isfinite(value):
            raise ValueError(
                f"the loss became {value} in training: scores grew too large. Rescale features or raise l2"
            )
        penalty, d_penalty = model.penalty()
        return value + penalty, np.concatenate((d_theta + d_penalty, d_parameters))

    def on_batch(self, theta: np.ndarray, batch: np.ndarray) -> tuple[float, np.ndarray]:
        """Mean loss over the queries numbered ``batch``, as an estimate of that over all; gradient with penalty.

        Only the documents of these queries are touched. Where scores are not finite, neither is the value.
        """
        part = self.queries.take(batch)
        model, parameters = self.split(theta)
        scores, backward = model.forward(part)
        if not np.isfinite(scores).all():
            return math.nan, np.zeros_like(theta)
        rows = np.repeat(self.queries.offsets[batch] - part.offsets[:-1], part.sizes) + np.arange(part.n_documents)
        all_scores, all_d_scores = self._buffers
        all_scores[rows] = scores
        result = self.bound.value_and_gradient(
            all_scores, parameters=parameters, queries=np.asarray(batch, np.int64), gradient=all_d_scores
        )
        scale = self.bound.n_queries / len(batch)
        d_theta = backward(all_d_scores[rows] * scale) + model.penalty()[1]
        return scale * result.value, np.concatenate((d_theta, result.d_parameters * scale))

    @cached_property
    def _buffers(self) -> tuple[np.ndarray, np.ndarray]:
        return np.zeros(self.queries.n_documents), np.empty(self.queries.n_documents)

    def split(self, theta: np.ndarray) -> tuple[SmoothModel, np.ndarray]:
        n = len(self.model.theta)
        return self.model.at(theta[:n]), theta[n:]

    def loss(self, model: SmoothModel, parameters: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        """Mean loss, its gradient with respect to the model's parameters and with respect to the loss's own."""
        scores, backward = model.forward(self.queries)
        result = self.bound.value_and_gradient(scores, parameters=parameters)
        return result.value, backward(result.d_scores), result.d_parameters


def objective(model: SmoothModel, bound: BoundLoss, queries: Queries) -> Objective:
    """The objective of this model and loss on these queries, in its fastest form."""
    from podium.scorers.linear.one_pass import FusedLinearObjective, worth_fusing

    if isinstance(model, LinearModel) and worth_fusing(queries):
        return FusedLinearObjective(model, bound, queries)
    return Objective(model, bound, queries)

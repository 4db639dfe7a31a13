"""The function a trainer minimizes: mean loss over queries plus penalty, over one flat parameter vector."""

import math

import numpy as np

from podium.data.queries import Queries
from podium.losses.base import BoundLoss
from podium.numerics.loop import blocks_of_queries, n_partial_sums, new_sums, total_gradient
from podium.scorers.base import Buffers, SmoothModel


class Objective:
    """Value and gradient over ``theta`` = the model's parameters followed by the loss's own.

    A model that has compiled functions is evaluated together with the loss, in one pass over the features, unless a
    list is so long that handing out whole lists would leave processor cores idle.
    """

    def __init__(self, model: SmoothModel, bound: BoundLoss, queries: Queries, *, one_pass: bool | None = None) -> None:
        self.model = model
        self.bound = bound
        self.queries = queries
        self.n_evaluations = 0
        n = queries.n_documents
        self.buffers = Buffers(np.empty_like(model.theta), np.zeros(n), np.empty(n))
        self.routines = None
        if no_long_list(queries) if one_pass is None else one_pass:
            self._bounds = blocks_of_queries(queries.offsets, n_partial_sums(n, len(model.theta)))
            self.routines = model.routines(queries, self.buffers, len(self._bounds) - 1)
        if self.routines is not None:
            self._sums = new_sums(len(self._bounds) - 1, bound.loss.n_parameters, self.routines.n_gradient)

    def initial(self) -> np.ndarray:
        return np.concatenate((self.model.theta, self.bound.parameters()))

    def __call__(self, theta: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the mean loss over all queries plus the smooth penalty, and its gradient."""
        self.n_evaluations += 1
        model, parameters = self.split(theta)
        value, d_theta, d_parameters = self._loss(model, parameters)
        if not math.isfinite(value):
            raise ValueError(
                f"the loss became {value} in training: scores grew too large. Rescale features or raise l2"
            )
        penalty, d_penalty = model.penalty()
        gradient = np.concatenate((d_theta + d_penalty, d_parameters))
        if not math.isfinite(value + penalty + float(gradient.sum())):
            _explain_divergence(penalty, gradient, len(d_theta))
        return value + penalty, gradient

    def on_batch(self, theta: np.ndarray, batch: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the mean loss over the queries numbered ``batch``, which stands for that over all, and its gradient.

        The gradient includes the penalty's. Only the documents of these queries are touched. Where scores are not
        finite, neither is the value.
        """
        part = self.queries.take(batch)
        model, parameters = self.split(theta)
        scores, backward = model.forward(part)
        if not np.isfinite(scores).all():
            return math.nan, np.zeros_like(theta)
        rows = np.repeat(self.queries.offsets[batch] - part.offsets[:-1], part.sizes) + np.arange(part.n_documents)
        all_scores, all_d_scores = self.buffers.scores, self.buffers.d_scores
        all_scores[rows] = scores
        result = self.bound.value_and_gradient(
            all_scores, parameters=parameters, queries=np.asarray(batch, np.int64), gradient=all_d_scores
        )
        scale = self.bound.n_queries / len(batch)
        d_theta = backward(all_d_scores[rows] * scale) + model.penalty()[1]
        return scale * result.value, np.concatenate((d_theta, result.d_parameters * scale))

    def split(self, theta: np.ndarray) -> tuple[SmoothModel, np.ndarray]:
        """Return the model at these parameters, and the loss's own."""
        n = len(self.model.theta)
        return self.model.at(theta[:n]), theta[n:]

    def _loss(self, model: SmoothModel, parameters: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        """Return the mean loss and its gradients with respect to the model's parameters and the loss's own."""
        if self.routines is None:
            scores, backward = model.forward(self.queries)
            result = self.bound.value_and_gradient(scores, parameters=parameters)
            return result.value, backward(result.d_scores), result.d_parameters
        self.buffers.theta[:] = model.theta
        _, scores, d_scores = self.buffers
        sums = self.bound.visit(scores, d_scores, parameters, model=self.routines, bounds=self._bounds, sums=self._sums)
        total = sums.totals.sum(axis=0)
        return float(total[0]), total_gradient(self.routines.finish, sums)[: len(model.theta)], total[1:]


def _explain_divergence(penalty: float, gradient: np.ndarray, n_model: int) -> None:
    """Raise if the penalty or a derivative is not finite; a sum of finite numbers may overflow all the same."""
    if not math.isfinite(penalty):
        raise ValueError(f"the penalty became {penalty} in training: parameters grew too large. Rescale features")
    bad = np.flatnonzero(~np.isfinite(gradient))
    if len(bad):
        j = int(bad[0])
        whose = f"parameter {j} of the model" if j < n_model else f"parameter {j - n_model} of the loss"
        raise ValueError(
            f"the derivative with respect to {whose} became {gradient[j]} in training: scores or features are too "
            "large. Rescale features or raise l2"
        )


def no_long_list(queries: Queries) -> bool:
    """Return whether handing out whole lists keeps all cores busy: none is a large part of all documents."""
    return len(queries) > 0 and int(queries.sizes.max()) <= max(queries.n_documents / 16, 1000)

"""The function a trainer minimizes: mean loss over queries plus penalty, over one flat parameter vector."""

import math
from collections.abc import Callable
from itertools import pairwise

import numpy as np

from podium.data.queries import Queries
from podium.data.remote import RemoteQueries
from podium.losses.base import Loss
from podium.losses.bound import BoundLoss
from podium.losses.checks import mean_weights
from podium.numerics.calls import Routine
from podium.numerics.loop import Blocks, blocks_for, new_sums, total_gradient
from podium.scorers.base import Buffers, SmoothModel


class BlockSums:
    """The loss of consecutive queries and its gradient, summed by block: one machine's share of an evaluation.

    A model that has compiled functions is evaluated together with the loss, in one pass over the features, unless a
    list is so long that handing out whole lists would leave processor cores idle.
    """

    def __init__(self, model: SmoothModel, bound: BoundLoss, queries: Queries, blocks: Blocks, one_pass: bool) -> None:
        self.model, self.bound, self.queries, self.blocks = model, bound, queries, blocks
        n, n_blocks = queries.n_documents, len(blocks.bounds) - 1
        self.buffers = Buffers(np.empty_like(model.theta), np.zeros(n), np.empty(n))
        self.routines = model.routines(queries, self.buffers, n_blocks) if one_pass else None
        n_gradient = 0 if self.routines is None else self.routines.n_gradient
        self._sums = new_sums(n_blocks, bound.loss.n_parameters, n_gradient)

    def __call__(self, theta: np.ndarray, parameters: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the sums at the model's and the loss's parameters.

        They are the value and its derivatives with respect to the loss's own parameters, (n_blocks, 1 + n_parameters),
        and what :meth:`podium.scorers.base.SmoothModel.forward_in_blocks` sums, (n_rows, n_sums).
        """
        bounds, sums = self.blocks.bounds, self._sums
        _, scores, d_scores = self.buffers
        if self.routines is not None:
            self.buffers.theta[:] = theta
            self.bound.visit(scores, d_scores, parameters, model=self.routines, bounds=bounds, sums=sums)
            return sums.totals, sums.gradient
        given, backward = self.model.at(theta).forward_in_blocks(self.queries, self.blocks)
        scores[:] = given
        self.bound.visit(scores, d_scores, parameters, bounds=bounds, sums=sums)
        if not np.isfinite(sums.totals[:, 0]).all():
            self.bound.explain_value(scores, parameters)
        return sums.totals, backward(d_scores)


SumsAt = Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]
"""Returns the blocks' totals and gradients, one row each, for parameters of the model and of the loss."""


class SummedObjective:
    """Value and gradient over ``theta`` = the model's parameters followed by the loss's own, from sums by block.

    ``sums`` returns those of all blocks, in order, wherever they were computed.
    """

    def __init__(self, model: SmoothModel, loss: Loss, sums: SumsAt, finish: Routine | None) -> None:
        self.model = model
        self.loss = loss
        self.n_evaluations = 0
        self._sums, self._finish = sums, finish

    def initial(self) -> np.ndarray:
        return np.concatenate((self.model.theta, self.loss.initial_parameters()))

    def __call__(self, theta: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the mean loss over all queries plus the smooth penalty, and its gradient."""
        self.n_evaluations += 1
        model, parameters = self.split(theta)
        totals, rows = self._sums(model.theta, parameters)
        total = totals.sum(axis=0)
        if not math.isfinite(total[0]):
            raise ValueError(
                f"the loss became {float(total[0])} in training: scores grew too large. Rescale features or raise l2"
            )
        d_theta = total_gradient(self._finish, rows)[: len(model.theta)]
        penalty, d_penalty = model.penalty()
        value, gradient = float(total[0]), np.concatenate((d_theta + d_penalty, total[1:]))
        if not math.isfinite(value + penalty + float(gradient.sum())):
            _explain_divergence(penalty, gradient, len(d_theta))
        return value + penalty, gradient

    def split(self, theta: np.ndarray) -> tuple[SmoothModel, np.ndarray]:
        """Return the model at these parameters, and the loss's own."""
        n = len(self.model.theta)
        return self.model.at(theta[:n]), theta[n:]


class Objective(SummedObjective):
    """The objective on queries in this process."""

    def __init__(self, model: SmoothModel, bound: BoundLoss, queries: Queries, *, one_pass: bool | None = None) -> None:
        self.bound = bound
        self.queries = queries
        one_pass = no_long_list(queries.sizes) if one_pass is None else one_pass
        sums = BlockSums(model, bound, queries, blocks_for(queries.offsets, model.n_sums), one_pass)
        self.buffers = sums.buffers
        self.routines = sums.routines
        super().__init__(model, bound.loss, sums, model.finishing(queries))

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


def remote_objective(
    model: SmoothModel, loss: Loss, queries: RemoteQueries, query_weight: np.ndarray | None
) -> SummedObjective:
    """Return the objective on queries elsewhere: each part sums its blocks, and the sums are added here.

    The blocks are those of :class:`Objective`, cut at the borders of parts where these are not borders of blocks.
    """
    if not model.sums_by_block:
        raise ValueError(
            f"{type(model).__name__} cannot be trained on a cluster: its gradient is computed for all queries at once. "
            "Linear, MLP, Potentials and Kernel can"
        )
    starts = queries.starts
    blocks = blocks_for(queries.offsets, model.n_sums, starts)
    weights = queries.per_query(mean_weights(query_weight, len(queries)))
    numbers = queries.per_query(np.arange(len(queries)))
    parts = [blocks.between(first, stop) for first, stop in pairwise(starts.tolist())]
    divided = model.divided(queries, parts)
    bound = queries.bind(
        _sums_beside,
        loss,
        queries.highest_grade(),
        no_long_list(queries.sizes),
        per_part=list(zip(divided.models, weights, numbers, parts, strict=True)),
    )

    def sums(theta: np.ndarray, parameters: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        own = [(theta[first:stop],) for first, stop in pairwise(divided.own.tolist())]
        found = bound(theta[divided.own[-1] :], parameters, per_part=own)
        return np.concatenate([totals for totals, _ in found]), divided.join([rows for _, rows in found])

    return SummedObjective(model, loss, sums, model.finishing(queries.none()))


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


def _sums_beside(
    part: Queries,
    model: SmoothModel,
    weights: np.ndarray,
    numbers: np.ndarray,
    blocks: Blocks,
    loss: Loss,
    highest_grade: float,
    one_pass: bool,
) -> Callable[..., tuple[np.ndarray, np.ndarray]]:
    """Return the sums of a part, next to it: ``weights`` and ``numbers`` are those of its queries in the whole set.

    They are a function of the part's own parameters of the model, of those that all parts share, and of the loss's.
    """
    bound = loss.bind(part.targets, part.offsets, query_numbers=numbers, highest_grade=highest_grade)
    sums = BlockSums(model, bound.weighted(weights), part, blocks, one_pass)
    return lambda own, shared, parameters: sums(np.concatenate((own, shared)), parameters)


def no_long_list(sizes: np.ndarray) -> bool:
    """Return whether handing out whole lists keeps all cores busy: none is a large part of all documents."""
    return len(sizes) > 0 and int(sizes.max()) <= max(int(sizes.sum()) / 16, 1000)

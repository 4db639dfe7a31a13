"""Plain stochastic steps on factors that touch only what a batch of users touches.

A step of gradient descent on the mean loss of a batch of users, θ ← (1 − rate · l2) θ − rate · gradient, changes the
factors of these users and of the items they rated; all others only shrink. So θ is stored divided by what it has shrunk
by, which is one number for users, one for items and one for biases, and shrinking takes no time. Otherwise the steps
are those of :class:`podium.training.Stochastic`, one after another, and do not depend on the number of threads:

1. Users of the batch are shared among threads. Each one's scores, the loss and its derivatives, and the user's new
   factors are computed in one go, from the items as they are before the step.
2. Items are shared among threads. Each thread goes through the ratings of the batch, in order, and moves its items by
   the users as they were before the step.
3. The users' new factors take the place of the old ones.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from podium.core.arrays import Array
from podium.losses.bound import BoundLoss
from podium.numerics.calls import routine
from podium.numerics.compiling import njit
from podium.numerics.loop import ModelRoutines, new_sums
from podium.numerics.pool import share
from podium.ratings.factors.model import dot
from podium.scorers.base import Buffers

Parts = tuple[Array, Array, Array, Array]
"""Factors of users and of items, biases, weights of priors."""
_SMALLEST = 1e-6
"""What parameters may shrink to before they are multiplied by it."""


class Table(NamedTuple):
    """What the compiled functions of one user read and write."""

    features: Array
    """(n_ratings, 2 + n_mix): user, item, scores of the priors."""
    users: Array
    items: Array
    bias: Array
    mix: Array
    scores: Array
    d_scores: Array
    shrunk: Array
    """(3,) by how much users, items and biases have shrunk: the factors are these times what is stored."""
    step: Array
    """(1,) what the gradient of a user's stored factors is multiplied by."""
    moved: Array
    """(batch_size, n_factors) new factors of the users of the batch."""
    d_mix: Array
    """(batch_size, n_mix) each user's part of the derivatives by the weights of the priors."""


class FactorSteps:
    """Steps that move parameters in place.

    Parameters
    ----------
    features : (n_ratings, 2 + n_mix) array
        User, item, scores of the priors; those of query q are ``offsets[q]:offsets[q + 1]``.
    parts : tuple of arrays
        Factors of users and of items, biases, weights of priors.
    l2 : (4,) array
        The penalties of these parts.
    has_biases : bool
        Whether biases are learned.
    """

    def __init__(self, features: Array, offsets: Array, parts: Parts, l2: Array, has_biases: bool) -> None:
        self.features, self.offsets, self.parts = np.ascontiguousarray(features), offsets, parts
        self.l2, self.has_biases = l2, has_biases
        counts = np.bincount(features[:, 1].astype(np.int64), minlength=len(parts[1]))
        self._item_costs = np.concatenate(([0], np.cumsum(counts)))

    def run(
        self, bound: BoundLoss, buffers: Buffers, parameters: Array, order: Array, batch_size: int, rate: float
    ) -> float:
        """Take the steps of one epoch; return the mean loss met on the way, NaN if it is not finite.

        ``parameters`` are those of the loss, moved in place.
        """
        users, items, bias, mix = self.parts
        size = min(batch_size, len(order))
        rows = np.empty((size, users.shape[1])), np.empty((size, len(mix)))
        arrays = buffers.scores, buffers.d_scores, np.ones(3), np.ones(1)
        table = Table(self.features, users, items, bias, mix, *arrays, *rows)
        work = float(len(self.features) / len(order) * size * (2 * users.shape[1] + 10))
        model = ModelRoutines(routine(_forward, table), routine(_backward, table), 0, work)
        keep = 1.0 - rate * self.l2
        shrunk, total = table.shrunk, 0.0
        for first in range(0, len(order), size):
            batch = order[first : first + size]
            scale = rate * bound.n_queries / len(batch)
            batch = batch[(bound.weights[batch] > 0) & (self.offsets[batch + 1] > self.offsets[batch])]
            table.step[0] = scale / (shrunk[0] * keep[0])
            sums, bounds = new_sums(len(batch), len(parameters)), np.arange(len(batch) + 1)
            bound.visit(*arrays[:2], parameters, queries=batch, model=model, bounds=bounds, sums=sums)
            loss, *d_parameters = sums.totals.sum(axis=0)
            if not math.isfinite(loss):
                return math.nan
            total += float(loss)
            of_items = scale * shrunk[0] / (shrunk[1] * keep[1])
            of_biases = scale / (shrunk[2] * keep[2]) if self.has_biases else 0.0
            share(_move_items, self._item_costs, table, self.offsets, batch, of_items, of_biases, work=work)
            users[self.features[self.offsets[batch], 0].astype(np.int64)] = table.moved[: len(batch)]
            mix *= keep[3]
            mix -= scale * table.d_mix[: len(batch)].sum(axis=0)
            parameters -= scale * np.array(d_parameters)
            shrunk *= keep[:3]
            if shrunk.min() < _SMALLEST:
                self._multiply(shrunk)
        self._multiply(shrunk)
        return total

    def _multiply(self, shrunk: Array) -> None:
        """Store the parameters themselves."""
        for part, by in zip(self.parts, shrunk.tolist(), strict=False):
            part *= by
        shrunk[:] = 1.0


@njit(error_model="numpy")
def _forward(table: Table, start: int, stop: int, block: int, sums: Array) -> None:
    rows, scores, mix = table.features[start:stop], table.scores[start:stop], table.mix
    user, of_biases = table.users[int(rows[0, 0])], table.shrunk[2]
    of_factors = table.shrunk[0] * table.shrunk[1]
    for k in range(len(scores)):
        item = int(rows[k, 1])
        score = of_biases * table.bias[item] + of_factors * dot(user, table.items[item])
        for j in range(len(mix)):
            score += mix[j] * rows[k, 2 + j]
        scores[k] = score


@njit(error_model="numpy")
def _backward(table: Table, start: int, stop: int, block: int, sums: Array) -> None:
    """Write the new factors of the user; ``block`` is the user's place in the batch."""
    rows, slopes = table.features[start:stop], table.d_scores[start:stop]
    user, moved, d_mix = table.users[int(rows[0, 0])], table.moved[block], table.d_mix[block]
    moved[:] = 0.0
    d_mix[:] = 0.0
    for k in range(len(slopes)):
        slope, item = slopes[k], table.items[int(rows[k, 1])]
        for d in range(len(moved)):
            moved[d] += slope * item[d]
        for j in range(len(d_mix)):
            d_mix[j] += slope * rows[k, 2 + j]
    step = table.step[0] * table.shrunk[1]
    for d in range(len(moved)):
        moved[d] = user[d] - step * moved[d]


@njit(cache=True, nogil=True, error_model="numpy")
def _move_items(
    first: int, stop: int, table: Table, offsets: Array, batch: Array, of_items: float, of_biases: float
) -> None:
    """Move the items ``first:stop`` by the ratings of the batch, in order."""
    for q in batch:
        rows, slopes = table.features[offsets[q] : offsets[q + 1]], table.d_scores[offsets[q] : offsets[q + 1]]
        user = table.users[int(rows[0, 0])]
        for k in range(len(slopes)):
            number = int(rows[k, 1])
            if first <= number < stop:
                item, step = table.items[number], of_items * slopes[k]
                for d in range(len(item)):
                    item[d] -= step * user[d]
                table.bias[number] -= of_biases * slopes[k]

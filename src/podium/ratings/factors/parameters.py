"""Factors as a smooth model, so that every trainer of Podium can train them on every loss.

A rating is a row of features: number of the user, number of the item, and the scores of other rankers, if there are any
to start from. Users are the queries:

    s_ui = b_i + W_u · H_i + a · f_ui,        theta = (W, H, b, a)
    ∂L/∂W_u = Σ_i g_ui H_i      ∂L/∂H_i = Σ_u g_ui W_u      ∂L/∂b_i = Σ_u g_ui      ∂L/∂a = Σ_ui g_ui f_ui

where g is the gradient of the loss with respect to the scores.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from podium.data.queries import Queries
from podium.ratings.factors.model import FactorModel, gather_rows, pair_scores
from podium.ratings.lists import RatingLists, sort_numbers
from podium.scorers.base import Backward, Scorer, SmoothModel

_MIX_L2 = 0.1  # of the weights of other rankers' scores: enough to keep those that say the same from running away


def as_queries(lists: RatingLists, users: np.ndarray, features: np.ndarray) -> Queries:
    """Ratings as queries whose features are (user, item, other rankers' scores)."""
    return Queries(np.column_stack((users, lists.items, features)), lists.values, sizes=lists.sizes)


class Factors(Scorer):
    """What is to be learned of users and items; penalties are on the sum over users, not on their mean."""

    def __init__(self, n_users: int, n_items: int, n_factors: int, l2: float, bias_l2: float | None, init: str) -> None:
        self.n_users = n_users
        self.n_items = n_items
        self.n_factors = n_factors
        self.l2 = l2
        self.bias_l2 = bias_l2
        """None: no biases."""
        self.init = init

    def start(self, queries: Queries, rng: np.random.Generator, *_: Any) -> FactorParameters:
        n_mix = queries.n_features - 2
        shape = Shape(self.n_users, self.n_items, self.n_factors, self.bias_l2 is not None, n_mix)
        l2 = np.full(shape.size, self.l2 / self.n_users)
        l2[shape.bias] = (self.bias_l2 or 0.0) / self.n_users
        l2[shape.mix] = _MIX_L2 / self.n_users
        theta = np.zeros(shape.size)
        n = shape.items.stop
        theta[:n] = rng.uniform(0.0, 0.5, n) if self.init == "uniform" else rng.normal(0.0, 0.1, n)
        return FactorParameters(shape, theta, l2, RatingIndex.of(queries))


@dataclass(frozen=True)
class Shape:
    """Where W, H, b and a lie in theta."""

    n_users: int
    n_items: int
    n_factors: int
    biases: bool
    n_mix: int

    @property
    def users(self) -> slice:
        return slice(0, self.n_users * self.n_factors)

    @property
    def items(self) -> slice:
        return slice(self.users.stop, self.users.stop + self.n_items * self.n_factors)

    @property
    def bias(self) -> slice:
        return slice(self.items.stop, self.items.stop + self.n_items * self.biases)

    @property
    def mix(self) -> slice:
        return slice(self.bias.stop, self.bias.stop + self.n_mix)

    @property
    def size(self) -> int:
        return self.mix.stop


@dataclass(frozen=True)
class RatingIndex:
    """The ratings of some queries by user and by item, for the two gradients."""

    queries: Queries
    users: np.ndarray
    items: np.ndarray
    mix: np.ndarray
    rows: np.ndarray
    by_item: np.ndarray
    """Rows of equal items together."""
    item_offsets: np.ndarray
    """Where each item's rows start in ``by_item``."""

    @classmethod
    def of(cls, queries: Queries) -> RatingIndex:
        users, items = (np.ascontiguousarray(queries.features[:, k], np.int64) for k in (0, 1))
        by_item = sort_numbers(items, int(items.max(initial=-1)) + 1)
        starts = np.flatnonzero(np.diff(items[by_item], prepend=-2))
        item_offsets = np.append(starts, len(items))
        mix = np.ascontiguousarray(queries.features[:, 2:])
        return cls(queries, users, items, mix, np.arange(len(items)), by_item, item_offsets)

    def d_users(self, item_factors: np.ndarray, d_scores: np.ndarray, result: np.ndarray) -> None:
        """Write the gradients of these users to their rows of ``result``."""
        present = np.diff(self.queries.offsets) > 0
        gradients = gather_rows(item_factors, d_scores, self.queries.offsets, self.rows, self.items)
        result[self.users[self.queries.offsets[:-1][present]]] = gradients[present]

    def d_items(self, user_factors: np.ndarray, d_scores: np.ndarray, result: np.ndarray) -> None:
        """Write the gradients of these items to their rows of ``result``."""
        gradients = gather_rows(user_factors, d_scores, self.item_offsets, self.by_item, self.users[self.by_item])
        result[self.items[self.by_item[self.item_offsets[:-1]]]] = gradients


class FactorParameters(SmoothModel):
    """Users, items, biases and the mix of other rankers in one vector."""

    n_features = None

    def __init__(self, shape: Shape, theta: np.ndarray, l2: np.ndarray, index: RatingIndex) -> None:
        self.shape = shape
        self.theta = theta
        self.l2 = l2
        self.index = index

    @property
    def mix(self) -> np.ndarray:
        """(n_mix,) weights of the other rankers' scores."""
        return self.theta[self.shape.mix]

    def factors(self) -> FactorModel:
        """Users and items as matrices, the mix of other rankers left out."""
        return FactorModel(*self._matrices(self.theta))

    def _matrices(self, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        s = self.shape
        bias = theta[s.bias] if s.biases else np.zeros(s.n_items)
        return theta[s.users].reshape(s.n_users, -1), theta[s.items].reshape(s.n_items, -1), bias

    def scores(self, queries: Queries) -> np.ndarray:
        """Of ratings kept aside, where users and items may be unknown."""
        index = RatingIndex.of(queries)
        return self.factors().scores(index.users, index.items) + index.mix @ self.mix

    def forward(self, queries: Queries) -> tuple[np.ndarray, Backward]:
        index = self.index if queries is self.index.queries else RatingIndex.of(queries)
        user_factors, item_factors, bias = self._matrices(self.theta)
        scores = pair_scores(user_factors, item_factors, bias, index.users, index.items) + index.mix @ self.mix

        def backward(d_scores: np.ndarray) -> np.ndarray:
            gradient = np.zeros(self.shape.size)
            d_users, d_items, _ = self._matrices(gradient)
            index.d_users(item_factors, d_scores, d_users)
            index.d_items(user_factors, d_scores, d_items)
            if self.shape.biases:
                gradient[self.shape.bias] = np.bincount(index.items, d_scores, minlength=self.shape.n_items)
            gradient[self.shape.mix] = index.mix.T @ d_scores
            return gradient

        return scores, backward

    def penalty(self) -> tuple[float, np.ndarray]:
        slope = self.l2 * self.theta
        return 0.5 * float(slope @ self.theta), slope

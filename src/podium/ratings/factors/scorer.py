"""Factors as a smooth model, so that every trainer of Podium can train them on every loss.

A rating is a row of features: the numbers of user and item, then the scores of the priors, if there are any. Users are
the queries:

    s_ui = b_i + W_u · H_i + a · f_ui,        theta = (W, H, b, a)
    ∂L/∂W_u = Σ_i g_ui H_i      ∂L/∂H_i = Σ_u g_ui W_u      ∂L/∂b_i = Σ_u g_ui      ∂L/∂a = Σ_ui g_ui f_ui

where g is the gradient of the loss with respect to the scores.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from podium.data.queries import Queries
from podium.ratings.data import Ratings, group_numbers
from podium.ratings.factors.model import FactorModel, gather_rows, pair_scores
from podium.scorers.base import Backward, Scorer, SmoothModel

_MIX_L2 = 0.1  # on the weights of the priors: enough to keep those of similar priors from growing apart


def as_queries(ratings: Ratings, users: np.ndarray, prior_scores: np.ndarray | None = None) -> Queries:
    """Return ratings as queries whose features are (user, item, scores of the priors)."""
    columns = (users, ratings.item) if prior_scores is None else (users, ratings.item, prior_scores)
    return Queries(np.column_stack(columns).astype(np.float64), ratings.values, sizes=ratings.sizes)


class Factors(Scorer):
    """Factors of users and items, to be learned; penalties are on the sum over users, not on their mean.

    Parameters
    ----------
    bias_l2 : float, optional
        Without it, items have no biases.
    """

    n_users: int
    n_items: int
    n_factors: int
    l2: float
    bias_l2: float | None
    init: str

    def start(self, queries: Queries, rng: np.random.Generator, *_: Any) -> FactorParameters:
        n_mix = queries.n_features - 2
        n_biases = 0 if self.bias_l2 is None else self.n_items
        layout = Layout(self.n_users, self.n_items, self.n_factors, n_biases, n_mix)
        penalties = (self.l2, self.l2, self.bias_l2 or 0.0, _MIX_L2)
        l2 = np.repeat(np.array(penalties) / self.n_users, layout.sizes)
        theta = np.zeros(len(l2))
        n = layout.sizes[0] + layout.sizes[1]
        theta[:n] = rng.uniform(0.0, 0.5, n) if self.init == "uniform" else rng.normal(0.0, 0.1, n)
        return FactorParameters(layout, theta, l2, RatingIndex(queries, layout))


@dataclass(frozen=True)
class Layout:
    """Sizes of W, H, b and a, which lie in theta in this order."""

    n_users: int
    n_items: int
    n_factors: int
    n_biases: int
    n_mix: int

    @property
    def sizes(self) -> tuple[int, int, int, int]:
        return self.n_users * self.n_factors, self.n_items * self.n_factors, self.n_biases, self.n_mix

    def split(self, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Return W, H, b (zeros if there are no biases) and a."""
        ends = np.cumsum((0, *self.sizes)).tolist()
        users, items, bias, mix = (theta[start:stop] for start, stop in pairwise(ends))
        bias = bias if self.n_biases else np.zeros(self.n_items)
        return users.reshape(self.n_users, -1), items.reshape(self.n_items, -1), bias, mix


Groups = tuple[np.ndarray, np.ndarray, np.ndarray]
"""Offsets of groups, the rows in their order, and the items (or users) of these rows."""


class RatingIndex:
    """The ratings of some queries by user and by item, for the two gradients."""

    def __init__(self, queries: Queries, layout: Layout) -> None:
        self.queries, self.layout = queries, layout
        self.users, self.items = queries.features[:, :2].astype(np.int64).T
        self.prior_scores = np.ascontiguousarray(queries.features[:, 2:])

    @cached_property
    def groups(self) -> tuple[Groups, Groups]:
        """Return the ratings grouped by user and by item."""
        by_user, user_offsets = group_numbers(self.users, self.layout.n_users)
        by_item, item_offsets = group_numbers(self.items, self.layout.n_items)
        return (user_offsets, by_user, self.items[by_user]), (item_offsets, by_item, self.users[by_item])


class FactorParameters(SmoothModel):
    """Users, items, biases and the weights of the priors in one vector."""

    l2: np.ndarray

    def __init__(self, layout: Layout, theta: np.ndarray, l2: np.ndarray, index: RatingIndex) -> None:
        self.layout = layout
        self.theta = theta
        self.l2 = l2
        self.index = index

    @property
    def mix(self) -> np.ndarray:
        """(n_mix,) weights of the priors' scores."""
        return self.layout.split(self.theta)[3]

    def factors(self) -> FactorModel:
        """Return users and items as matrices, without the priors."""
        return FactorModel(*self.layout.split(self.theta)[:3])

    def scores(self, queries: Queries) -> np.ndarray:
        """Return the scores of ratings held out, where users and items may be unknown."""
        return self.factors().scores(queries) + queries.features[:, 2:] @ self.mix

    def forward(self, queries: Queries) -> tuple[np.ndarray, Backward]:
        index = self.index if queries is self.index.queries else RatingIndex(queries, self.layout)
        users, items, bias, mix = self.layout.split(self.theta)

        def backward(d_scores: np.ndarray) -> np.ndarray:
            d_bias = np.bincount(index.items, d_scores, minlength=self.layout.n_items)[: self.layout.n_biases]
            by_user, by_item = index.groups
            d_users, d_items = gather_rows(items, d_scores, *by_user), gather_rows(users, d_scores, *by_item)
            return np.concatenate((d_users.ravel(), d_items.ravel(), d_bias, index.prior_scores.T @ d_scores))

        return pair_scores((users, items, bias), index.users, index.items) + index.prior_scores @ mix, backward

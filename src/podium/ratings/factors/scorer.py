"""Factors as a smooth model, so that every trainer of Podium can train them on every loss.

A rating is a row of features: the numbers of user and item, then the scores of the priors, if there are any. Users are
the queries:

    s_ui = b_i + W_u · H_i + a · f_ui,        theta = (W, H, b, a)
    ∂L/∂W_u = Σ_i g_ui H_i      ∂L/∂H_i = Σ_u g_ui W_u      ∂L/∂b_i = Σ_u g_ui      ∂L/∂a = Σ_ui g_ui f_ui

where g is the gradient of the loss with respect to the scores.

Sums over users go over fixed blocks of consecutive users, and the sums of blocks are added in order: first one sum per
item and block that has ratings of it, then one per item. So users may be divided among machines, each of which needs
the factors of its own users and those of the items.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from podium.data.queries import Queries
from podium.data.remote import RemoteQueries
from podium.numerics.loop import Blocks
from podium.ratings.data import Ratings, group_numbers
from podium.ratings.factors.model import FactorModel, gather_rows, pair_scores
from podium.ratings.factors.steps import FactorSteps
from podium.scorers.base import Backward, Divided, Scorer, SmoothModel

_MIX_L2 = 0.1  # on the weights of the priors: enough to keep those of similar priors from growing apart


def as_queries(ratings: Ratings, users: np.ndarray, prior_scores: np.ndarray | None = None) -> Queries:
    """Return ratings as queries whose features are (user, item, scores of the priors)."""
    columns = (users, ratings.item) if prior_scores is None else (users, ratings.item, prior_scores)
    return Queries(np.column_stack(columns).astype(np.float64, copy=False), ratings.values, sizes=ratings.sizes)


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

    def start(self, queries: Queries | RemoteQueries, rng: np.random.Generator, *_: Any) -> FactorParameters:
        n_mix = queries.n_features - 2
        n_biases = 0 if self.bias_l2 is None else self.n_items
        layout = Layout(self.n_users, self.n_items, self.n_factors, n_biases, n_mix)
        penalties = (self.l2, self.l2, self.bias_l2 or 0.0, _MIX_L2)
        l2 = np.repeat(np.array(penalties) / self.n_users, layout.sizes)
        theta = np.zeros(len(l2))
        n = layout.sizes[0] + layout.sizes[1]
        theta[:n] = rng.uniform(0.0, 0.5, n) if self.init == "uniform" else rng.normal(0.0, 0.1, n)
        return FactorParameters(layout, theta, l2)


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
    """The ratings of some queries by user, and by item and block, for the two gradients."""

    def __init__(self, queries: Queries, layout: Layout, blocks: Blocks, first_user: int = 0) -> None:
        self.queries, self.layout, self.blocks = queries, layout, blocks
        users, self.items = queries.features[:, :2].astype(np.int64).T
        self.users = users - first_user
        self.prior_scores = np.ascontiguousarray(queries.features[:, 2:])

    @cached_property
    def by_user(self) -> Groups:
        """Return the ratings grouped by user."""
        rows, offsets = group_numbers(self.users, self.layout.n_users)
        return offsets, rows, self.items[rows]

    @cached_property
    def by_item(self) -> tuple[Groups, np.ndarray]:
        """Return the ratings grouped by item and block, and the item of each group."""
        rows, _ = group_numbers(self.items, self.layout.n_items)  # of an item, they are in the order of blocks
        borders = self.queries.offsets[self.blocks.bounds]
        items, block = self.items[rows], np.searchsorted(borders, rows, side="right")
        starts = np.flatnonzero((np.diff(items, prepend=-1) != 0) | (np.diff(block, prepend=-1) != 0))
        return (np.append(starts, len(rows)), rows, self.users[rows]), items[starts]

    @cached_property
    def item_totals(self) -> ItemTotals:
        return ItemTotals(self.by_item[1], self.layout.n_items)


class ItemTotals:
    """Adds up sums by item and block to sums by item; those of an item must be in the order of blocks."""

    def __init__(self, items: np.ndarray, n_items: int) -> None:
        self._rows, self._offsets = group_numbers(items, n_items)
        self._ones = np.ones(len(items))

    def __call__(self, sums: np.ndarray) -> np.ndarray:
        """(n_items, width) totals of sums, (n_groups, width)."""
        return gather_rows(sums, self._ones, self._offsets, self._rows, self._rows)


class FactorParameters(SmoothModel):
    """Users, items, biases and the weights of the priors in one vector."""

    sums_by_block: ClassVar[bool] = True
    l2: np.ndarray

    def __init__(self, layout: Layout, theta: np.ndarray, l2: np.ndarray, first_user: int = 0) -> None:
        self.layout = layout
        self.theta = theta
        self.l2 = l2
        self.first_user = first_user
        self._known: list[RatingIndex] = []  # that of the training ratings, shared with the model at other parameters

    @property
    def mix(self) -> np.ndarray:
        """(n_mix,) weights of the priors' scores."""
        return self.layout.split(self.theta)[3]

    @property
    def n_sums(self) -> int:
        return sum(self.layout.sizes[1:])

    def factors(self) -> FactorModel:
        """Return users and items as matrices, without the priors."""
        return FactorModel(*self.layout.split(self.theta)[:3])

    def scores(self, queries: Queries) -> np.ndarray:
        """Return the scores of ratings held out, where users and items may be unknown."""
        return self.factors().scores(queries) + queries.features[:, 2:] @ self.mix

    def forward(self, queries: Queries) -> tuple[np.ndarray, Backward]:
        one = Blocks(np.array([0, len(queries)]), float(queries.n_documents))
        scores, backward = self._forward(RatingIndex(queries, self.layout, one, self.first_user))
        return scores, lambda d_scores: backward(d_scores)[0]

    def forward_in_blocks(self, queries: Queries, blocks: Blocks) -> tuple[np.ndarray, Backward]:
        if not self._known or self._known[0].queries is not queries or self._known[0].blocks is not blocks:
            self._known[:] = [RatingIndex(queries, self.layout, blocks, self.first_user)]
        return self._forward(self._known[0])

    def sparse_steps(self, queries: Queries, theta: np.ndarray, rate: float) -> FactorSteps | None:
        sizes = np.array(self.layout.sizes)
        parts = np.split(self.l2, np.cumsum(sizes)[:-1])
        if self.first_user or any(len(np.unique(part)) > 1 for part in parts):
            return None
        l2 = np.array([part[0] if len(part) else 0.0 for part in parts])
        if rate * l2.max() >= 1.0:  # what shrinks to nothing cannot be stored divided by that
            return None
        has_biases = self.layout.n_biases > 0
        return FactorSteps(queries.features, queries.offsets, self.layout.split(theta), l2, has_biases)

    def _forward(self, index: RatingIndex) -> tuple[np.ndarray, Backward]:
        users, items, bias, mix = self.layout.split(self.theta)

        def backward(d_scores: np.ndarray) -> np.ndarray:
            # A bias is the factor of a user who is 1 there.
            with_one = np.hstack((users, np.ones((len(users), int(self.layout.n_biases > 0)))))
            d_users = gather_rows(items, d_scores, *index.by_user)
            sums = gather_rows(with_one, d_scores, *index.by_item[0])
            return self._rows(index, d_users, sums, index.prior_scores.T @ d_scores)

        return pair_scores((users, items, bias), index.users, index.items) + index.prior_scores @ mix, backward

    def _rows(self, index: RatingIndex, d_users: np.ndarray, sums: np.ndarray, d_mix: np.ndarray) -> np.ndarray:
        """Return the gradient as one row, from that of users and the sums by item and block."""
        return self._gradient(d_users.ravel(), index.item_totals(sums), d_mix)

    def _gradient(self, d_users: np.ndarray, d_items: np.ndarray, d_mix: np.ndarray) -> np.ndarray:
        n = self.layout.n_factors
        return np.concatenate((d_users, d_items[:, :n].ravel(), d_items[:, n:].ravel(), d_mix))[None]

    def divided(self, queries: RemoteQueries, blocks: Sequence[Blocks]) -> Divided:
        """Return how users are divided among parts: each has its users' factors and sums by its blocks."""
        layout, starts = self.layout, queries.starts.tolist()
        layouts = [replace(layout, n_users=stop - first) for first, stop in pairwise(starts)]
        models = [
            FactorPart(part, np.zeros(sum(part.sizes)), np.empty(0), first)
            for part, first in zip(layouts, starts, strict=False)
        ]
        groups = queries.each(_item_groups, per_part=list(zip(models, blocks, strict=True)))
        item_totals = ItemTotals(np.concatenate(groups), layout.n_items)
        shape = sum(map(len, groups)), layout.n_factors + int(layout.n_biases > 0)

        def join(rows: Sequence[np.ndarray]) -> np.ndarray:
            cuts = [part.sizes[0] for part in layouts]
            d_users = np.concatenate([row[0, :cut] for row, cut in zip(rows, cuts, strict=True)])
            sums = np.concatenate([row[0, cut:] for row, cut in zip(rows, cuts, strict=True)])
            return self._gradient(d_users, item_totals(sums.reshape(shape)), np.empty(0))

        return Divided(models, layout.n_factors * queries.starts, join)


class FactorPart(FactorParameters):
    """The factors of consecutive users and of all items, where these users' ratings are; without priors."""

    def _rows(self, index: RatingIndex, d_users: np.ndarray, sums: np.ndarray, d_mix: np.ndarray) -> np.ndarray:
        """Return the gradient of users, then the sums by item and block, which are to be added to those of others."""
        return np.concatenate((d_users.ravel(), sums.ravel()))[None]


def _item_groups(part: Queries, model: FactorPart, blocks: Blocks) -> np.ndarray:
    """Return the item of each of the sums by item and block of a part."""
    return RatingIndex(part, model.layout, blocks, model.first_user).by_item[1]

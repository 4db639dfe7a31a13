"""The contract of scorers that grow step by step, and of the models under way."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import numpy as np

from podium.data.queries import Queries
from podium.scorers.base import Model


class Growth(Protocol):
    """A sum of trees, or of other functions, while it is grown."""

    @property
    def scores(self) -> np.ndarray:
        """(n_documents,) float32 scores of the training documents so far."""

    @property
    def validation_scores(self) -> np.ndarray:
        """(n_documents,) scores of the validation documents so far."""

    def add_tree(self, gradient: np.ndarray, curvature: np.ndarray) -> bool:
        """Add a tree that lowers the loss, given its derivatives by score; return whether it splits anything."""

    def model(self, n_trees: int) -> Model:
        """Return the sum of the first trees."""


@runtime_checkable
class Growable(Protocol):
    """A scorer that :class:`podium.training.Boosting` can train."""

    n_trees: int | None
    """Most trees."""
    query_fraction: float | None
    """Share of the queries that each tree is grown on."""
    curvature: bool
    """Use second derivatives, where the loss has them?"""

    def for_data(self, queries: Queries, *, validated: bool = False) -> Growable:
        """Return the scorer with every parameter that is None chosen for these queries."""

    def grow(
        self,
        queries: Queries,
        validation: Queries | None,
        constant: float,
        rng: np.random.Generator,
        init: Model | None = None,
    ) -> Growth:
        """Return a growth without trees, whose scores are ``constant``; raise ValueError for unusable parameters.

        ``init`` is a fitted model that trees are added to; it is not given otherwise.
        """

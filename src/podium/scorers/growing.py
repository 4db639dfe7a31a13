"""The contract of scorers that grow step by step, and of the models under way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np

from podium.data.queries import Queries
from podium.scorers.base import Model


@dataclass(frozen=True, slots=True)
class Machines:
    """The processes that grow trees together, each on its own documents; they speak to each other directly."""

    addresses: tuple[tuple[str, int], ...]
    """Host and port of each."""
    number: int
    """Which of them this one is."""
    n_threads: int
    """Threads of this one."""


class GrowthStart(NamedTuple):
    """Where trees start from."""

    constant: float
    """The score of every document, …"""
    seed: int
    init: Model | None = None
    """… unless trees are added to this fitted model."""
    network: Machines | None = None
    """Other processes that grow the same trees on other documents; all calls are then made from one thread."""


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

    def mean(self, n_trees: int, constant: float) -> Model:
        """Return the mean of the first trees, plus a constant."""

    def close(self) -> None:
        """Leave the network, if there is one."""


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

    def grow(self, parts: Sequence[Queries], validation: Sequence[Queries], start: GrowthStart) -> Growth:
        """Return a growth without trees; raise ValueError for unusable parameters.

        The training documents are those of all ``parts``, in order, and the validation documents likewise.
        """

    def require_remote(self) -> None:
        """Raise ValueError, naming it, if a parameter does not work on several machines."""

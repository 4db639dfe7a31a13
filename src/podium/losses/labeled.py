"""The labels that a loss is bound to."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from podium.data.preferences import Preferences
from podium.numerics.grades import Groups, label_groups
from podium.numerics.random import streams


@dataclass(frozen=True)
class LabeledLists:
    """The labels that a loss is bound to."""

    labels: Any
    """(n_documents,) float64, or :class:`podium.Preferences`."""
    offsets: np.ndarray
    """(n_queries + 1,): query q owns the slice ``offsets[q]:offsets[q + 1]``."""
    query_numbers: np.ndarray
    """(n_queries,) the queries' numbers in the whole data set, of which this may be a part; random draws depend on
    them, so that each part draws what the whole set would."""
    known_highest: float | None = None
    """The highest grade in the whole data set, where this is a part of it."""

    @property
    def has_pairs(self) -> bool:
        """Whether the labels are pairs given one by one."""
        return isinstance(self.labels, Preferences)

    @property
    def highest_grade(self) -> float:
        """The highest grade in the whole data set, at least 0."""
        return float(self.labels.max(initial=0.0)) if self.known_highest is None else self.known_highest

    @cached_property
    def sizes(self) -> np.ndarray:
        """(n_queries,) documents per query."""
        return np.diff(self.offsets)

    @property
    def longest(self) -> int:
        return int(self.sizes.max(initial=0))

    @cached_property
    def groups(self) -> Groups:
        """Each query's documents by grade, best first."""
        return label_groups(self.labels, self.offsets)

    def streams(self, random_state: int, epoch: int = 0, number: int = 0) -> np.ndarray:
        """Return the streams of random numbers of all queries, one each (see :mod:`podium.numerics.random`)."""
        return streams(random_state, epoch, self.query_numbers, number)

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
    def gains(self) -> np.ndarray:
        """(n_documents,) 2^y − 1; grades below 0 are worth nothing."""
        with np.errstate(over="ignore"):
            gains = np.exp2(np.maximum(self.labels, 0.0)) - 1.0
        if not np.isfinite(gains).all():
            raise ValueError(f"the label {self.labels.max():g} is too large for gains of 2^label − 1")
        return gains

    @cached_property
    def groups(self) -> Groups:
        """Each query's documents by grade, best first."""
        return label_groups(self.labels, self.offsets)

    def sums(self, values: np.ndarray) -> np.ndarray:
        """Return (n_queries,) the sums over each query's documents; 0 for queries without any."""
        sums, filled = np.zeros(len(self.sizes)), self.sizes > 0
        if filled.any():
            sums[filled] = np.add.reduceat(values, self.offsets[:-1][filled])
        return sums

    def lengths(self, values: np.ndarray) -> np.ndarray:
        """Return (n_queries,) the Euclidean length of each query's values; no square of them overflows."""
        small, exponent = scaled(values)
        return np.ldexp(np.sqrt(self.sums(small * small)), exponent)

    def streams(self, random_state: int, epoch: int = 0, number: int = 0) -> np.ndarray:
        """Return the streams of random numbers of all queries, one each (see :mod:`podium.numerics.random`)."""
        return streams(random_state, epoch, self.query_numbers, number)


def scaled(values: np.ndarray) -> tuple[np.ndarray, int]:
    """Return values times 2^−k, none larger than 1, and k. It is exact: a part of the data gets what the whole does."""
    exponent = int(np.frexp(np.abs(values).max(initial=0.0))[1])
    return np.ldexp(values, -exponent), exponent

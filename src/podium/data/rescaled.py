"""Queries whose features are rescaled within each query as they are read: there is no rescaled matrix."""

from functools import cached_property
from typing import Any, Self

import numpy as np

from podium.core.parameters import require_choice
from podium.data.changed import COPIED, ChangedQueries
from podium.data.features import Features
from podium.data.indexed import IndexedQueries
from podium.data.normalize import WITHIN_QUERY, WRITE_MAPS, normalize
from podium.data.queries import Queries
from podium.numerics.pool import share

_LONG = 32
"""Longer lists have their maps kept, at most 1/8 of a float32 matrix; maps of others are made when they are needed."""


class RescaledQueries(ChangedQueries):
    """The queries that ``queries.normalized(how)`` returns, without their matrix until somebody asks for it.

    Linear models and trees ask for rescaled rows a few at a time. For everything else :attr:`features` is the matrix
    of all rescaled features, made when it is first read.
    """

    how: str

    def __init__(self, given: Queries, how: str) -> None:
        require_choice("how", how, WITHIN_QUERY)
        super().__init__(given)
        self.how = how

    def _again(self, given: Queries) -> Self:
        return type(self)(given, self.how)

    @cached_property
    def features(self) -> Features:  # type: ignore[override]
        return normalize(self.given.features, self.offsets, self.how)

    @cached_property
    def maps(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """What is subtracted from features and what they are divided by, (n_long_lists, n_features) each.

        First comes the row of each query in these, −1 for short lists.
        """
        long = self.sizes > _LONG
        number = np.where(long, np.cumsum(long) - 1, -1)
        dtype = self.dtype if self.how == "minmax" else np.float64
        shift, scale = (np.empty((int(long.sum()), self.n_features), dtype) for _ in range(2))
        arguments = (*self.given_rows, self.offsets, number, shift, scale)
        share(WRITE_MAPS[self.how], self.offsets, *arguments, work=4 * self.n_values)
        return number, shift, scale

    @property
    def given_rows(self) -> tuple[np.ndarray, np.ndarray]:
        """The matrix of features as given, and the row of each query's first document there."""
        if isinstance(self.given, IndexedQueries):
            rows, last = self.given.rows, max(self.n_documents - 1, 0)
            return self.given.matrix.rows, rows[np.minimum(self.offsets[:-1], last)]
        return self.given.features, self.offsets[:-1]


def rescaled(queries: Any, how: Any) -> Any:
    """Return ``queries.normalized(how)``; a large matrix is rescaled as it is read, in place of a copy.

    Queries elsewhere (:class:`podium.data.remote.RemoteQueries`) rescale themselves.
    """
    if not isinstance(queries, Queries) or queries.is_sparse or queries.n_values * queries.dtype.itemsize < COPIED:
        return queries.normalized(how)
    return RescaledQueries(queries, how)

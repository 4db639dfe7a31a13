"""Queries whose features are rescaled within each query as they are read: there is no rescaled matrix."""

from functools import cached_property
from typing import Any, Self

import numpy as np

from podium.core.parameters import require_choice
from podium.data.features import Features
from podium.data.normalize import WITHIN_QUERY, normalize, write_maps
from podium.data.queries import Queries
from podium.numerics.pool import share

_LONG = 32
"""Longer lists have their maps kept, at most 1/8 of a float32 matrix; maps of others are made when they are needed."""

COPIED = 64 * 2**20
"""Features of fewer bytes are rescaled into a copy: passes over that are about twice as fast."""


class RescaledQueries(Queries):
    """The queries that ``queries.normalized(how)`` returns, without their matrix until somebody asks for it.

    Linear models and trees ask for rescaled rows a few at a time. For everything else :attr:`features` is the matrix
    of all rescaled features, made when it is first read.
    """

    given: Queries
    how: str

    def __init__(self, given: Queries, how: str) -> None:
        require_choice("how", how, WITHIN_QUERY)
        assert isinstance(given.features, np.ndarray)
        self.__dict__.update(given.__dict__)
        del self.__dict__["features"]
        self.given, self.how = given, how

    @cached_property
    def features(self) -> Features:  # type: ignore[override]
        return normalize(self.given.features, self.offsets, self.how)

    @cached_property
    def maps(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """What is subtracted from features and what they are divided by, (n_long_lists, n_features) each.

        First comes the row of each query in these, −1 for short lists.
        """
        rows = self.given.features
        long = self.sizes > _LONG
        number = np.where(long, np.cumsum(long) - 1, -1)
        dtype = rows.dtype if self.how == "minmax" else np.float64
        shift, scale = (np.empty((int(long.sum()), self.n_features), dtype) for _ in range(2))
        arguments = (self.how == "zscore", rows, self.offsets, number, shift, scale)
        share(write_maps, self.offsets, *arguments, work=4 * rows.size)
        return number, shift, scale

    @property
    def n_features(self) -> int:
        return self.given.n_features

    @property
    def n_values(self) -> int:
        return self.given.n_values

    @property
    def is_sparse(self) -> bool:
        return False

    def _selected(self, rows: Any, offsets: np.ndarray, qids: np.ndarray) -> Self:
        return type(self)(self.given._selected(rows, offsets, qids), self.how)

    def _replace(self, **changes: Any) -> Self:
        replaced: Any = self.given._replace(**changes)
        return replaced if "features" in changes else type(self)(replaced, self.how)


def rescaled(queries: Any, how: Any) -> Any:
    """Return ``queries.normalized(how)``; a large matrix is rescaled as it is read, in place of a copy.

    Queries elsewhere (:class:`podium.data.remote.RemoteQueries`) rescale themselves.
    """
    if not isinstance(queries, Queries) or queries.is_sparse or queries.features.nbytes < COPIED:
        return queries.normalized(how)
    return RescaledQueries(queries, how)

"""Queries whose features are changed as they are read: there is no changed matrix."""

from typing import Any, Self

import numpy as np

from podium.data.queries import Queries

COPIED = 64 * 2**20
"""Features of fewer bytes are changed in a copy: passes over that are about twice as fast."""


class ChangedQueries(Queries):
    """Queries that know the features given and what to do with them, and have no matrix until somebody asks for it.

    Compiled loops ask for changed rows a few at a time. For everything else ``features``, which a subclass defines, is
    the matrix of all changed features, made when it is first read.
    """

    given: Queries

    def __init__(self, given: Queries) -> None:
        self.__dict__.update(given.__dict__)
        self.__dict__.pop("features", None)  # queries that are rows of a shared matrix may have none
        self.given = given

    def _again(self, given: Queries) -> Self:
        """Return the same change of other queries."""
        raise NotImplementedError

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.given.dtype

    @property
    def n_features(self) -> int:
        return self.given.n_features

    @property
    def n_values(self) -> int:
        return self.given.n_values

    @property
    def is_sparse(self) -> bool:
        return self.given.is_sparse

    def _selected(self, rows: Any, offsets: np.ndarray, qids: np.ndarray) -> Self:
        return self._again(self.given._selected(rows, offsets, qids))

    def _replace(self, **changes: Any) -> Self:
        replaced: Any = self.given._replace(**changes)
        return replaced if "features" in changes else self._again(replaced)

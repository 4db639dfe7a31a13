"""Features that LightGBM reads some rows at a time, to make its bins of them."""

from typing import Any

import numpy as np

from podium.data.rescaled import RescaledQueries
from podium.scorers.linear.rows import rescaled_rows
from podium.scorers.trees.model import import_lightgbm


class _RescaledRows:
    """A ``lightgbm.Sequence`` of features that are rescaled within their query when they are read."""

    batch_size = 1024

    def __init__(self, queries: RescaledQueries) -> None:
        self._queries = queries
        self._start, self._rows = 0, np.empty((0, queries.n_features))

    def __len__(self) -> int:
        return self._queries.n_documents

    def __getitem__(self, index: Any) -> np.ndarray:
        """Return some rows, or one; LightGBM wants single rows in float64 and asks for them in order."""
        if isinstance(index, slice):
            start, stop, _ = index.indices(len(self))
            return rescaled_rows(self._queries, start, stop)
        row = int(index)
        if not self._start <= row < self._start + len(self._rows):
            stop = min(row + self.batch_size, len(self))
            self._start, self._rows = row, rescaled_rows(self._queries, row, stop).astype(np.float64)
        return self._rows[row - self._start]


def rescaled_sequence(queries: RescaledQueries) -> Any:
    """Return the features as LightGBM reads them in turn."""
    import_lightgbm().Sequence.register(_RescaledRows)
    return _RescaledRows(queries)

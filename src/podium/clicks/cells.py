"""A log as counts: impressions and clicks of each document at each place."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from podium.data.clicks import Clicks

if TYPE_CHECKING:
    from scipy.sparse import csr_array


@dataclass(frozen=True)
class Cells:
    """Impressions and clicks per document and place, sorted by these. Counts may have weights, so they are floats."""

    row: np.ndarray
    place: np.ndarray
    """From 0."""
    impressions: np.ndarray
    clicks: np.ndarray
    n_documents: int
    n_places: int

    @classmethod
    def of(cls, clicks: Clicks) -> Cells:
        counted = clicks.aggregated()
        return cls(
            counted.row,
            counted.position - 1,
            counted.impressions.astype(float),
            counted.clicks.astype(float),
            clicks.queries.n_documents,
            clicks.n_places,
        )

    def weighted(self, weights: np.ndarray) -> Cells:
        """Return the counts times weights of documents."""
        factor = weights[self.row]
        return replace(self, impressions=self.impressions * factor, clicks=self.clicks * factor)

    def by_document(self, values: np.ndarray) -> np.ndarray:
        """Return sums of values of cells, per document."""
        return np.bincount(self.row, values, self.n_documents)

    def by_place(self, values: np.ndarray) -> np.ndarray:
        """Return sums of values of cells, per place."""
        return np.bincount(self.place, values, self.n_places)

    def matrix(self, values: np.ndarray) -> csr_array:
        """Return values of cells as a matrix of documents × places."""
        from scipy.sparse import csr_array

        ends = np.searchsorted(self.row, np.arange(self.n_documents + 1))
        return csr_array((values, self.place, ends), shape=(self.n_documents, self.n_places))

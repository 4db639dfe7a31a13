"""Scores without information: a hash of each row's features."""

from typing import Any, ClassVar, Self

import numpy as np

from podium.numerics.forward import hash_fractions, hash_salts, hash_values, row_hashes
from podium.scorers.base import Arrays, Model, Queries, Scorer


class HashModel(Model):
    """A number in [0, 1) from a seed and a row of features.

    It depends neither on the other rows nor on how the row is stored: zeros add nothing and values are taken as
    float64, so float32, float64 and sparse rows of equal values agree.
    """

    kind: ClassVar[str] = "hash"

    def __init__(self, seed: int) -> None:
        self.seed = seed

    def scores(self, queries: Queries) -> np.ndarray:
        features = queries.features
        if isinstance(features, np.ndarray):
            return row_hashes(features, self.seed)
        totals = np.full(queries.n_documents, self.seed, np.uint64)
        rows = np.repeat(np.arange(queries.n_documents), np.diff(features.indptr))
        np.add.at(totals, rows, hash_values(features.data, hash_salts(queries.n_features, self.seed)[features.indices]))
        return hash_fractions(totals)

    def to_arrays(self) -> Arrays:
        return {"seed": np.array(self.seed)}

    @classmethod
    def from_arrays(cls, scorer: Scorer | None, arrays: Arrays) -> Self:
        seed: Any = arrays.get("seed")
        if not isinstance(seed, np.ndarray) or seed.shape != () or seed.dtype.kind != "i" or seed < 0:
            raise ValueError("the model's 'seed' must be one whole number, at least 0")
        return cls(int(seed))


class Hash(Scorer, accepts_missing=True, model_class=HashModel):
    """The scorer of a ranker that learns nothing."""

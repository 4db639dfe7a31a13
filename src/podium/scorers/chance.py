"""Scores without information: a hash of each row's features."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np

from podium.core.arrays import Arrays
from podium.data.queries import Queries
from podium.scorers.base import Model, Scorer


class HashModel(Model):
    """A number in [0, 1) from a seed and a row of features.

    It depends neither on the other rows nor on how the row is stored: zeros add nothing and values are taken as
    float64, so float32, float64 and sparse rows of equal values agree.
    """

    def __init__(self, seed: int) -> None:
        self.seed = seed

    def scores(self, queries: Queries) -> np.ndarray:
        totals = np.full(queries.n_documents, self.seed, np.uint64)
        salts = _mix(np.arange(queries.n_features, dtype=np.uint64) + np.uint64(self.seed))
        features = queries.features
        if isinstance(features, np.ndarray):
            for j in range(queries.n_features):
                totals += _hash_values(features[:, j], salts[j : j + 1])
        else:
            rows = np.repeat(np.arange(queries.n_documents), np.diff(features.indptr))
            np.add.at(totals, rows, _hash_values(features.data, salts[features.indices]))
        return (_mix(totals) >> np.uint64(11)) * 2.0**-53

    def to_arrays(self) -> Arrays:
        return {"seed": np.array(self.seed)}

    @classmethod
    def from_arrays(cls, scorer: Scorer | None, arrays: Arrays) -> Self:
        seed: Any = arrays.get("seed")
        if not isinstance(seed, np.ndarray) or seed.shape != () or seed.dtype.kind != "i" or seed < 0:
            raise ValueError("the model's 'seed' must be one whole number, at least 0")
        return cls(int(seed))


class Hash(Scorer):
    """The scorer of a ranker that learns nothing."""

    accepts_missing: ClassVar[bool] = True
    model_class: ClassVar[type[HashModel]] = HashModel


def _hash_values(values: np.ndarray, salts: np.ndarray) -> np.ndarray:
    bits = np.ascontiguousarray(values, dtype=np.float64).view(np.uint64)
    return np.where(values == 0, np.uint64(0), _mix(bits ^ salts))


def _mix(x: np.ndarray) -> np.ndarray:
    """Return SplitMix64's finalizer of each word: every bit of the input affects every bit of the output."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))

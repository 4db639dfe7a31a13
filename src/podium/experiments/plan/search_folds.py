"""Folds to search settings on: each has a training and a validation part, and nothing to test."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from podium.data.queries import Queries
from podium.experiments.plan.protocol import Average
from podium.experiments.plan.sources import Parts, fingerprint


@dataclass(frozen=True, slots=True)
class CrossValidation:
    """Queries dealt at random into ``k`` parts: each in turn validates, the others train."""

    k: int

    def __str__(self) -> str:
        return f"cross-validation:{self.k}"

    def describe(self) -> str:
        return f"cross-validated on {self.k} folds of whole queries"


@dataclass(frozen=True, slots=True)
class GivenValidation:
    """One validation part, given by the user."""

    def __str__(self) -> str:
        return "given validation part"

    def describe(self) -> str:
        return "judged on the validation part given"


class SearchFolds:
    """Folds of queries in memory, or one fold if a validation part is given."""

    average: ClassVar[Average] = "queries"

    def __init__(self, queries: Queries, validation: Queries | None, k: int, random_state: int) -> None:
        self.queries, self._validation = queries, validation
        if validation is not None:
            self.protocol: CrossValidation | GivenValidation = GivenValidation()
            self.folds = ["validation"]
        else:
            k = min(k, len(queries))
            if k < 2:
                raise ValueError(
                    "cross-validation needs two queries or more; give validation queries (eval_set, --valid)"
                )
            self.protocol = CrossValidation(k)
            self.folds = [f"fold {i}" for i in range(1, k + 1)]
            self._part = np.arange(len(queries)) % k
            np.random.default_rng(random_state).shuffle(self._part)
        self.name = "queries"
        self.description = (
            f"{len(queries)} queries, {queries.n_documents} documents, {queries.n_features} features, "
            f"{self.protocol.describe()}"
        )
        self.fingerprint = " ".join(fingerprint(q) for q in (queries, validation) if q is not None)

    def numbers(self, fold: str) -> np.ndarray:
        """Return the numbers of the queries that validate in a fold, among those that validate in any."""
        if self._validation is not None:
            return np.arange(len(self._validation))
        return np.flatnonzero(self._part == self.folds.index(fold))

    @property
    def judges(self) -> Queries:
        """The queries that validate in any fold."""
        return self.queries if self._validation is None else self._validation

    def load(self, fold: str) -> Parts:
        if self._validation is not None:
            return self.queries, self._validation, None
        judges = self._part == self.folds.index(fold)
        return self.queries.take(~judges), self.queries.take(judges), None

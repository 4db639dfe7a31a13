"""Folds to search settings on: each has a training and a validation part, and nothing to test."""

from typing import ClassVar

import numpy as np

from podium.data.indexed import indexed
from podium.data.queries import Queries
from podium.experiments.plan.protocol import Average, ProtocolFacts
from podium.experiments.plan.sources import Parts, described, fingerprint


class SearchFolds:
    """Queries in memory, dealt at random into ``k`` parts, each of which validates in turn while the others train.

    If a validation part is given, there is one fold.
    """

    average: ClassVar[Average] = "queries"

    def __init__(self, queries: Queries, validation: Queries | None, k: int, random_state: int) -> None:
        self.queries, self._validation = queries, validation
        if validation is not None:
            self.protocol = ProtocolFacts("given validation part", "judged on the validation part given")
            self.folds = ["validation"]
        else:
            k = min(k, len(queries))
            if k < 2:
                raise ValueError(
                    "cross-validation needs two queries or more; give validation queries (eval_set, --valid)"
                )
            self.protocol = ProtocolFacts(f"cross-validation:{k}", f"cross-validated on {k} folds of whole queries")
            self.folds = [f"fold {i}" for i in range(1, k + 1)]
            self._part = np.arange(len(queries)) % k
            np.random.default_rng(random_state).shuffle(self._part)
            self._dealt = indexed(queries)
        self.name = "queries"
        self.description = described(queries, self.protocol)
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
        return self._dealt.take(~judges), self._dealt.take(judges), None

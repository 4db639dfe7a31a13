"""Ratings as folds of queries, and rankers of ratings that learn from such folds.

A user's rated items are a list like any other, so a study of ratings has the same search, seal and judgment as one of
documents: its :class:`~podium.data.queries.Queries` have the numbers of user and item as features, and the role of the
rating. Only the last step differs. What is held out to choose hyper-parameters is part of each user's few training
ratings, so the chosen ranker is fitted again on all of them before it scores the test part.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import clone

from podium.core.parameters import require_choice, require_count
from podium.data.queries import Queries
from podium.experiments.plan.protocol import Average
from podium.experiments.plan.sources import Parts
from podium.metrics.definition import Metric
from podium.ratings.data import Ratings
from podium.ratings.estimator import RatingRanker
from podium.ratings.splits import RatingSplit, given_n, held_out_users, hold_out, time_split
from podium.training.base import Convergence

STUDIED: dict[str, Any] = {"given-n": given_n, "held-out-users": held_out_users, "time": time_split}
"""Protocols that leave lists to rank (leave-one-out leaves one item per user)."""
HELD_OUT = 0.3
"""Share of each user's training ratings that is held out to choose hyper-parameters."""
TRAINING, GIVEN = 0.0, 1.0
"""Roles of a visible rating: to train on, or to fold a test user in."""


@dataclass(frozen=True, slots=True)
class RatingProtocol:
    """How each user's ratings become training and test parts; see :mod:`podium.ratings.splits`."""

    name: str = "given-n"
    n: int = 10
    replicates: int = 10
    min_test: int = 10

    average: ClassVar[Average] = "repeats"

    def __post_init__(self) -> None:
        require_choice("protocol", self.name, tuple(STUDIED))
        for field in ("n", "replicates", "min_test"):
            require_count(field, getattr(self, field))
        if self.name == "time" and self.replicates > 1:
            raise ValueError("a split by time is not random: there is only one replicate")

    def __str__(self) -> str:
        return self.name if self.name == "time" else f"{self.name}:{self.n},{self.replicates},{self.min_test}"

    def describe(self) -> str:
        """Return the protocol in words."""
        if self.name == "time":
            return "the earlier four fifths of all ratings train, the later ones test"
        times = f", {self.replicates} replicates" if self.replicates > 1 else ""
        if self.name == "held-out-users":
            return f"a tenth of the users held out, {self.n} ratings of each given and the others tested{times}"
        return (
            f"{self.n} ratings of each user train and the others test, users with fewer than {self.n} + "
            f"{self.min_test} ratings dropped{times}"
        )

    @property
    def folder(self) -> str:
        """The name of the folder of its results."""
        return self.name if self.name == "time" else f"{self.name.removesuffix('-n')}-{self.n}"

    def split(self, ratings: Ratings, random_state: Sequence[int]) -> RatingSplit:
        """Divide the ratings."""
        drawn = {"n": self.n, "min_test": self.min_test, "random_state": random_state}
        return STUDIED[self.name](ratings, **({} if self.name == "time" else drawn))


class RatingSource:
    """Replicates of a protocol as folds of queries."""

    average: Average = RatingProtocol.average

    def __init__(self, ratings: Ratings, name: str, protocol: RatingProtocol, random_state: int) -> None:
        self._ratings = ratings
        self._seed = random_state
        self.protocol = protocol
        self.name = name
        self.folds = [f"replicate {i}" for i in range(1, protocol.replicates + 1)]
        n_dropped = self._split(self.folds[0]).n_dropped_users
        self.description = (
            f"{len(ratings)} ratings of {ratings.n_items} items by {ratings.n_users} users, {n_dropped} of them "
            f"dropped: {protocol.describe()}"
        )
        digest = hashlib.blake2b(digest_size=12)
        for array in (ratings.offsets, ratings.item, ratings.values, ratings.times):
            if array is not None:
                digest.update(np.ascontiguousarray(array).tobytes())
        digest.update("\n".join(map(str, [*ratings.user_ids, *ratings.item_ids])).encode())
        self.fingerprint = digest.hexdigest()

    def load(self, fold: str) -> Parts:
        """Return training, validation and test lists; given ratings of test users are in the first, by their role."""
        split = self._split(fold)
        train, validation = hold_out(split.train, HELD_OUT, (*self._seeds(fold), 1))
        given = [] if split.given is None else [(split.given, GIVEN)]
        return (
            self._queries((train, TRAINING), *given),
            self._queries((validation, TRAINING)),
            self._queries((split.test, TRAINING)),
        )

    def _split(self, fold: str) -> RatingSplit:
        return self.protocol.split(self._ratings, self._seeds(fold))

    def _seeds(self, fold: str) -> tuple[int, int]:
        return self._seed, self.folds.index(fold)

    def _queries(self, *parts: tuple[Ratings, float]) -> Queries:
        """Return ratings with their roles as queries with the features (user, item, role)."""
        number = self._ratings.user_numbers.numbers
        columns = [
            (number(part.user_ids)[part.user], part.item, np.full(len(part), role), part.values, part.users, part.items)
            for part, role in parts
        ]
        users, items, roles, values, qid, document_ids = map(np.concatenate, zip(*columns, strict=True))
        return Queries(np.column_stack((users, items, roles)), values, qid=qid, document_ids=document_ids)


class OnQueries:
    """A ranker of ratings that learns from ratings in the form of queries, and scores them.

    If a validation metric chose an iteration during training, the final fit stops there.
    """

    def __init__(self, ranker: RatingRanker, n_users: int, n_items: int) -> None:
        self.ranker = ranker
        self.n_users, self.n_items = n_users, n_items

    def fit(self, queries: Queries, eval_set: Queries, eval_metric: str | Metric) -> Self:
        features, labels = queries.features, queries.labels
        train = features[:, 2] == TRAINING
        validation = eval_set.features, eval_set.labels
        trained = self._ratings(features[train], labels[train])
        self.ranker.fit(trained, eval_set=self._ratings(*validation), eval_metric=eval_metric)
        best = self.convergence_.best_iter
        stop = None if best is None else lambda progress: progress.iteration >= best
        parts = zip((features[train], labels[train]), validation, strict=True)
        self.final: RatingRanker = clone(self.ranker).fit(self._ratings(*map(np.concatenate, parts)), callback=stop)
        if not train.all():
            self.final = self.final.with_users(self._ratings(features[~train], labels[~train]))
        return self

    def predict(self, queries: Queries) -> np.ndarray:
        """Return scores by the first fit for the validation part, which has labels, and by the final one otherwise."""
        user, item = queries.features[:, :2].astype(np.int64).T
        return (self.ranker if queries.has_labels else self.final).predict(user, item)

    @property
    def convergence_(self) -> Convergence:
        return self.ranker.convergence_

    def _ratings(self, features: np.ndarray, labels: np.ndarray) -> Ratings:
        """Return the ratings of these rows by the users that have any; ids are numbers."""
        user, item = features[:, :2].astype(np.int64).T
        ids = {"user_ids": np.arange(self.n_users), "item_ids": np.arange(self.n_items)}
        ratings = Ratings.from_numbers(user, item, labels, **ids, duplicates="error")
        return ratings.take_users(ratings.sizes > 0)

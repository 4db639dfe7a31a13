"""Ratings as folds of a comparison, and rankers of ratings as rankers of such folds.

A user's rated items are a list like any other. So ratings go through the same search, seal and judgement as documents
do, as :class:`~podium.data.queries.Queries` whose features are numbers: of the user, of the item, and of its role in a
fold.
Only the last step differs: what is held out to choose hyper-parameters is a part of each user's few training ratings,
so the chosen ranker is fitted again on all of them before it scores the test part.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from podium.core.parameters import require_choice, require_count
from podium.data.queries import Queries
from podium.experiments.plan.protocol import Average
from podium.experiments.plan.sources import Parts
from podium.ratings.data import Ratings
from podium.ratings.splits import RatingSplit, given_n, held_out_users, hold_out, time_split

PROTOCOLS = ("given-n", "held-out-users", "time")
SHARE = 0.3
"""Of each user's training ratings, held out to choose hyper-parameters."""
TRAINED, GIVEN = 0.0, 1.0
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
        require_choice("protocol", self.name, PROTOCOLS)
        for field in ("n", "replicates", "min_test"):
            require_count(field, getattr(self, field))
        if self.name == "time" and self.replicates > 1:
            raise ValueError("a split by time has nothing random: one replicate is all there is")

    def __str__(self) -> str:
        return self.name if self.name == "time" else f"{self.name}:{self.n},{self.replicates},{self.min_test}"

    def describe(self) -> str:
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
        """A name for the folder of its results."""
        return self.name if self.name == "time" else f"{self.name.removesuffix('-n')}-{self.n}"

    def split(self, ratings: Ratings, random_state: Sequence[int]) -> RatingSplit:
        if self.name == "time":
            return time_split(ratings)
        if self.name == "held-out-users":
            return held_out_users(ratings, self.n, random_state, min_test=self.min_test)
        return given_n(ratings, self.n, random_state, self.min_test)


class RatingSource:
    """Replicates of a protocol, as folds of queries."""

    average: Average = RatingProtocol.average

    def __init__(self, ratings: Ratings, name: str, protocol: RatingProtocol, random_state: int) -> None:
        self._ratings = ratings
        self._seed = random_state
        self.protocol: Any = protocol
        self.name = name
        self.folds = [f"replicate {i}" for i in range(1, protocol.replicates + 1)]
        dropped = self._split(self.folds[0]).n_dropped_users
        self.description = (
            f"{len(ratings)} ratings of {ratings.n_items} items by {ratings.n_users} users, {dropped} of them dropped: "
            f"{protocol.describe()}"
        )
        digest = hashlib.blake2b(digest_size=12)
        for array in (ratings.offsets, ratings.item, ratings.values, ratings.times):
            if array is not None:
                digest.update(np.ascontiguousarray(array).tobytes())
        digest.update("\n".join(map(str, [*ratings.user_ids, *ratings.item_ids])).encode())
        self.fingerprint = digest.hexdigest()

    def load(self, fold: str) -> Parts:
        """Training, validation and test lists; given ratings of test users are among the first, by their role."""
        split = self._split(fold)
        train, validation = hold_out(split.train, SHARE, (*self._seeds(fold), 1))
        lists = [self._lists(train, TRAINED)]
        if split.given is not None:
            lists.append(self._lists(split.given, GIVEN))
        visible = lists[0] if len(lists) == 1 else _together(lists)
        return visible, self._lists(validation, TRAINED), self._lists(split.test, TRAINED)

    def _split(self, fold: str) -> RatingSplit:
        split: RatingSplit = self.protocol.split(self._ratings, self._seeds(fold))
        return split

    def _seeds(self, fold: str) -> tuple[int, int]:
        return self._seed, self.folds.index(fold)

    def _lists(self, part: Ratings, role: float) -> Queries:
        part = part.take_users(part.sizes > 0)
        user = self._ratings.user_numbers.numbers(part.user_ids)
        features = np.column_stack((user[part.user], part.item, np.full(len(part), role))).astype(np.float64)
        return Queries(features, part.values, qid=part.user_ids[part.user], document_ids=part.item_ids[part.item])


def _together(parts: Sequence[Queries]) -> Queries:
    features, labels, qids = (
        np.concatenate([getattr(part, name) for part in parts]) for name in ("features", "labels", "qids")
    )
    sizes = np.concatenate([part.sizes for part in parts])
    return Queries(features, labels, qid=np.repeat(qids, sizes))


class OnLists:
    """A ranker of ratings that learns from, and scores, ratings in the form of queries.

    Where an evaluation during training chose an iteration, the final fit stops there.
    """

    def __init__(self, ranker: Any, n_users: int, n_items: int) -> None:
        self.ranker = ranker
        self.shape = n_users, n_items

    def fit(self, queries: Queries, eval_set: Queries, eval_metric: Any) -> OnLists:
        from sklearn.base import clone

        trained = queries.features[:, 2] == TRAINED
        train, validation = self._ratings(queries, trained), self._ratings(eval_set)
        self.ranker.fit(train, eval_set=validation, eval_metric=eval_metric)
        best = self.convergence_.best_iter
        stop = None if best is None else lambda progress: progress.iteration >= best
        self.final = clone(self.ranker).fit(self._ratings(queries, trained, eval_set), callback=stop)
        if not trained.all():
            self.final = self.final.with_users(self._ratings(queries, ~trained))
        return self

    def predict(self, queries: Queries) -> np.ndarray:
        """By the first fit for the validation part, which has labels; by the final one for the test part."""
        user, item = queries.features[:, :2].astype(np.int64).T
        scores: np.ndarray = (self.ranker if queries.has_labels else self.final).predict(user, item)
        return scores

    @property
    def convergence_(self) -> Any:
        return self.ranker.convergence_

    def _ratings(self, queries: Queries, rows: Any = slice(None), also: Queries | None = None) -> Ratings:
        features, labels = queries.features[rows], queries.labels[rows]
        if also is not None:
            features, labels = np.concatenate((features, also.features)), np.concatenate((labels, also.labels))
        user, item = features[:, :2].astype(np.int64).T
        n_users, n_items = self.shape
        everybody = Ratings.from_numbers(
            user, item, labels, user_ids=np.arange(n_users), item_ids=np.arange(n_items), duplicates="error"
        )
        return everybody.take_users(everybody.sizes > 0)

"""Ratings as folds of queries, and rankers of ratings that learn from such folds.

A user's rated items, or all that the user has not rated, are a list like any other, so a study of ratings has the same
search, seal and judgment as one of documents: its :class:`~podium.data.queries.Queries` have the numbers of user and
item as features, and the role of the rating. Only the last step differs. What is held out to choose hyper-parameters is
part of each user's few training ratings, so the chosen ranker is fitted again on all of them before it scores the test
part.
"""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
from sklearn.base import clone

from podium.core.parameters import require_choice, require_count
from podium.data.queries import Queries
from podium.experiments.plan.protocol import Average
from podium.experiments.plan.sources import Parts
from podium.metrics.definition import Metric, metric
from podium.ratings.catalogue.folds import candidate_lists, first_items
from podium.ratings.data import Ratings
from podium.ratings.estimator import RatingRanker
from podium.ratings.splits import (
    RatingSplit,
    given_n,
    held_out_users,
    hold_out,
    leave_last_out,
    random_split,
    time_split,
)
from podium.training.base import Convergence, Progress

STUDIED: dict[str, int] = {"given-n": 10, "held-out-users": 10, "leave-last-out": 1, "random": 5, "time": 1}
"""Protocols, with the number of draws that is usual."""
CANDIDATES = ("rated", "catalogue")
HELD_OUT = 0.3
"""Share of each user's training ratings that is held out to choose hyper-parameters, …"""
TESTED = 0.2
"""… and share that is tested, and then held out, where a random share is."""
TRAINING, GIVEN, VALIDATION = 0.0, 1.0, 2.0
"""Roles of a visible rating: to train on, to fold a test user in, or to choose hyper-parameters by and then to train
on."""

ITERATIONS = "iterations"
"""What the iteration at which held-out ratings end a fit is called where it is stored."""


@dataclass(frozen=True, slots=True)
class RatingProtocol:
    """How each user's ratings become training and test parts; see :mod:`podium.ratings.splits`."""

    name: str = "given-n"
    n: int = 10
    replicates: int = 10
    min_test: int = 10
    candidates: str = "rated"
    """What is ranked: the items that were rated in the part, or all that were not rated before."""
    relevant: float = 4.0
    """The lowest rating that is worth finding in a whole catalogue."""
    binary: bool = False
    """Whether what is worth finding is worth the same."""

    average: ClassVar[Average] = "repeats"

    def __post_init__(self) -> None:
        require_choice("protocol", self.name, tuple(STUDIED))
        require_choice("candidates", self.candidates, CANDIDATES)
        for field in ("n", "replicates", "min_test"):
            require_count(field, getattr(self, field))
        if self.name == "time" and self.replicates > 1:
            raise ValueError("a split by time is not random: there is only one replicate")
        if self.name == "leave-last-out" and self.n == 1 and not self.whole:
            raise ValueError(
                "the last rating of each user alone leaves nothing to order: give a larger n, or rank the whole "
                "catalogue (candidates='catalogue')"
            )

    @property
    def whole(self) -> bool:
        """Whether the whole catalogue is ranked."""
        return self.candidates == "catalogue"

    @property
    def numbered(self) -> bool:
        """Whether it depends on ``n``."""
        return self.name not in ("time", "random")

    def __str__(self) -> str:
        drawn = {"time": "", "random": f":{self.replicates}", "leave-last-out": f":{self.n},{self.replicates}"}
        text = self.name + drawn.get(self.name, f":{self.n},{self.replicates},{self.min_test}")
        return f"{text};catalogue:{self.relevant:g}{',binary' * self.binary}" if self.whole else text

    def describe(self) -> str:
        """Return the protocol in words."""
        if not self.whole:
            return self._split_in_words()
        graded = "counted alike" if self.binary else "graded by their ratings"
        return (
            f"{self._split_in_words()}; ranked are all items not rated in training, to be found those rated "
            f"{self.relevant:g} or more, {graded}"
        )

    def _split_in_words(self) -> str:
        if self.name == "time":
            return "the earlier four fifths of all ratings train, the later ones test"
        times = f", {self.replicates} replicates" if self.replicates > 1 else ""
        if self.name == "random":
            return f"a fifth of each user's ratings, drawn at random, tests and the others train{times}"
        if self.name == "leave-last-out":
            last = "last rating" if self.n == 1 else f"last {self.n} ratings"
            return f"each user's {last} by time (equal times drawn) tests and the earlier ones train{times}"
        if self.name == "held-out-users":
            return f"a tenth of the users held out, {self.n} ratings of each given and the others tested{times}"
        return (
            f"{self.n} ratings of each user train and the others test, users with fewer than {self.n} + "
            f"{self.min_test} ratings dropped{times}"
        )

    @property
    def folder(self) -> str:
        """The name of the folder of its results."""
        name = f"{self.name.removesuffix('-n')}-{self.n}" if self.numbered else self.name
        return f"{name}-catalogue" if self.whole else name

    def split(self, ratings: Ratings, random_state: Sequence[int]) -> RatingSplit:
        """Divide the ratings."""
        if self.name == "time":
            return time_split(ratings)
        if self.name == "random":
            return random_split(ratings, TESTED, random_state)
        if self.name == "leave-last-out":  # as many again are held out of the training part, and one must be left
            return leave_last_out(ratings, self.n, random_state, min_train=self.n + 1)
        draw = given_n if self.name == "given-n" else held_out_users
        return draw(ratings, n=self.n, min_test=self.min_test, random_state=random_state)

    def hold_out(self, train: Ratings, random_state: Sequence[int]) -> tuple[Ratings, Ratings]:
        """Return training ratings to fit on and to choose hyper-parameters by: if there is one, by the same split."""
        if self.name == "leave-last-out":
            split = leave_last_out(train, self.n, random_state)
            return split.train, split.test
        return hold_out(train, TESTED if self.name == "random" else HELD_OUT, random_state)


class RatingSource:
    """Replicates of a protocol as folds of queries."""

    average: Average = RatingProtocol.average

    def __init__(self, ratings: Ratings, name: str, protocol: RatingProtocol, random_state: int) -> None:
        self._ratings = ratings
        self._seed = random_state
        self.protocol = protocol
        self.name = name
        self.folds = [f"replicate {i}" for i in range(1, protocol.replicates + 1)]
        n_dropped = self.split(self.folds[0]).n_dropped_users
        self.description = (
            f"{len(ratings)} ratings of {ratings.n_items} items by {ratings.n_users} users, {n_dropped} of them "
            f"dropped: {protocol.describe()}"
        )
        self.fingerprint = fingerprint(ratings)

    def load(self, fold: str) -> Parts:
        """Return training, validation and test lists; given ratings of test users are in the first, by their role.

        Of a whole catalogue, the validation and test lists are of all candidates, in an order drawn at random, and the
        validation ratings themselves are with the training ratings, by their role.
        """
        split, protocol = self.split(fold), self.protocol
        train, validation = protocol.hold_out(split.train, (*self._seeds(fold), 1))
        given = [] if split.given is None else [(split.given, GIVEN)]
        if not protocol.whole:
            return (
                as_lists(self._ratings, (train, TRAINING), *given),
                as_lists(self._ratings, (validation, TRAINING)),
                as_lists(self._ratings, (split.test, TRAINING)),
            )
        rng = np.random.default_rng((*self._seeds(fold), 2))
        relevance = protocol.relevant, protocol.binary
        known = split.train if split.given is None else split.given
        return (
            as_lists(self._ratings, (train, TRAINING), (validation, VALIDATION), *given),
            candidate_lists(self._ratings, train, validation, *relevance, rng),
            candidate_lists(self._ratings, known, split.test, *relevance, rng),
        )

    def split(self, fold: str) -> RatingSplit:
        """Return the ratings of a fold: what is trained on, validation included, and what is tested."""
        return self.protocol.split(self._ratings, self._seeds(fold))

    def _seeds(self, fold: str) -> tuple[int, int]:
        return self._seed, self.folds.index(fold)


def as_lists(ratings: Ratings, *parts: tuple[Ratings, float]) -> Queries:
    """Return parts of the ratings with their roles as queries with the features (user, item, role)."""
    number = ratings.user_numbers.numbers
    columns = [
        (number(part.user_ids)[part.user], part.item, np.full(len(part), role), part.values, part.users, part.items)
        for part, role in parts
    ]
    users, items, roles, values, qid, document_ids = map(np.concatenate, zip(*columns, strict=True))
    return Queries(np.column_stack((users, items, roles)), values, qid=qid, document_ids=document_ids)


def fingerprint(ratings: Ratings) -> str:
    """Return a digest of the ratings, their times and ids."""
    digest = hashlib.blake2b(digest_size=12)
    for array in (ratings.offsets, ratings.item, ratings.values, ratings.times):
        if array is not None:
            digest.update(np.ascontiguousarray(array).tobytes())
    digest.update("\n".join(map(str, [*ratings.user_ids, *ratings.item_ids])).encode())
    return digest.hexdigest()


def stop_after(iterations: int | None) -> Callable[[Progress], bool] | None:
    """Return a callback that ends a fit after so many iterations; None if it is to end by itself."""
    return None if iterations is None else lambda progress: progress.iteration >= iterations


class OnQueries:
    """A ranker of ratings that learns from ratings in the form of queries, and scores them.

    If a validation metric chose an iteration during training, the final fit stops there. Of a whole catalogue, only the
    first ``depth`` items of a list are looked at: the others get the score −∞. Within a fit, the metric is then NDCG:
    most rankers watch their training by rated items, of which recall and the like say nothing.
    """

    def __init__(
        self, ranker: RatingRanker, n_users: int, n_items: int, whole: bool = False, depth: int | None = None
    ) -> None:
        self.ranker = ranker
        self.n_users, self.n_items = n_users, n_items
        self.whole, self.depth = whole, depth

    def fit(self, queries: Queries, eval_set: Queries, eval_metric: str | Metric) -> Self:
        features, labels = queries.features, queries.labels
        train, given = features[:, 2] == TRAINING, features[:, 2] == GIVEN
        validation = eval_set.features, eval_set.labels
        if self.whole:
            aside = features[:, 2] == VALIDATION
            if not (train.any() and aside.any()):  # the few rows that code is compiled with are of one role
                train, aside = (~given & (np.arange(len(labels)) % 2 == part) for part in (0, 1))
            validation = features[aside], labels[aside]
            eval_metric = metric("ndcg@10", metric(eval_metric).rules)
        trained = features[train], labels[train]
        self._search(self._ratings(*trained), self._ratings(*validation), eval_metric)
        stop = stop_after(self.convergence_.best_iter)
        parts = zip(trained, validation, strict=True)
        self.final: RatingRanker = clone(self.ranker).fit(self._ratings(*map(np.concatenate, parts)), callback=stop)
        if given.any():
            self.final = self.final.with_users(self._ratings(features[given], labels[given]))
        return self

    def _search(self, train: Ratings, validation: Ratings, eval_metric: str | Metric) -> None:
        if getattr(self.ranker, "stops_by_ratings", True):  # a ranker of the user's own need not know of it
            self.ranker.fit(train, eval_set=validation, eval_metric=eval_metric)
        else:
            self.ranker.fit(train)

    def predict(self, queries: Queries) -> np.ndarray:
        """Return scores by the first fit for the validation part, which has labels, and by the final one otherwise."""
        user, item = queries.features[:, :2].astype(np.int64).T
        scores = (self.ranker if queries.has_labels else self.final).predict(user, item)
        return first_items(scores, queries.offsets, self.depth) if self.whole else scores

    @property
    def convergence_(self) -> Convergence:
        return self.ranker.convergence_

    @property
    def chosen_(self) -> dict[str, int]:
        """What the held-out ratings decided within the fit, for one that has none: when to stop."""
        best = self.convergence_.best_iter
        return {} if best is None else {ITERATIONS: best}

    def _ratings(self, features: np.ndarray, labels: np.ndarray) -> Ratings:
        """Return the ratings of these rows by the users that have any; ids are numbers."""
        user, item = features[:, :2].astype(np.int64).T
        ids = {"user_ids": np.arange(self.n_users), "item_ids": np.arange(self.n_items)}
        ratings = Ratings.from_numbers(user, item, labels, **ids, duplicates="error")
        return ratings.take_users(ratings.sizes > 0)

"""Whole catalogues as lists of a study, what is kept of their scores, and what users get to see of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from podium.data.queries import Queries
from podium.experiments.run.outcomes import TestPart
from podium.metrics.definition import Metric
from podium.ratings.catalogue.exposure import Exposure, Popularity, profile_means
from podium.ratings.catalogue.lists import Candidates, UserLists
from podium.ratings.data import Ratings
from podium.ratings.ids import Ids

MOST_PAIRS = 300_000_000
"""The most candidates of all users together that a study has lists of."""
SHOWN = 20
"""So many of the first items the report shows, whatever the cutoffs are."""


def candidate_lists(
    ratings: Ratings, known: Ratings, wanted: Ratings, relevant: float, binary: bool, rng: np.random.Generator
) -> Queries:
    """Return all items that each user of ``wanted`` has not rated in ``known``, with the features (user, item, 0).

    Grades are the ratings in ``wanted`` of at least ``relevant``, or 1 if ``binary``, and 0 elsewhere. The order within
    a list is drawn, so that rows say nothing. Numbers are those of ``ratings``.
    """
    wanted = wanted.take_users(wanted.sizes > 0)
    n_users, n_items = wanted.n_users, ratings.n_items
    if n_users * n_items > MOST_PAIRS:
        raise ValueError(
            f"{n_users:,} users and {n_items:,} items are more than a comparison over the whole catalogue can hold: "
            "compare on a sample of the users, or train rankers one by one and use podium.evaluate_catalogue, which "
            "works in blocks"
        )
    is_candidate = np.ones((n_users, n_items), bool)
    row = Ids(wanted.user_ids).numbers(known.user_ids)[known.user]
    is_candidate[row[row >= 0], known.item[row >= 0]] = False
    grades = np.zeros((n_users, n_items))
    grades[wanted.user, wanted.item] = np.where(wanted.values >= relevant, 1.0 if binary else wanted.values, 0.0)
    user, item = np.nonzero(is_candidate)
    order = np.lexsort((rng.random(len(user)), user))
    user, item = user[order], item[order]
    number = ratings.user_numbers.numbers(wanted.user_ids)
    features = np.column_stack((number[user], item, np.zeros(len(user))))
    return Queries(features, grades[user, item], qid=wanted.user_ids[user], document_ids=ratings.item_ids[item])


def first_items(scores: np.ndarray, offsets: np.ndarray, depth: int | None) -> np.ndarray:
    """Return the scores of the first ``depth`` items of each list and of all tied with the last; −∞ elsewhere."""
    if depth is None:
        return scores
    kept = np.full(len(scores), -np.inf)
    for start, stop in zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True):
        own = scores[start:stop]
        if np.isnan(own).any():
            raise ValueError("the ranker gives items the score NaN: they cannot be ranked by it")
        least = np.partition(own, -depth)[-depth] if depth < len(own) else -np.inf
        kept[start:stop] = np.where(own >= least, own, -np.inf)
    return kept


@dataclass(frozen=True)
class ExposureJudge:
    """Coverage, novelty and popularity of the first items of each list of a study, beside its other metrics."""

    metrics: Sequence[Metric]
    source: Any
    """Has the ``split`` of each fold."""

    @property
    def names(self) -> list[str]:
        """What its figures are called."""
        return [measure.name for measure in self.metrics]

    def judge(self, fold: str, part: TestPart, scores: np.ndarray) -> dict[str, np.ndarray]:
        """Return the values of each user of a test part."""
        split = self.source.split(fold)
        known = split.train if split.given is None else split.given
        candidates = Candidates.of(split.train, None, split.train.item_ids)
        assert part.document_ids is not None
        numbers = split.train.item_numbers.numbers(part.document_ids, "items")
        popularity = Popularity.of(split.train, candidates)
        users = known.user_numbers.numbers(part.qids, "users")
        profiles = profile_means(known, users, popularity.counts, candidates.number)
        exposure = Exposure(self.metrics, popularity, profiles)
        kept = scores > -np.inf
        offsets = np.concatenate(([0], np.cumsum(kept)))[part.offsets]
        exposure.add(UserLists(scores[kept], part.labels[kept], numbers[kept], part.document_ids[kept], offsets))
        return dict(zip(self.names, exposure.per_user(), strict=True))

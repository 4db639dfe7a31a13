"""What users get to see of a catalogue: coverage, novelty and popularity of the first k items.

With c_i the number of training ratings of item i, U the number of training users, n the number of items, and means over
the first k items L_u of user u's list,

    coverage@k    = |∪_u L_u| / n
    novelty@k     = mean_{i ∈ L_u} −log2((c_i + 1) / (U + 1))
    popularity@k  = mean_{i ∈ L_u} (|{j: c_j < c_i}| + ½ |{j: c_j = c_i}|) / n
    lift@k        = mean_{i ∈ L_u} c_i / mean_{i rated by u in training} c_i − 1

Ties at rank k follow the convention. Where it averages over their orders, an item of a group of m that starts at rank
s + 1 is among the first k with probability p = (k − s)/m; the means are weighted by p, and coverage is the expectation
for users whose ties are broken independently, Σ_i (1 − Π_u (1 − p_ui)) / n.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NoReturn

import numpy as np

from podium.metrics.conventions import Convention
from podium.metrics.definition import Metric
from podium.metrics.family import Family, register
from podium.metrics.measuring import tie_keys, to_single
from podium.ratings.catalogue.lists import Candidates, UserLists
from podium.ratings.data import Ratings


def _refuse(*_: Any) -> NoReturn:
    raise ValueError("it is about the items of a whole catalogue, which podium.evaluate_catalogue knows")


_FACTS: dict[str, Any] = {"cutoff": "required", "seeks": "order", "bounded": False, "is_own": True}
COVERAGE = Family("coverage", "share of the items that are in someone's first k", _refuse, of_all_lists=True, **_FACTS)
NOVELTY = Family("novelty", "mean self-information of the first k items, in bits", _refuse, **_FACTS)
POPULARITY = Family("popularity", "mean percentile of the first k items by popularity", _refuse, **_FACTS)
LIFT = Family("lift", "popularity of the first k items against the user's own, minus 1", _refuse, **_FACTS)
EXPOSURE = (COVERAGE, NOVELTY, POPULARITY, LIFT)
for _family in EXPOSURE:
    register(_family)


def is_exposure(measure: Metric) -> bool:
    """Return whether a metric is one of these."""
    return measure.kind in EXPOSURE


@dataclass(frozen=True)
class Popularity:
    """How often items were rated in training."""

    counts: np.ndarray
    """(n_items,)"""
    n_users: int
    """Users who rated anything."""

    @classmethod
    def of(cls, train: Ratings, candidates: Candidates) -> Popularity:
        """Return the popularity of a catalogue's items."""
        number = np.append(candidates.number, -1)[train.item]
        return cls(np.bincount(number[number >= 0], minlength=len(candidates)), int((train.sizes > 0).sum()))

    @cached_property
    def information(self) -> np.ndarray:
        """(n_items,) bits."""
        return np.asarray(np.log2(self.n_users + 1.0) - np.log2(self.counts + 1.0))

    @cached_property
    def percentile(self) -> np.ndarray:
        """(n_items,) share of the items that are less popular, equally popular ones counted half."""
        ordered = np.sort(self.counts)
        below, through = (np.searchsorted(ordered, self.counts, side=side) for side in ("left", "right"))
        return np.asarray((below + through) / (2.0 * max(len(ordered), 1)))


def shares_of_top(rules: Convention, lists: UserLists, k: int) -> np.ndarray:
    """Return the probability of each listed item to be among the first k of its list, by the convention's ties."""
    scores = to_single(lists.scores) if rules.score_precision == "single" else lists.scores
    owner = np.repeat(np.arange(len(lists.offsets) - 1), np.diff(lists.offsets))
    keys = tie_keys(rules, np.ascontiguousarray(scores), lists.grades, lists.offsets, lists.ids)
    order = np.lexsort((keys, -scores, owner) if len(keys) else (-scores, owner))
    place = np.arange(len(order)) - lists.offsets[owner]  # sorting moves no item to another user
    ranked = scores[order]
    share = (place < k).astype(np.float64)
    if rules.ties == "average":
        starts = np.flatnonzero((place == 0) | (ranked != np.concatenate((ranked[:1], ranked[:-1]))))
        sizes = np.diff(starts, append=len(order))
        share = np.repeat(np.clip((k - place[starts]) / sizes, 0.0, 1.0), sizes)
    found = np.empty(len(order))
    found[order] = share
    return np.where(scores > -np.inf, found, 0.0)


class Exposure:
    """Metrics of this module over the lists of all users, which come block by block."""

    def __init__(self, metrics: Sequence[Metric], popularity: Popularity, profiles: np.ndarray) -> None:
        self.metrics = metrics
        self.popularity = popularity
        self.profiles = profiles
        """(n_users,) mean number of ratings of the items that each user rated in training; NaN without any."""
        self._log_missed = {m: np.zeros(len(popularity.counts)) for m in metrics if m.kind is COVERAGE}
        self._values: list[np.ndarray] = []
        self._n_users = 0

    def add(self, lists: UserLists) -> None:
        """Take in the lists of the next users."""
        n = len(lists.offsets) - 1
        values = np.full((n, len(self.metrics)), np.nan)
        profiles = self.profiles[self._n_users : self._n_users + n]
        owner = np.repeat(np.arange(n), np.diff(lists.offsets))
        for column, measure in enumerate(self.metrics):
            assert measure.cutoff is not None
            share = shares_of_top(measure.rules, lists, measure.cutoff)
            shown = share > 0.0
            item, user, share = lists.item[shown], owner[shown], share[shown]
            if measure.kind is COVERAGE:
                with np.errstate(divide="ignore"):
                    self._log_missed[measure] += np.bincount(item, np.log1p(-share), len(self.popularity.counts))
                continue
            of_item = {NOVELTY: self.popularity.information, POPULARITY: self.popularity.percentile}.get(
                measure.kind, self.popularity.counts
            )
            total, weight = np.bincount(user, share * of_item[item], n), np.bincount(user, share, n)
            mean = np.divide(total, weight, out=np.full(n, np.nan), where=weight > 0.0)
            values[:, column] = mean / profiles - 1.0 if measure.kind is LIFT else mean
        self._values.append(values)
        self._n_users += n

    def per_user(self) -> list[np.ndarray]:
        """Return the values of each metric, (n_users,) each; what is of all users together is the same for each."""
        values = np.concatenate(self._values) if self._values else np.empty((0, len(self.metrics)))
        for column, measure in enumerate(self.metrics):
            if measure.kind is COVERAGE:
                values[:, column] = -np.expm1(self._log_missed[measure]).sum() / max(len(self.popularity.counts), 1)
        return list(np.ascontiguousarray(values.T))


def profile_means(seen: Ratings, users: np.ndarray, counts: np.ndarray, number: np.ndarray) -> np.ndarray:
    """(n_users,) mean popularity of what these users (numbers in ``seen``, −1 if unknown) have rated; NaN without any.

    ``number`` gives the place in ``counts`` of each item of ``seen``, −1 for one that is not in the catalogue.
    """
    item = np.append(number, -1)[seen.item]
    known = item >= 0
    total = np.bincount(seen.user[known], counts[item[known]], seen.n_users)
    n = np.bincount(seen.user[known], minlength=seen.n_users)
    means = np.divide(total, n, out=np.full(seen.n_users, np.nan), where=n > 0)
    return np.append(means, np.nan)[users]

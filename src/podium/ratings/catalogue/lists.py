"""Lists over a whole catalogue: for each user, all items that the user has not rated, some users at a time.

The scores of a block of users are one matrix product, what they have seen is masked, and only what decides the metrics
is kept of each list: the items that may be among the first ``depth`` and the items to be found. So memory is bounded
by the block, however many users and items there are, and nothing is sampled.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike

from podium.data.grouping import as_ids
from podium.ratings.data import Ratings
from podium.ratings.ids import Ids

BLOCK = 4_000_000
"""The most scores that are held at once; a block has at least one user."""


class ScoresUsers(Protocol):
    """Anything that scores all items for some users at once, as rankers of ratings do."""

    def score_matrix(self, users: Any, items: Any = None) -> np.ndarray: ...


class UserLists(NamedTuple):
    """Items grouped by user: those of the user ``u`` of the block are ``offsets[u]:offsets[u + 1]``."""

    scores: np.ndarray
    """−∞ for an item that is to be found but not among the first."""
    grades: np.ndarray
    """0 for an item that is not to be found."""
    item: np.ndarray
    """Numbers in the catalogue, −1 for an item that it does not have."""
    ids: np.ndarray
    offsets: np.ndarray


@dataclass(frozen=True)
class Graded:
    """What is to be found: the test ratings that are relevant, by numbers of users and items."""

    user_ids: np.ndarray
    """(n_users,) the users to evaluate."""
    user: np.ndarray
    """Number of each rating's user, ascending."""
    item: np.ndarray
    """Its item's number in the catalogue, −1 if it is not there."""
    ids: np.ndarray
    grades: np.ndarray
    """Above 0."""


@dataclass(frozen=True)
class Candidates:
    """All items of a catalogue but those that each user has rated already."""

    ids: np.ndarray
    """(n_items,)"""
    items: np.ndarray | None
    """The same, or None if they are those of the ranker in its own order."""
    seen: Ratings
    """Ratings whose items are no candidates for their user."""
    number: np.ndarray
    """(seen.n_items,) the number in the catalogue of each item of ``seen``, −1 if it is not there."""

    @classmethod
    def of(cls, seen: Ratings, items: ArrayLike | None, own: np.ndarray | None) -> Candidates:
        """Return the candidates: ``items``, by default a ranker's ``own`` or else those of the ratings seen."""
        if items is None and own is not None and own is seen.item_ids:
            return cls(own, None, seen, np.arange(len(own)))
        ids = as_ids(items if items is not None else seen.item_ids if own is None else own, "item id")
        if len(np.unique(ids)) < len(ids):
            raise ValueError("items must name each item of the catalogue once")
        return cls(ids, ids, seen, Ids(ids).numbers(seen.item_ids, "items"))

    def __len__(self) -> int:
        return len(self.ids)

    def numbers(self, ids: np.ndarray) -> np.ndarray:
        """Return the numbers in the catalogue of items by id, −1 for those that it does not have."""
        own = self.seen.item_numbers if self.items is None else Ids(self.items)
        return own.numbers(ids, "items")

    def n_seen(self, user: np.ndarray, item: np.ndarray) -> int:
        """Return how many of these pairs (numbers in ``seen`` and in the catalogue) are no candidates."""
        rows, seen = self.seen_by(np.arange(self.seen.n_users))
        known = (user >= 0) & (item >= 0)
        return int(np.isin(user[known] * len(self) + item[known], rows * len(self) + seen).sum())

    def seen_by(self, users: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return places in ``users`` (numbers in ``seen``, −1 if unknown) and items, one of each per rating seen."""
        size = np.where(users < 0, 0, self.seen.sizes[users])
        ends = np.cumsum(size)
        rows = np.repeat(self.seen.offsets[users] - (ends - size), size) + np.arange(size.sum())
        item = self.number[self.seen.item[rows]]
        known = (item >= 0) & (self.seen.item[rows] >= 0)
        return np.repeat(np.arange(len(users)), size)[known], item[known]


def user_lists(
    ranker: ScoresUsers,
    candidates: Candidates,
    graded: Graded,
    depth: int | None,
    *,
    single: bool = False,
    shuffle: np.random.Generator | None = None,
) -> Iterator[UserLists]:
    """Yield the lists of all users, block by block.

    Parameters
    ----------
    ranker : ScoresUsers
        What scores them.
    candidates : Candidates
        The items.
    graded : Graded
        The users, and what they should find.
    depth : int, optional
        How many of the first items are wanted; None for whole lists. Items that share the last one's score stay.
    single : bool
        Whether scores may be compared in single precision, which makes ties.
    shuffle : numpy.random.Generator, optional
        Draws the order of each list: without it, items are in the catalogue's order.
    """
    numbers = candidates.seen.user_numbers.numbers(graded.user_ids, "users")
    ends = np.searchsorted(graded.user, np.arange(len(numbers) + 1))
    size = max(1, BLOCK // max(len(candidates), 1))
    for first in range(0, len(numbers), size):
        users = slice(first, first + size)
        scores = _scores(ranker, candidates, graded.user_ids[users])
        rows, items = candidates.seen_by(numbers[users])
        scores[rows, items] = -np.inf
        wanted = slice(ends[first], ends[min(first + size, len(numbers))])
        found = graded.user[wanted] - first, graded.item[wanted], graded.ids[wanted], graded.grades[wanted]
        lists = _shortened(scores, candidates.ids, found, depth, single)
        yield lists if shuffle is None else _shuffled(lists, shuffle)


def _scores(ranker: ScoresUsers, candidates: Candidates, users: np.ndarray) -> np.ndarray:
    """Return a block's scores, checked."""
    own = () if candidates.items is None else (candidates.items,)
    given = np.asarray(ranker.score_matrix(users, *own))
    if given.shape != (len(users), len(candidates)):
        raise ValueError(
            f"score_matrix returned scores of shape {given.shape} for {len(users)} users and {len(candidates)} items"
        )
    scores = np.array(given, dtype=np.float64)
    if len(candidates) and not scores.max() < np.inf:  # NaN is not, either
        u, i = np.argwhere(~(scores < np.inf))[0]
        user, item = users[u : u + 1].tolist()[0], candidates.ids[i : i + 1].tolist()[0]
        raise ValueError(
            f"{type(ranker).__name__} gives user {user!r} the score {scores[u, i]} for item {item!r}: items cannot be "
            "ranked by it"
        )
    return scores


def _shortened(
    scores: np.ndarray, ids: np.ndarray, wanted: tuple[np.ndarray, ...], depth: int | None, single: bool
) -> UserLists:
    """Return what decides the metrics of a block; what is wanted but was seen already is no candidate."""
    user, item, wanted_ids, grade = wanted
    n_users, n_items = scores.shape
    top = scores > -np.inf
    known = item >= 0
    rows, columns = user[known], item[known]
    grades = np.zeros(scores.shape)
    grades[rows, columns] = np.where(top[rows, columns], grade[known], 0.0)
    if depth is not None and depth < n_items:
        least = np.partition(scores, n_items - depth, axis=1)[:, n_items - depth, None]
        near = (scores.astype(np.float32) >= least.astype(np.float32)) if single else scores >= least
        top &= near
    chosen_user, chosen = np.nonzero(top | (grades > 0.0))
    parts = (
        (chosen_user, user[~known]),
        (np.where(top, scores, -np.inf)[chosen_user, chosen], np.full((~known).sum(), -np.inf)),
        (grades[chosen_user, chosen], grade[~known]),
        (chosen, item[~known]),
        (ids[chosen], wanted_ids[~known]),
    )
    owner, *columns_ = (a if not len(b) else np.concatenate((a, b)) for a, b in parts)
    order = np.argsort(owner, kind="stable") if not known.all() else slice(None)
    offsets = np.searchsorted(owner[order], np.arange(n_users + 1))
    score, grade_, number, name = (column[order] for column in columns_)
    return UserLists(score, grade_, number, name, offsets)


def _shuffled(lists: UserLists, generator: np.random.Generator) -> UserLists:
    owner = np.repeat(np.arange(len(lists.offsets) - 1), np.diff(lists.offsets))
    order = np.lexsort((generator.random(len(owner)), owner))
    score, grade, number, name = (column[order] for column in lists[:-1])
    return UserLists(score, grade, number, name, lists.offsets)

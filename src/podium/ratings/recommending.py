"""The best items for users, block by block, and items that resemble each other."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from podium.core.parameters import require_count
from podium.ratings.data import Ratings
from podium.ratings.factors.model import FactorModel
from podium.ratings.factors.top import top_items

BLOCK = 4096
"""Users ranked at a time: their scores of all items need not fit into memory together with everybody's."""


class Recommendations(NamedTuple):
    """Items, best first, and their scores."""

    items: np.ndarray
    scores: np.ndarray


@dataclass(frozen=True)
class NewUser:
    """A user who was not fitted on, as ``fold_in`` of a ranker returns it."""

    factors: np.ndarray
    """(n_factors,)"""
    ratings: Ratings
    """What they rated: one user, with the ranker's numbers of items, −1 for an unknown one."""

    @property
    def seen(self) -> np.ndarray:
        """Ascending numbers of the known items they rated."""
        return np.sort(self.ratings.item[self.ratings.item >= 0])


def is_one_id(users: Any) -> bool:
    """Return whether this is the id of one user: a text, a tuple, or anything that is not a collection."""
    return isinstance(users, str | bytes | tuple) or not hasattr(users, "__len__") or np.ndim(users) == 0


def top_blocks(
    model: FactorModel, seen: Ratings, users: np.ndarray, n: int, *, exclude_seen: bool = True, size: int = BLOCK
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield the numbers and scores of the best items of some users at a time, each of shape (n_users, n).

    ``users`` are numbers of users, −1 for one who is not known. Best first, the lower number first among equals; −1
    where there are fewer than n items, of which there are never more than the model has.
    """
    require_count("n", n)
    for start in range(0, len(users), size):
        block = users[start : start + size]
        counts = np.where(block < 0, 0, seen.sizes[block]) if exclude_seen else np.zeros_like(block)
        offsets = np.concatenate(([0], np.cumsum(counts)))
        rows = np.repeat(seen.offsets[block] - offsets[:-1], counts) + np.arange(offsets[-1])
        matrices = np.ascontiguousarray(model.users[block]), model.item_factors, model.item_bias
        yield top_items(matrices, seen.ascending[rows], offsets, min(n, seen.n_items))


def similar_items(model: FactorModel, item: int, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the numbers of the n items whose factors have the highest cosines with those of ``item``, and these.

    A factor that is the same for all items, such as the one that carries users' biases, tells none apart and is left
    out. An item whose factors are all 0 resembles none. Of equals the lower number comes first.
    """
    require_count("n", n)
    factors = model.item_factors
    factors = factors[:, np.ptp(factors, axis=0) > 0]
    length = np.sqrt((factors**2).sum(axis=1))
    if length[item] == 0:
        raise ValueError("the factors of this item are all 0: no item is more similar to it than another")
    cosines = np.divide(factors @ factors[item], length * length[item], out=np.zeros(len(length)), where=length > 0)
    cosines[item] = -np.inf
    best = np.argsort(-cosines, kind="stable")[: min(n, len(cosines) - 1)]
    return best, cosines[best]

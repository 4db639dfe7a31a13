"""Gradients of a batch of users, on all items or on some that are drawn.

Users and items are rows of equal length: the last number of an item's row is its bias and that of a user's row is 1, so
scores are plain inner products. Every user of a batch writes to places of its own, and sums over users are in their
order: the number of threads changes no bit.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from podium.core.arrays import Array
from podium.numerics.compiling import njit
from podium.numerics.pool import share
from podium.numerics.random import streams
from podium.ratings.data import Ratings, group_numbers
from podium.ratings.factors.model import gather_rows
from podium.ratings.implicit.slopes import BPR, WARP, draw_unseen, rank_weight, replace_by_slopes
from podium.ratings.splits import random_places


@dataclass(frozen=True)
class Seen:
    """What each user has seen: ascending numbers of items, and the stage of each, 0 the best."""

    offsets: np.ndarray
    items: np.ndarray
    stages: np.ndarray
    n_items: int

    @classmethod
    def of(cls, ratings: Ratings, *, by_value: bool = False) -> "Seen":
        """Return the items that were rated: one stage, or one per distinct value of a user, the highest first."""
        user, value = ratings.user, ratings.values
        order = np.lexsort((ratings.item, user))
        stages = np.zeros(len(ratings), np.int64)
        if by_value and len(ratings):
            best_first = np.lexsort((-value, user))
            u, v = user[best_first], value[best_first]
            first = np.diff(u, prepend=-1) != 0
            lower = np.cumsum(~first & (np.diff(v, prepend=v[0]) != 0))
            stages[best_first] = lower - np.repeat(lower[first], np.diff(np.append(np.flatnonzero(first), len(u))))
        return cls(ratings.offsets, ratings.item[order], stages[order], ratings.n_items)

    @cached_property
    def n_stages(self) -> int:
        return int(self.stages.max(initial=0)) + 1


class Gradients:
    """Values and gradients of a loss, a batch of users at a time.

    Parameters
    ----------
    n_drawn : int, optional
        Of unseen items per user (pmop and softmax; None: all), per seen item (bpr), or most draws per seen item (warp).
    group_size : int, optional
        In each epoch a user's seen items are divided at random into groups of so many, each a stage.
    """

    def __init__(self, seen: Seen, kind: int, n_drawn: int | None, seed: int, group_size: int | None = None) -> None:
        self.seen, self.kind, self.seed, self.group_size = seen, kind, seed, group_size
        self.whole = n_drawn is None and kind not in (BPR, WARP)
        self.n_drawn = {BPR: 1, WARP: seen.n_items}.get(kind, 0) if n_drawn is None else n_drawn
        self._streams = np.empty(0, np.uint64)

    def start_epoch(self, epoch: int) -> None:
        """Draw anew: random numbers depend on the seed, the epoch and the user alone."""
        if self.group_size is not None:
            place = random_places(self.seen.offsets, (self.seed, epoch))
            self.seen = replace(self.seen, stages=place // self.group_size)
        if not self.whole:
            self._streams = streams(self.seed, epoch, len(self.seen.offsets) - 1)

    def __call__(self, batch: np.ndarray, users: Array, items: Array) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the values of the users numbered ``batch``, and the gradients by their rows and by the items'."""
        return self._on_all(batch, users, items) if self.whole else self._on_drawn(batch, users, items)

    def _on_all(self, batch: np.ndarray, users: Array, items: Array) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        slopes = users @ items.T
        values = np.zeros(len(batch))
        seen = self.seen
        arrays = seen.offsets, seen.items, seen.stages, seen.n_stages
        share(_slopes_of_all, len(batch), self.kind, batch, slopes, *arrays, values, work=10.0 * slopes.size)
        return values, slopes @ items, slopes.T @ users

    def _on_drawn(self, batch: np.ndarray, users: Array, items: Array) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        seen, n = self.seen, self.n_drawn
        sizes = seen.offsets[batch + 1] - seen.offsets[batch]
        lengths = sizes * (1 + n) if self.kind == BPR else 2 * sizes if self.kind == WARP else sizes + n
        lengths[(sizes == 0) | (sizes == seen.n_items)] = 0  # nothing to compare
        offsets = np.concatenate(([0], np.cumsum(lengths)))
        drawn, slopes, values = np.zeros(offsets[-1], np.int64), np.zeros(offsets[-1]), np.zeros(len(batch))
        arrays = seen.offsets, seen.items, seen.stages, seen.n_stages
        work = len(drawn) * (users.shape[1] + 20.0)
        share(
            _slopes_of_drawn,
            offsets,
            self.kind,
            n,
            *(batch, users, items, *arrays, self._streams, offsets, drawn, slopes, values),
            work=work,
        )
        rows = np.arange(len(drawn))
        d_users = gather_rows(items, slopes, offsets, rows, drawn)
        by_item, item_offsets = group_numbers(drawn, seen.n_items)
        place = np.repeat(np.arange(len(batch)), lengths)
        return values, d_users, gather_rows(users, slopes, item_offsets, by_item, place[by_item])


@njit(cache=True, nogil=True, error_model="numpy")
def _slopes_of_all(
    first: int,
    stop: int,
    kind: int,
    batch: Array,
    scores: Array,
    offsets: Array,
    items: Array,
    stages: Array,
    n_stages: int,
    values: Array,
) -> None:
    """Replace the scores of all items, (n_batch, n_items), by derivatives."""
    sums = np.empty((2, n_stages))
    for k in range(first, stop):
        row, start, end = scores[k], offsets[batch[k]], offsets[batch[k] + 1]
        seen, stage = items[start:end], stages[start:end]
        if len(seen) == 0 or len(seen) == len(row):
            row[:] = 0.0
            continue
        own = np.empty(len(seen))
        n_own = 0
        for i in range(len(seen)):
            own[i] = row[seen[i]]
            row[seen[i]] = -np.inf
            n_own = max(n_own, stage[i] + 1)
        values[k] = replace_by_slopes(kind, own, stage, sums[:, :n_own], row, 1.0)
        for i in range(len(seen)):
            row[seen[i]] = own[i]


@njit(cache=True, nogil=True, error_model="numpy")
def _slopes_of_drawn(
    first: int,
    stop: int,
    kind: int,
    n_drawn: int,
    batch: Array,
    users: Array,
    factors: Array,
    offsets: Array,
    items: Array,
    stages: Array,
    n_stages: int,
    words: Array,
    places: Array,
    drawn: Array,
    slopes: Array,
    values: Array,
) -> None:
    """Draw unseen items; write which items take part, and the derivatives of their scores."""
    sums = np.empty((2, n_stages))
    for k in range(first, stop):
        u, w, n_items = batch[k], users[k], len(factors)
        seen, stage = items[offsets[u] : offsets[u + 1]], stages[offsets[u] : offsets[u + 1]]
        own, slope = drawn[places[k] : places[k + 1]], slopes[places[k] : places[k + 1]]
        if len(own) == 0:
            continue
        stream, n = words[u : u + 1], len(seen)
        if kind == BPR:
            values[k] = _bpr(stream, w, factors, seen, n_drawn, own, slope)
        elif kind == WARP:
            values[k] = _warp(stream, w, factors, seen, n_drawn, own, slope)
        else:
            n_own = 0
            for i in range(n):
                own[i] = seen[i]
                n_own = max(n_own, stage[i] + 1)
            for i in range(n, len(own)):
                own[i] = draw_unseen(stream, seen, n_items)
            for i in range(len(own)):
                slope[i] = _dot(w, factors[own[i]])
            weight = (n_items - n) / n_drawn
            values[k] = replace_by_slopes(kind, slope[:n], stage, sums[:, :n_own], slope[n:], weight)


@njit(error_model="numpy")
def _bpr(stream: Array, w: Array, factors: Array, seen: Array, n_drawn: int, own: Array, slope: Array) -> float:
    value, place = 0.0, 0
    for i in range(len(seen)):
        own[place] = seen[i]
        score, first = _dot(w, factors[seen[i]]), place
        for _ in range(n_drawn):
            place += 1
            own[place] = draw_unseen(stream, seen, len(factors))
            gap = score - _dot(w, factors[own[place]])
            value += (max(-gap, 0.0) + np.log1p(np.exp(-abs(gap)))) / n_drawn
            slope[place] = 1.0 / (1.0 + np.exp(gap)) / n_drawn
            slope[first] -= slope[place]
        place += 1
    return value


@njit(error_model="numpy")
def _warp(stream: Array, w: Array, factors: Array, seen: Array, n_drawn: int, own: Array, slope: Array) -> float:
    value, n_unseen = 0.0, len(factors) - len(seen)
    for i in range(len(seen)):
        score = _dot(w, factors[seen[i]])
        own[2 * i] = own[2 * i + 1] = seen[i]
        for n in range(1, min(n_drawn, n_unseen) + 1):
            item = draw_unseen(stream, seen, len(factors))
            loss = 1.0 - score + _dot(w, factors[item])
            if loss > 0.0:
                weight = rank_weight(n_unseen, n)
                own[2 * i + 1] = item
                slope[2 * i], slope[2 * i + 1] = -weight, weight
                value += weight * loss
                break
    return value


@njit(error_model="numpy")
def _dot(a: Array, b: Array) -> float:
    total = 0.0
    for d in range(len(a)):
        total += a[d] * b[d]
    return total

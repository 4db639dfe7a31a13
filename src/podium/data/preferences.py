"""Preferences as labels: pairs of documents of which one is better."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["Preferences"]


class Preferences:
    """Observed pairs (winner, loser) of documents of the same query: a partial order, possibly with cycles.

    Grades compare any two documents of a query; preferences state only the pairs that were observed. A pair that is
    absent means "nothing known", not "tied".

    Parameters
    ----------
    winner, loser : (n_pairs,) integers
        Row numbers of documents, in the caller's row order. Both must belong to the same query.
    weight : (n_pairs,), optional
        Non-negative weight of each pair, 1 by default. Pairs given more than once are merged and their weights added.

    Cycles (a over b, b over a) are allowed: each pair is an observation, and the model weighs them against each other.

    Examples
    --------
    >>> Preferences([0, 0, 2], [1, 1, 0])
    Preferences(2 distinct pairs, total weight 3)
    """

    def __init__(self, winner: Any, loser: Any, weight: Any = None) -> None:
        winner, loser = _rows(winner, "winner"), _rows(loser, "loser")
        if winner.shape != loser.shape:
            raise ValueError(f"{len(winner)} winners for {len(loser)} losers")
        weight = np.ones(len(winner)) if weight is None else np.asarray(weight, np.float64)
        if weight.shape != winner.shape:
            raise ValueError(f"weight must have one entry for each of the {len(winner)} pairs; got {weight.shape}")
        if not np.isfinite(weight).all() or (weight < 0).any():
            raise ValueError("weights of preferences must be finite and not negative")
        same = np.flatnonzero(winner == loser)
        if len(same):
            raise ValueError(f"pair {same[0]} prefers document {winner[same[0]]} to itself")
        pairs, number = np.unique(np.stack([winner, loser], axis=1), axis=0, return_inverse=True)
        self.winner, self.loser = pairs[:, 0].copy(), pairs[:, 1].copy()
        self.weight = np.bincount(number.ravel(), weights=weight, minlength=len(pairs))

    def __len__(self) -> int:
        return len(self.winner)

    def __repr__(self) -> str:
        return f"Preferences({len(self)} distinct pairs, total weight {self.weight.sum():g})"

    def shares_of_wins(self, n: int) -> np.ndarray:
        """Return for each of ``n`` documents the weight of the pairs it wins, as a share of those it is in; else NaN.

        Examples
        --------
        >>> Preferences([0, 0, 1], [1, 2, 2]).shares_of_wins(4).tolist()
        [1.0, 0.5, 0.0, nan]
        """
        self._require_within(n)
        won, lost = (np.bincount(rows, self.weight, n) for rows in (self.winner, self.loser))
        total = won + lost
        return np.where(total > 0, won / np.where(total > 0, total, 1.0), np.nan)

    def among(self, rows: np.ndarray, n: int) -> Preferences:
        """Return the pairs whose documents are both in ``rows`` (of ``n``), renumbered to their places there."""
        self._require_within(n)
        place = np.full(n, -1)
        place[rows] = np.arange(len(rows))
        winner, loser = place[self.winner], place[self.loser]
        both = (winner >= 0) & (loser >= 0)
        return Preferences(winner[both], loser[both], self.weight[both])

    def by_query(self, offsets: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Return the pairs sorted by query: places of winner and loser in the query, weights, offsets of queries."""
        self._require_within(int(offsets[-1]))
        query, other = (np.searchsorted(offsets, rows, side="right") - 1 for rows in (self.winner, self.loser))
        across = np.flatnonzero(query != other)
        if len(across):
            pair = across[0]
            raise ValueError(
                f"documents {self.winner[pair]} and {self.loser[pair]} are in different queries "
                f"(number {query[pair]} and {other[pair]}); a preference compares documents of one query"
            )
        order = np.argsort(query, kind="stable")
        start = offsets[query[order]]
        first = np.concatenate(([0], np.cumsum(np.bincount(query, minlength=len(offsets) - 1)))).astype(np.int64)
        return self.winner[order] - start, self.loser[order] - start, self.weight[order], first

    def _require_within(self, n: int) -> None:
        last = max(self.winner.max(initial=-1), self.loser.max(initial=-1))
        if last >= n:
            raise ValueError(f"a preference names document {last}, but there are only {n} (0 to {n - 1})")


def _rows(rows: Any, name: str) -> np.ndarray:
    array = np.asarray(rows)
    if array.ndim != 1 or (array.size and not np.issubdtype(array.dtype, np.integer)):
        raise ValueError(f"{name} must be a one-dimensional sequence of row numbers; got {array.dtype} {array.shape}")
    if array.size and array.min() < 0:
        raise ValueError(f"{name} has a negative row number, {array.min()}")
    return array.astype(np.int64)

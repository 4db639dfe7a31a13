"""Preferences as labels: pairs of documents of which one is better."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["Preferences"]


class Preferences:
    """Observed pairs (winner, loser) of documents of the same query: a partial order, possibly with cycles.

    Grades compare any two documents of a query; preferences state only the pairs that were observed. A pair that is
    absent means "nothing known", not "tied". Cycles (a over b, b over a) are allowed: each pair is an observation, and
    the model weighs them against each other.

    Parameters
    ----------
    winner, loser : (n_pairs,) integers
        Row numbers of documents, in the caller's row order. Both must belong to the same query.
    weight : (n_pairs,) array, optional
        Non-negative weight of each pair, 1 by default. Pairs given more than once are merged and their weights added.
    tied : (n_ties, 2) integers, optional
        Pairs of documents that were found equal, in any order. Models of ties (PairTies) learn from them; others
        pass over them, as they do over equal grades.

    Examples
    --------
    >>> Preferences([0, 0, 2], [1, 1, 0])
    Preferences(2 distinct pairs, total weight 3)
    """

    tied: np.ndarray
    """(n_ties, 2) distinct pairs found equal, the smaller row number first."""
    tied_weight: np.ndarray
    """(n_ties,) how often each was."""

    def __init__(self, winner: Any, loser: Any, weight: Any = None, *, tied: Any = None) -> None:
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
        pairs, self.weight = _merged(np.stack([winner, loser], axis=1), weight)
        self.winner, self.loser = pairs[:, 0].copy(), pairs[:, 1].copy()
        ties = _ties(tied)
        self.tied, self.tied_weight = _merged(ties, np.ones(len(ties)))

    def __len__(self) -> int:
        return len(self.winner)

    def __repr__(self) -> str:
        ties = f", {len(self.tied)} tied" if len(self.tied) else ""
        return f"Preferences({len(self)} distinct pairs, total weight {self.weight.sum():g}{ties})"

    def shares_of_wins(self, n: int) -> np.ndarray:
        """Return for each document the weight of the pairs it wins, as a share of those it is in.

        A tie is half a win for both.

        Parameters
        ----------
        n : int
            Documents there are.

        Returns
        -------
        numpy.ndarray
            Shares (n,); NaN for documents in no pair.

        Examples
        --------
        >>> Preferences([0, 0, 1], [1, 2, 2]).shares_of_wins(4).tolist()
        [1.0, 0.5, 0.0, nan]
        """
        self._require_within(n)
        halves = sum(np.bincount(rows, 0.5 * self.tied_weight, n) for rows in self.tied.T)
        won, lost = (np.bincount(rows, self.weight, n) + halves for rows in (self.winner, self.loser))
        total = won + lost
        return np.where(total > 0, won / np.where(total > 0, total, 1.0), np.nan)

    def among(self, rows: np.ndarray, n: int) -> Preferences:
        """Return the pairs whose documents are both in ``rows`` (of ``n``), renumbered to their places there."""
        self._require_within(n)
        place = np.full(n, -1)
        place[rows] = np.arange(len(rows))
        winner, loser, ties = place[self.winner], place[self.loser], place[self.tied]
        both, tied = (winner >= 0) & (loser >= 0), (ties >= 0).all(axis=1)
        fewer = Preferences(winner[both], loser[both], self.weight[both])
        fewer.tied, fewer.tied_weight = _merged(np.sort(ties[tied], axis=1), self.tied_weight[tied])
        return fewer

    def with_grades(self, grades: np.ndarray, offsets: np.ndarray) -> Preferences:
        """Return these pairs and those that grades make, each of weight 1; equal grades are ties, NaN says nothing.

        A list of n graded documents has up to n²/2 pairs, which are written down here.

        Parameters
        ----------
        grades : (n_documents,) array
            Grades, grouped by query.
        offsets : (n_queries + 1,) integers
            Query q owns the documents ``offsets[q]:offsets[q + 1]``.

        Returns
        -------
        Preferences
            All pairs.

        Examples
        --------
        >>> Preferences([2], [0]).with_grades(np.array([1.0, 0.0, np.nan, 0.0]), np.array([0, 4]))
        Preferences(3 distinct pairs, total weight 3, 1 tied)
        """
        wins, ties = [np.stack([self.winner, self.loser], axis=1)], [self.tied]
        for start, stop in zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True):
            known = start + np.flatnonzero(~np.isnan(grades[start:stop]))
            y = grades[known]
            wins.append(known[np.argwhere(y[:, np.newaxis] > y)])
            ties.append(known[np.argwhere(np.triu(y[:, np.newaxis] == y, 1))])
        n_new, n_ties = (sum(map(len, pairs[1:])) for pairs in (wins, ties))
        pairs = np.concatenate(wins)
        both = Preferences(pairs[:, 0], pairs[:, 1], np.append(self.weight, np.ones(n_new)))
        both.tied, both.tied_weight = _merged(np.concatenate(ties), np.append(self.tied_weight, np.ones(n_ties)))
        return both

    def by_query(self, offsets: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Return the pairs sorted by query: places of winner and loser in the query, weights, offsets of queries."""
        self._require_within(int(offsets[-1]))
        return _by_query(self.winner, self.loser, self.weight, offsets)

    def ties_by_query(self, offsets: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Return the pairs found equal in the same way."""
        self._require_within(int(offsets[-1]))
        return _by_query(self.tied[:, 0], self.tied[:, 1], self.tied_weight, offsets)

    def _require_within(self, n: int) -> None:
        last = max(rows.max(initial=-1) for rows in (self.winner, self.loser, self.tied))
        if last >= n:
            raise ValueError(f"a preference names document {last}, but there are only {n} (0 to {n - 1})")


def _rows(rows: Any, name: str) -> np.ndarray:
    array = np.asarray(rows)
    if array.ndim != 1 or (array.size and not np.issubdtype(array.dtype, np.integer)):
        raise ValueError(f"{name} must be a one-dimensional sequence of row numbers; got {array.dtype} {array.shape}")
    if array.size and array.min() < 0:
        raise ValueError(f"{name} has a negative row number, {array.min()}")
    return array.astype(np.int64)


def _ties(tied: Any) -> np.ndarray:
    pairs = np.empty((0, 2), np.int64) if tied is None or np.size(tied) == 0 else np.asarray(tied)
    if pairs.ndim != 2 or pairs.shape[1] != 2:
        raise ValueError(f"tied must have two row numbers per pair, shape (n_ties, 2); got {pairs.shape}")
    pairs = np.sort(np.stack([_rows(pairs[:, 0], "tied"), _rows(pairs[:, 1], "tied")], axis=1), axis=1)
    same = np.flatnonzero(pairs[:, 0] == pairs[:, 1])
    if len(same):
        raise ValueError(f"tie {same[0]} ties document {pairs[same[0], 0]} with itself")
    return pairs


def _merged(pairs: np.ndarray, weight: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the distinct pairs and the sum of the weights of each."""
    distinct, number = np.unique(pairs, axis=0, return_inverse=True)
    return distinct, np.bincount(number.ravel(), weights=weight, minlength=len(distinct))


def _by_query(
    one: np.ndarray, other: np.ndarray, weight: np.ndarray, offsets: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    query, its_query = (np.searchsorted(offsets, rows, side="right") - 1 for rows in (one, other))
    across = np.flatnonzero(query != its_query)
    if len(across):
        pair = across[0]
        raise ValueError(
            f"documents {one[pair]} and {other[pair]} are in different queries "
            f"(number {query[pair]} and {its_query[pair]}); a preference compares documents of one query"
        )
    order = np.argsort(query, kind="stable")
    start = offsets[query[order]]
    first = np.concatenate(([0], np.cumsum(np.bincount(query, minlength=len(offsets) - 1)))).astype(np.int64)
    return one[order] - start, other[order] - start, weight[order], first

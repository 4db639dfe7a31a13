"""The lists that the sessions of a log showed, with their clicks; lists that are alike are one, counted."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from podium.data.clicks import Clicks


@dataclass(frozen=True)
class ShownLists:
    """Lists that were shown, sorted by query: the same documents at the same places with the same clicks are one list.

    Only those with documents that were clicked and others that were not are here: they alone compare documents.
    """

    query: np.ndarray
    """(n_lists,) number of each list's query, ascending."""
    times: np.ndarray
    """(n_lists,) how often each was shown, float64."""
    offsets: np.ndarray
    """(n_lists + 1,) int64: list l owns the slice ``offsets[l]:offsets[l + 1]`` of the arrays below."""
    document: np.ndarray
    """Rows of ``clicks.queries``, uint32, from the top of each list to its end."""
    place: np.ndarray
    """Places, from 0, uint32."""
    clicked: np.ndarray
    """Whether the document was clicked."""
    n_places: int

    @classmethod
    def of(cls, clicks: Clicks, why: str) -> ShownLists:
        """Return the lists of a log; raise if it has no sessions, saying ``why`` they are needed."""
        if clicks.session is None:
            raise ValueError(
                f"{why} compares documents that were shown together, and this log does not say which were: give "
                "session= with it"
            )
        n, k = int(clicks.session.max()) + 1, clicks.n_places
        # Documents and clicks in one number, 0 where nothing was shown.
        shown = np.zeros((n, k), np.uint32 if clicks.queries.n_documents < 2**31 - 1 else np.uint64)
        shown[clicks.session, clicks.position - 1] = 2 * clicks.row + 2 + (clicks.clicks > 0)
        query = np.empty(n, np.int64)
        query[clicks.session] = clicks.query
        n_clicked, n_shown = (shown & 1).sum(axis=1), (shown > 0).sum(axis=1)
        telling = (n_clicked > 0) & (n_clicked < n_shown)
        shown, query = shown[telling], query[telling]
        order = np.lexsort((_fingerprints(shown), query))
        shown, query = shown[order], query[order]
        is_new = np.ones(len(shown), bool)
        # Neighbors with equal fingerprints are compared themselves: lists that differ are never taken for one.
        is_new[1:] = (shown[1:] != shown[:-1]).any(axis=1)
        times = np.bincount(np.cumsum(is_new) - 1, minlength=int(is_new.sum()))
        shown, query = shown[is_new], query[is_new]
        there = shown > 0
        flat = shown[there]
        return cls(
            query,
            times.astype(np.float64),
            np.concatenate(([0], np.cumsum(there.sum(axis=1)))),
            ((flat >> 1) - 1).astype(np.uint32),
            np.broadcast_to(np.arange(k, dtype=np.uint32), shown.shape)[there],
            (flat & 1).astype(bool),
            k,
        )

    def first_of_queries(self, n_queries: int) -> np.ndarray:
        """Return (n_queries + 1,): query q has the lists ``first[q]:first[q + 1]``."""
        return np.searchsorted(self.query, np.arange(n_queries + 1))


def _fingerprints(shown: np.ndarray) -> np.ndarray:
    """Return a number for each row, equal for equal rows."""
    rng = np.random.default_rng(0)
    made = np.zeros(len(shown), np.uint64)
    for column in shown.T:
        made += column.astype(np.uint64) * np.uint64(2 * int(rng.integers(2**62)) + 1)  # wraps around
    return made

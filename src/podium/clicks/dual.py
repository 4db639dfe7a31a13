"""Dual learning: a ranker and propensities, each learned from clicks that are weighted with the inverse of the other.

Both are softmax functions over a list. With f the ranker's, g the places' and the first place as the reference,

    L(s) = −Σ_clicked (g_1 / g_k) log f_i        L(θ) = −Σ_clicked (f_1 / f_i) log g_k

(Ai, Bi, Luo, Guo and Croft: *Unbiased learning to rank with unbiased propensity estimation*, SIGIR 2018). Where both
are lowest, f is proportional to the attractiveness of documents and g to the propensities.

Here the sessions of a query are one list, in which each document counts as often as it was shown: a document shown n
times has f = n e^s / Σ n e^s, and place k, shown m_k times, has g = m_k θ_k / Σ m θ. These have the same lowest points
on average, need no sessions, and take as long for a million of them as for a thousand.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from podium.clicks.cells import Cells
from podium.clicks.document_scores import DocumentScores
from podium.clicks.settling import settled
from podium.clicks.swaps import swap_propensities
from podium.data.queries import Queries

_STEPS = 20
"""Newton steps of the ranker between two updates of the propensities, at most."""


class DualLearning:
    """Dual learning on one log, which starts again from where it ended."""

    def __init__(self, cells: Cells, queries: Queries) -> None:
        self.query = queries.query_of_document
        self.n_queries = len(queries)
        self.start = DocumentScores.of(queries)
        self.theta = rates_of_places(cells)

    def estimate(self, cells: Cells) -> np.ndarray:
        """Return θ of each place, θ_1 = 1, of the whole log."""
        what = "propensities by dual learning"
        self.theta, self.start = self._climb(cells, np.ones(cells.n_documents), 1e-5, 600, what)
        return self.theta

    def again(self, cells: Cells, times: np.ndarray) -> np.ndarray:
        """Return θ of the log in which documents count so many times, as the counts of these cells do already."""
        return self._climb(cells, times, 1e-3, 60, "")[0]

    def _climb(
        self, cells: Cells, times: np.ndarray, tolerance: float, most: int, what: str
    ) -> tuple[np.ndarray, DocumentScores]:
        ranker = self.start

        def step(theta: np.ndarray) -> np.ndarray:
            nonlocal ranker
            ranker = _ranked(ranker, cells, theta / theta[0], times)
            return self._propensities(cells, ranker.scores)

        theta = settled(step, self.theta, tolerance=tolerance, most=most, what=what)
        return theta / theta[0], ranker

    def _propensities(self, cells: Cells, scores: np.ndarray) -> np.ndarray:
        """Return θ given the ranker: each click counts f_1 / f_i, f_1 being the mean over what was shown on top."""
        relevance = np.exp(scores - _largest(scores, self.query, self.n_queries)[self.query])
        on_top = cells.impressions * (cells.place == 0)
        sums = np.bincount(self.query[cells.row], on_top * relevance[cells.row], self.n_queries)
        counts = np.bincount(self.query[cells.row], on_top, self.n_queries)
        reference = np.divide(sums, counts, out=np.ones(self.n_queries), where=counts > 0)
        worth = cells.clicks * reference[self.query[cells.row]] / relevance[cells.row]
        # Documents that nobody clicked, of f = 0, cannot be weighed: with their impressions places would seem unseen.
        weighed = (cells.by_document(cells.clicks) > 0)[cells.row]
        cells = replace(cells, impressions=cells.impressions * weighed)
        return swap_propensities(_by_query(cells, worth, self.query, self.n_queries), self.theta)[0]


def rates_of_places(cells: Cells) -> np.ndarray:
    """Return click rates of places, the first 1."""
    rate = (cells.by_place(cells.clicks) + 0.5) / (cells.by_place(cells.impressions) + 1.0)
    return rate / rate[0]


def _ranked(ranker: DocumentScores, cells: Cells, theta: np.ndarray, times: np.ndarray) -> DocumentScores:
    """Return the ranker of the lowest L(s): a softmax loss, labels being weighted clicks."""
    worth = cells.by_document(cells.clicks / theta[cells.place])
    shown = cells.by_document(cells.impressions)
    # A click weighted with 1/θ says no more than one that is not: so many times is its variance its mean.
    spread = cells.by_document(cells.impressions / theta[cells.place]) / np.maximum(shown, 1e-300)
    query, n = ranker.query, ranker.n_queries
    clicked = np.bincount(query, worth, n)
    for _ in range(_STEPS):
        scores = ranker.scores
        odds = shown * np.exp(scores - _largest(scores, query, n)[query])
        expected = (clicked / np.maximum(np.bincount(query, odds, n), 1e-300))[query] * odds
        ranker, change = ranker.improved(worth - expected, expected, times * spread)
        if change < 1e-6:
            break
    return ranker


def _largest(scores: np.ndarray, query: np.ndarray, n: int) -> np.ndarray:
    largest = np.full(n, -np.inf)
    np.maximum.at(largest, query, scores)
    return largest


def _by_query(cells: Cells, worth: np.ndarray, query: np.ndarray, n: int) -> Cells:
    """Return impressions and worths of clicks per query and place."""
    k = cells.n_places
    cell = query[cells.row] * k + cells.place
    shown = np.bincount(cell, cells.impressions, n * k)
    filled = np.flatnonzero(shown)
    clicks = np.bincount(cell, worth, n * k)[filled]
    return Cells(filled // k, filled % k, shown[filled], clicks, n, k)

"""Pairwise debiasing: the loss of a pair is divided by t⁺ of the place of its click and t⁻ of the other place.

    L = Σ ℓ_ij / (t⁺_p t⁻_q)        ℓ_ij = log(1 + e^{s_j − s_i})

over the pairs of a document i clicked at place p and a document j, not clicked, at place q of the same list. The ranker
minimizes L given t⁺ and t⁻, and these are the fixed point of

    t⁺_p = [Σ ℓ_ij / t⁻_q over pairs clicked at p  ÷  the same at place 1]^{1/(1 + norm)}

and t⁻_q likewise, of ℓ_ij / t⁺_p over the pairs not clicked at q (Hu, Wang, Peng and Li: *Unbiased LambdaMART: an
unbiased pairwise learning-to-rank algorithm*, WWW 2019). t⁺ stands for the ratio of clicks to relevance, t⁻ for that of
skips to irrelevance; that both depend on the place alone, and losses not on it, are assumptions that clicks of the
position-based model do not meet.
"""

from __future__ import annotations

import numpy as np

from podium.clicks.cells import Cells
from podium.clicks.document_scores import DocumentScores
from podium.clicks.place_pairs import CountedPairs, ExpectedPairs, PlacePairs
from podium.clicks.settling import settled
from podium.core.arrays import Array
from podium.data.clicks import Clicks
from podium.data.shown import ShownLists
from podium.numerics.compiling import njit

_STEPS = 50
"""Steps of the ranker between two updates of the places, at most."""


class PairwiseDebiasing:
    """Pairwise debiasing of one log, which starts again from where it ended."""

    def __init__(self, cells: Cells, clicks: Clicks, norm: float) -> None:
        self.norm = norm
        self.pairs = pairs_of(cells, clicks)
        self.start = DocumentScores.of(clicks.queries)
        self.both = np.ones(2 * cells.n_places)

    def estimate(self) -> tuple[np.ndarray, np.ndarray]:
        """Return t⁺ and t⁻ of each place, of the whole log."""
        times = np.ones(len(self.start.query))
        self.both, self.start = self._climb(times, 1e-5, 600, "the factors of pairwise debiasing")
        plus, minus = np.split(self.both, 2)
        return plus, minus

    def again(self, cells: Cells, times: np.ndarray) -> np.ndarray:
        """Return t⁺ of the log in which documents count so many times."""
        return np.split(self._climb(times, 1e-3, 60, "")[0], 2)[0]

    def _climb(self, times: np.ndarray, tolerance: float, most: int, what: str) -> tuple[np.ndarray, DocumentScores]:
        ranker, pairs, of_pair = self.start, self.pairs, times[self.pairs.winner]

        def step(both: np.ndarray) -> np.ndarray:
            nonlocal ranker
            plus, minus = np.split(both, 2)
            ranker = _ranked(ranker, pairs, of_pair * pairs.weights(1.0 / np.outer(plus, minus)), times)
            lead = ranker.scores[pairs.winner] - ranker.scores[pairs.loser]
            losses = pairs.by_places(of_pair * np.logaddexp(0.0, -lead))
            return np.concatenate(updated(losses, plus, minus, self.norm))

        return settled(step, self.both, tolerance=tolerance, most=most, what=what), ranker


def pairs_of(cells: Cells, clicks: Clicks) -> PlacePairs:
    """Return the pairs of a log: counted in its sessions or, of a log without them, those expected."""
    if clicks.session is None:
        pairs: PlacePairs = ExpectedPairs.of(cells, clicks.queries, clicks.n_sessions)
    else:
        pairs = CountedPairs.of(ShownLists.of(clicks, "pairwise debiasing"), clicks.queries)
    if not len(pairs.winner):
        raise ValueError("no list has both documents that were clicked and others: pairwise debiasing compares these")
    return pairs


def updated(losses: np.ndarray, plus: np.ndarray, minus: np.ndarray, norm: float) -> tuple[np.ndarray, np.ndarray]:
    """Return t⁺ and t⁻ anew, from the losses by places, (clicked, not clicked), and t⁺ and t⁻ before."""
    clicked, skipped = (losses / minus).sum(axis=1), (losses / plus[:, np.newaxis]).sum(axis=0)
    return _rooted(clicked, norm), _rooted(skipped, norm)


def _rooted(sums: np.ndarray, norm: float) -> np.ndarray:
    if sums[0] <= 0.0:
        raise ValueError("no pair has place 1, with which pairwise debiasing compares the others")
    return np.maximum(sums / sums[0], 1e-6) ** (1.0 / (1.0 + norm))


def _ranked(ranker: DocumentScores, pairs: PlacePairs, weights: np.ndarray, times: np.ndarray) -> DocumentScores:
    """Return the ranker of the lowest L given the weights of pairs."""
    for _ in range(_STEPS):
        downhill, curvature = _derivatives(pairs.winner, pairs.loser, weights, ranker.scores)
        ranker, change = ranker.improved(downhill, curvature, times)
        if change < 1e-5:
            break
    return ranker


@njit(cache=True, nogil=True, error_model="numpy")
def _derivatives(winner: Array, loser: Array, weights: Array, scores: Array) -> tuple[Array, Array]:
    """Return minus the gradient, and a diagonal that is never below the Hessian: twice its own."""
    downhill, curvature = np.zeros(len(scores)), np.zeros(len(scores))
    for p in range(len(winner)):
        i, j = winner[p], loser[p]
        wrong = 1.0 / (1.0 + np.exp(scores[i] - scores[j]))
        force, bend = weights[p] * wrong, 2.0 * weights[p] * wrong * (1.0 - wrong)
        downhill[i] += force
        downhill[j] -= force
        curvature[i] += bend
        curvature[j] += bend
    return downhill, curvature

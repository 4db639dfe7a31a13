"""Grades of documents that nobody judged, by their clicks, where those of others are known.

A document of grade y is clicked with probability γ_y if it is looked at; E expected looks bring C clicks, which are
Poisson with mean E γ_y. How frequent grades are depends on what a regression of clicks on features says: documents are
sorted by its means into bins with shares π of their own. EM finds γ and π from all documents; judged ones have their
grade, the others are each grade with some probability. Which documents were judged may depend on their clicks: that is
part of the likelihood, where comparing the clicks of the judged ones of a grade would be wrong. Documents whose clicks
leave their grade open are those that are asked for.
"""

from __future__ import annotations

import numpy as np

_BINS = 10
_SUPPOSED = 5.0
"""So many documents with the shares of all are added to each bin."""
_LOOKS = 2.0
"""So many looks are added to those at documents of each grade, with the clicks that a line between the least and the
most attractive documents expects."""
_ROUNDS, _SETTLED = 200, 1e-5
_MOST = 20
"""Gains that are told apart; of more, the nearest of so many are taken."""


def by_grades(
    gains: np.ndarray, clicks: np.ndarray, looks: np.ndarray, means: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the expected attractiveness of each document, and its standard deviation.

    ``gains`` are NaN where a document was not judged; ``means`` are those of the regression.
    """
    judged = ~np.isnan(gains)
    kinds = _kinds(gains[judged])
    clicks = np.maximum(clicks, 0.0)
    known = np.zeros((len(gains), len(kinds)))
    known[judged, np.abs(gains[judged, np.newaxis] - kinds).argmin(axis=1)] = 1.0
    cuts = np.quantile(means, np.arange(1, _BINS) / _BINS)
    bins = np.searchsorted(cuts, means)
    shrunk = (clicks + means) / (looks + 1.0)
    least, most = np.quantile(shrunk[looks > 0.0], [0.1, 0.99])
    line = least + (most - least) * kinds
    gamma, share = line, np.tile((known.sum(axis=0) + 1.0) / (judged.sum() + len(kinds)), (_BINS, 1))
    for _ in range(_ROUNDS):
        before = gamma
        with np.errstate(divide="ignore"):
            chance = clicks[:, np.newaxis] * np.log(gamma) - looks[:, np.newaxis] * gamma + np.log(share[bins])
        chance = np.exp(chance - chance.max(axis=1, keepdims=True))
        chance /= chance.sum(axis=1, keepdims=True)
        chance[judged] = known[judged]
        gamma = (clicks @ chance + _LOOKS * line) / (looks @ chance + _LOOKS)
        gamma = np.clip(np.maximum.accumulate(gamma), 1e-6, 1.0)
        overall = chance.mean(axis=0)
        counts = np.stack([np.bincount(bins, column, _BINS) for column in chance.T], axis=1)
        share = (counts + _SUPPOSED * overall) / (counts.sum(axis=1, keepdims=True) + _SUPPOSED)
        if np.abs(gamma - before).max() < _SETTLED:
            break
    mean = chance @ gamma
    return mean, np.sqrt(np.maximum(chance @ np.square(gamma) - np.square(mean), 0.0))


def _kinds(gains: np.ndarray) -> np.ndarray:
    """Return the gains that documents may have, 0 and 1 among them, whether or not a judged one has."""
    kinds = np.unique(np.append(gains, [0.0, 1.0]))
    return kinds if len(kinds) <= _MOST else np.linspace(0.0, 1.0, _MOST)

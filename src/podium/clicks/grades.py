"""How attractive documents are, as a mixture over what documents are: by clicks, or by clicks and grades of some.

A document of attractiveness γ is clicked with probability γ if it is looked at; E expected looks bring C clicks, which
are Poisson with mean E γ. How frequent values of γ are depends on what a regression of clicks on features says:
documents are sorted by its means into bins with shares of their own. EM finds the shares from all documents.

Without judgments, γ is one of a grid (a nonparametric prior: relevance has no bell-shaped distribution). With them, a
document has one of the grades that were given, each with a γ that EM finds, too; judged documents have theirs. Which
documents were judged may depend on their clicks: that is part of the likelihood, where comparing the clicks of judged
documents would be wrong, since those whose clicks mislead are the ones whose judgment is asked for.
"""

from __future__ import annotations

import numpy as np

_GRID = np.linspace(0.02, 1.0, 25)
_BINS = 10
_SUPPOSED = 5.0
"""So many documents with the shares of all are added to each bin."""
_LOOKS = 2.0
"""So many looks are added to those at documents of each grade, with the clicks that a line between the least and the
most attractive documents expects."""
_ROUNDS, _SETTLED = 200, 1e-4
_ROUNDS_ON_GRID = 60
_MOST = 20
"""Gains that are told apart; of more, the nearest of so many are taken."""


class _Shares:
    """How frequent the values of γ are in each bin of documents."""

    def __init__(self, means: np.ndarray, start: np.ndarray) -> None:
        self._bin = np.searchsorted(np.quantile(means, np.arange(1, _BINS) / _BINS), means)
        self._share = np.tile(start, (_BINS, 1))

    def chances(self, clicks: np.ndarray, looks: np.ndarray, gamma: np.ndarray) -> np.ndarray:
        """Return how likely each document has each γ."""
        logarithms = clicks[:, np.newaxis] * np.log(gamma) - looks[:, np.newaxis] * gamma
        with np.errstate(divide="ignore"):
            logarithms += np.log(self._share[self._bin])
        chances = np.exp(logarithms - logarithms.max(axis=1, keepdims=True))
        return np.asarray(chances / chances.sum(axis=1, keepdims=True))

    def learn(self, chances: np.ndarray) -> None:
        counts = np.stack([np.bincount(self._bin, column, _BINS) for column in chances.T], axis=1)
        added = counts + _SUPPOSED * chances.mean(axis=0)
        self._share = added / added.sum(axis=1, keepdims=True)


def by_clicks(clicks: np.ndarray, looks: np.ndarray, means: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the expected attractiveness of each document, and its standard deviation; ``means`` by a regression."""
    clicks = np.maximum(clicks, 0.0)
    shares = _Shares(means, np.full(len(_GRID), 1.0 / len(_GRID)))
    for _ in range(_ROUNDS_ON_GRID):
        chances = shares.chances(clicks, looks, _GRID)
        shares.learn(chances)
    return _moments(chances, _GRID)


def by_grades(
    gains: np.ndarray, clicks: np.ndarray, looks: np.ndarray, means: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the same where some documents were judged; ``gains`` of the others are NaN."""
    judged = ~np.isnan(gains)
    kinds = np.unique(np.append(gains[judged], [0.0, 1.0]))  # whether or not a judged document is worth nothing, or 1
    kinds = kinds if len(kinds) <= _MOST else np.linspace(0.0, 1.0, _MOST)
    clicks = np.maximum(clicks, 0.0)
    known = np.zeros((len(gains), len(kinds)))
    known[judged, np.abs(gains[judged, np.newaxis] - kinds).argmin(axis=1)] = 1.0
    rates = (clicks + means) / (looks + 1.0)
    least, most = np.quantile(rates[looks > 0.0], [0.1, 0.99])
    line = least + (most - least) * kinds
    gamma = np.clip(line, 1e-6, 1.0)
    shares = _Shares(means, (known.sum(axis=0) + 1.0) / (judged.sum() + len(kinds)))
    for _ in range(_ROUNDS):
        chances = shares.chances(clicks, looks, gamma)
        chances[judged] = known[judged]
        shares.learn(chances)
        before, told = gamma, (clicks @ chances + _LOOKS * line) / (looks @ chances + _LOOKS)
        gamma = np.clip(np.maximum.accumulate(told), 1e-6, 1.0)
        if np.abs(gamma - before).max() < _SETTLED:
            break
    return _moments(chances, gamma)


def _moments(chances: np.ndarray, gamma: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    mean = chances @ gamma
    return mean, np.sqrt(np.maximum(chances @ np.square(gamma) - np.square(mean), 0.0))

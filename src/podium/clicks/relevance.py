"""How relevant documents are, as clicks and judgments tell together, and how uncertain that is.

Clicks tell of a document's attractiveness γ, judgments of its gain (2^y − 1) / (2^ymax − 1). Irrelevant documents are
clicked, too: γ = γ₀ + (γ₁ − γ₀) gain. γ₀ is what the least attractive documents of the log are expected to be, not what
judged ones of gain 0 were clicked: those that were clicked by chance are the ones whose judgment is asked for. γ₁ is
learned from the clicks on judged documents.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from podium.clicks.attraction import Attraction
from podium.clicks.logged import Logged

_LOOKS = 30.0
"""A judgment tells the regression as much as so many looks would."""
_LEAST = 0.05
"""A share of the documents shown, at least, is irrelevant."""
_SUPPOSED = 2.0
"""So many looks at a document of gain 1, all clicked, are added to those that were."""


@dataclass(frozen=True)
class Relevance:
    """What is known of each document to be ranked, arrays of (n_documents,) entries."""

    mean: np.ndarray
    """Expected attractiveness, from 0 to 1."""
    deviation: np.ndarray
    """Its standard deviation, 0 where it was judged."""
    judged: np.ndarray
    """Whether it was judged."""


def relevance(logged: Logged, gains: np.ndarray | None = None) -> Relevance:
    """Return what clicks tell of documents and, where ``gains`` from 0 to 1 are not NaN, judgments."""
    told = _by_clicks(logged, logged.gained, logged.exposure)
    if gains is None or np.isnan(gains).all():
        return told
    judged = ~np.isnan(gains)
    both = judged & logged.shown
    lowest = float(np.quantile(told.mean[logged.shown], _LEAST))
    highest = most_attractive(gains[both], logged.gained[both], logged.exposure[both], lowest)
    known = lowest + (highest - lowest) * gains[judged]
    gained, exposure = logged.gained.copy(), logged.exposure.copy()
    gained[judged], exposure[judged] = known * _LOOKS, _LOOKS
    taught = _by_clicks(logged, gained, exposure)
    taught.mean[judged], taught.deviation[judged] = known, 0.0
    return Relevance(taught.mean, taught.deviation, judged)


def most_attractive(gains: np.ndarray, gained: np.ndarray, exposure: np.ndarray, lowest: float) -> float:
    """Return γ of documents of gain 1, by least squares, from clicks and looks of documents with these gains."""
    gains, gained, exposure = (np.append(x, y) for x, y in ((gains, 1.0), (gained, _SUPPOSED), (exposure, _SUPPOSED)))
    told = float(gains @ (gained - exposure * lowest * (1.0 - gains)) / (exposure @ np.square(gains)))
    return float(np.clip(told, lowest, 1.0))


def _by_clicks(logged: Logged, gained: np.ndarray, exposure: np.ndarray) -> Relevance:
    features, known = logged.queries.features, exposure > 0.0
    if not known.any():
        raise ValueError("the log showed none of the documents that are ranked; ids are compared as text")
    prior = Attraction.fit(features[known], gained[known], exposure[known])
    means = prior.means(features)
    mean = prior.shrunk(gained, exposure, means)
    deviation = np.sqrt(prior.variance(gained, exposure, means))
    return Relevance(mean, deviation, np.zeros(len(mean), bool))

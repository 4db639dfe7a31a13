"""How relevant documents are, as clicks and judgments tell together, and how uncertain that is.

Clicks alone tell of a document's attractiveness γ as of a gamma distribution around what a regression on features says
(:mod:`podium.clicks.attraction`). With judgments, a document has one of their grades, each of which has a γ
(:mod:`podium.clicks.grades`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from podium.clicks.attraction import Attraction, compared_within
from podium.clicks.grades import by_grades
from podium.clicks.logged import Logged


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
    gained, exposure, shown = logged.gained, logged.exposure, logged.shown
    if not shown.any():
        raise ValueError("the log showed none of the documents that are ranked; ids are compared as text")
    features = compared_within(logged.queries)
    prior = Attraction.fit(features[shown], gained[shown], exposure[shown])
    means = prior.means(features)
    if gains is not None and not np.isnan(gains).all():
        return Relevance(*by_grades(gains, gained, exposure, means), ~np.isnan(gains))
    deviation = np.sqrt(prior.variance(gained, exposure, means))
    return Relevance(prior.shrunk(gained, exposure, means), deviation, np.zeros(len(means), bool))

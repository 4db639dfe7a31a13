"""How relevant documents are, as clicks and judgments tell together, and how uncertain that is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from podium.clicks.attraction import Attraction, compared_within
from podium.clicks.grades import by_clicks, by_grades
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
    judged = np.zeros(len(means), bool) if gains is None else ~np.isnan(gains)
    if gains is None or not judged.any():
        return Relevance(*by_clicks(gained, exposure, means), judged)
    return Relevance(*by_grades(gains, gained, exposure, means), judged)

"""Relevance guessed from features, for documents of queries that the guess has not seen."""

import numpy as np

from podium.clicks.attraction import Attraction
from podium.clicks.logged import Logged
from podium.core.random_state import RandomState, as_generator


def guessed_relevance(logged: Logged, n_folds: int, random_state: RandomState) -> np.ndarray:
    """Return a relevance between 0 and 1 per document, from a regression fitted on other folds of queries."""
    queries = logged.queries
    fold = as_generator(random_state).permutation(len(queries)) % n_folds
    of_document = np.repeat(fold, queries.sizes)
    guess = np.zeros(queries.n_documents)
    for number in np.unique(of_document):
        here, known = of_document == number, (of_document != number) & logged.shown
        if known.any():
            prior = Attraction.fit(queries.features[known], logged.gained[known], logged.exposure[known])
            guess[here] = prior.means(queries.features[here])
    return guess

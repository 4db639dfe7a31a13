"""Relevance guessed from features, for documents of queries that the guess has not seen."""

import numpy as np

from podium.clicks.logged import Logged
from podium.core.random_state import RandomState, as_generator
from podium.data.features import Features

PENALTY = 10.0
"""Of the squared weights of features that are scaled to a deviation of 1; the data are as many as there were looks."""


def guessed_relevance(logged: Logged, n_folds: int, random_state: RandomState) -> np.ndarray:
    """Return a relevance between 0 and 1 per document, from a regression fitted on other folds of queries."""
    queries = logged.queries
    fold = as_generator(random_state).permutation(len(queries)) % n_folds
    of_document = np.repeat(fold, queries.sizes)
    guess, rate = np.zeros(queries.n_documents), logged.rate
    for number in np.unique(of_document):
        here, known = of_document == number, (of_document != number) & logged.shown
        if known.any():
            guess[here] = _regression(
                queries.features[known], rate[known], logged.exposure[known], queries.features[here]
            )
    return np.clip(guess, 0.0, 1.0)


def _regression(features: Features, rates: np.ndarray, looks: np.ndarray, others: Features) -> np.ndarray:
    """Return what a ridge regression of the rates says of other documents; without features, the mean."""
    if features.shape[1] == 0:
        return np.full(others.shape[0], np.average(rates, weights=looks))
    from sklearn.impute import SimpleImputer
    from sklearn.linear_model import Ridge
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    model = make_pipeline(SimpleImputer(keep_empty_features=True), StandardScaler(with_mean=False), Ridge(PENALTY))
    predicted: np.ndarray = model.fit(features, rates, ridge__sample_weight=looks).predict(others)
    return predicted

"""A ranker of the user's own, as small as one can be; the command line's tests write this file where they run."""

import numpy as np
from sklearn.base import BaseEstimator


class Feature(BaseEstimator):
    """Scores by one feature; knows only queries, and fails if there is no such feature."""

    def __init__(self, number=0):
        self.number = number

    def fit(self, queries):
        return self

    def predict(self, queries):
        return np.asarray(queries.features[:, self.number], float)

"""PRank: an online perceptron with thresholds between grades."""

from typing import Any

import numpy as np

from podium.core.arrays import Arrays, require_array
from podium.core.parameters import count
from podium.core.random_state import as_generator
from podium.rankers.estimator import BaseRanker
from podium.rankers.inputs import TrainingInput
from podium.rankers.methods import METHODS
from podium.rankers.perceptron import PerceptronState, new_state, visit_documents
from podium.scorers import LinearModel
from podium.scorers.linear.rows import rows_of
from podium.training.base import Fit
from podium.training.monitor import Watch

__all__ = ["PRank"]


class PRank(BaseRanker):
    """PRank: a perceptron that learns weights and thresholds between grades, one document after the other.

    Crammer, Singer: Pranking with ranking. NIPS 2001. A document with the score w·x has the grade that follows the
    last threshold below its score. Where a threshold is on the wrong side, it and the score are moved toward each
    other. Pointwise: documents do not know which list they are in.

    Parameters
    ----------
    epochs : int
        Passes over all training documents, at most, each in an order drawn anew. The paper makes one.
    average : bool
        Keep the mean of weights and thresholds over all documents seen, which varies much less than the last ones do;
        False keeps the last, as the paper has it.
    patience : int, optional
        With validation queries: stop after so many epochs without a better one. The best epoch is kept either way.

    Attributes
    ----------
    grades_ : (n_grades,) array
        The grades of the training documents, ascending.
    thresholds_ : (n_grades − 1,) array
        Scores that separate them.

    Examples
    --------
    >>> import podium
    >>> queries = podium.make_queries(n_queries=50, n_documents=10, n_features=3)
    >>> ranker = PRank(random_state=0).fit(queries)
    >>> ranker.score(queries) > 0.8, set(ranker.predict_grades(queries.features)) <= set(queries.labels)
    (True, True)
    """

    epochs: int = count(100)
    average: bool = True
    patience: int | None = count(10, optional=True)

    grades_: np.ndarray
    thresholds_: np.ndarray

    def predict_grades(self, X: Any, qid: Any = None) -> np.ndarray:
        """Return the predicted grade of each document.

        Parameters
        ----------
        X, qid : array, frame or Queries
            As in ``predict``.

        Returns
        -------
        numpy.ndarray
            Grades (n_documents,), in the order of the rows given.
        """
        return self.grades_[np.searchsorted(self.thresholds_, self.predict(X, qid))]

    def _train(self, given: TrainingInput) -> Fit:
        (queries, folded), validation = self._prepared(given), self._validation(given)
        self.grades_, grades = np.unique(queries.labels, return_inverse=True)
        weights = np.ones(len(queries)) if given.query_weight is None else given.query_weight
        mean, inverse_scale = np.zeros(queries.n_features), np.ones(queries.n_features)
        if folded is not None:
            mean, inverse_scale = folded.mean, folded.inverse_scale
        documents = (grades.astype(np.int64), np.repeat(weights, queries.sizes), mean, inverse_scale)
        rng, state = as_generator(self.random_state), new_state(queries.n_features, len(self.grades_))
        watch = Watch(
            *(validation, given.callback, self.verbose), patience=self.patience, step="epoch", total=self.epochs
        )
        with watch.interruptible("PRank"):
            while len(watch.losses) < self.epochs and watch.reason is None:
                visit_documents(rows_of(queries), rng.permutation(queries.n_documents), *documents, state)
                found = self._found(state)
                judged = None if validation is None else validation.judge(_model(found[0]))
                if not watch.record(state.counts[1] / queries.n_documents, judged, found) and state.counts[1] == 0:
                    watch.end("an epoch without a mistake", converged=True)
        coef, self.thresholds_ = watch.best or watch.last
        history = watch.convergence(f"{self.epochs} epochs", best=watch.best_iter is not None)
        model = _model(coef)
        model.standardization = folded
        return Fit(model, np.empty(0), history)

    def _found(self, state: PerceptronState) -> tuple[np.ndarray, np.ndarray]:
        """Return weights, with the constant, and thresholds."""
        return state.averaged() if self.average else (state.coef.copy(), state.thresholds.copy())

    def _stored_fit(self) -> tuple[dict[str, Any], Arrays]:
        fitted, arrays = super()._stored_fit()
        return fitted, {**arrays, "grades": self.grades_, "thresholds": self.thresholds_}

    def _restore_fit(self, fitted: dict[str, Any], arrays: Arrays) -> None:
        super()._restore_fit(fitted, arrays)
        self.grades_ = require_array(arrays, "grades", (None,))
        self.thresholds_ = require_array(arrays, "thresholds", (len(self.grades_) - 1,))


def _model(coef: np.ndarray) -> LinearModel:
    return LinearModel.from_coefficients(coef[:-1], float(coef[-1]))


METHODS.add(
    "prank",
    PRank,
    "an online perceptron with thresholds between grades",
    "Crammer & Singer, NIPS 2001",
    "pointwise",
    {"average": [True, False], "epochs": [1, 3, 10, 30, 100]},
    stochastic=True,
)

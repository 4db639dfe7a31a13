"""Coordinate ascent: a linear model, moved one weight at a time on the metric itself."""

from collections.abc import Callable
from typing import Any

import numpy as np

from podium.core.parameters import count, number
from podium.core.random_state import as_generator
from podium.metrics import Metric
from podium.metrics.telling import watched_metric
from podium.rankers.ascent import ROUNDING, Ascent, FeatureColumns
from podium.rankers.estimator import BaseRanker
from podium.rankers.inputs import TrainingInput
from podium.rankers.line_metric import LineMetric
from podium.rankers.methods import METHODS
from podium.scorers import LinearModel
from podium.training.base import Convergence, Fit, Progress, Validation
from podium.training.monitor import Watch

__all__ = ["CoordinateAscent"]


class CoordinateAscent(BaseRanker):
    """Coordinate ascent: a linear model whose weights are moved one at a time to where the metric is highest.

    Metzler, Croft: Linear feature-based models for information retrieval. Information Retrieval 10, 2007. No loss
    stands between the model and the metric: each move is judged by the metric of all training queries.

    Parameters
    ----------
    metric : str or Metric
        What is maximized on the training queries, any one under any convention: ``"map"`` or ``"ndcg@10 (letor)"``.
    restarts : int
        Runs. The first starts at the best single feature, the others at random weights. The one that is best on the
        validation queries is kept, or without these on the training queries.
    sweeps : int
        Passes over all features in each run, at most.
    tolerance : float
        A run ends with a sweep that raises the metric by no more than this.
    patience : int, optional
        With validation queries: a run also ends after so many sweeps without a better one. The best sweep of all runs
        is kept either way.

    Examples
    --------
    >>> import podium
    >>> queries = podium.make_queries(n_queries=50, n_documents=10, n_features=3)
    >>> ranker = CoordinateAscent("map", restarts=2, random_state=0).fit(queries)
    >>> ranker.score(queries) > 0.9, ranker.coef_.shape
    (True, (3,))
    """

    metric: str | Metric = "ndcg@10"
    restarts: int = count(5)
    sweeps: int = count(25)
    tolerance: float = number(1e-4, at_least=0)
    patience: int | None = count(5, optional=True)

    def _train(self, given: TrainingInput) -> Fit:
        queries, folded = self._prepared(given)
        model = LinearModel(np.zeros(queries.n_features), has_intercept=False, standardization=folded)
        metric = watched_metric(self.metric, queries, "all scores are 0")
        if metric is None:
            return Fit(model, np.empty(0), Convergence(True, "no metric tells rankings apart", n_iter=1))
        ascent = Ascent(FeatureColumns(queries, folded), LineMetric(metric, queries, given.query_weight))
        weights, convergence = self._climb(ascent, model, self._validation(given), given.callback)
        return Fit(model.at(weights), np.empty(0), convergence)

    def _climb(
        self,
        ascent: Ascent,
        model: LinearModel,
        validation: Validation | None,
        callback: Callable[[Progress], Any] | None,
    ) -> tuple[np.ndarray, Convergence]:
        """Return the best weights of all sweeps of all runs, and how the training ended."""
        rng = as_generator(self.random_state)
        watch = Watch(validation, callback, self.verbose, step="sweep")
        best, highest, best_run = model.theta, -np.inf, 0
        runs = 0
        with watch.interruptible("coordinate ascent"):
            while runs < self.restarts and watch.reason is None:
                runs += 1
                start = ascent.best_feature() if runs == 1 else rng.standard_normal(model.n_features)
                since_best, highest_here = 0, -np.inf
                for sweep, (weights, merit, gain) in enumerate(ascent.sweeps(start, rng), start=1):
                    judged = None if validation is None else validation.judge(model.at(weights))
                    value = merit if judged is None else judged
                    watch.record(-merit, judged)
                    if value > highest + ROUNDING:
                        best, highest, best_run = weights, value, runs
                    since_best = 0 if value > highest_here + ROUNDING else since_best + 1
                    highest_here = max(highest_here, value)
                    if watch.reason or gain <= self.tolerance or sweep == self.sweeps or since_best == self.patience:
                        break
        if watch.reason is None:
            watch.end(f"run {best_run} of {runs} was best: {highest:.4f}", converged=True)
        return best, watch.convergence(best=validation is not None)


METHODS.add(
    "coordinate-ascent",
    CoordinateAscent,
    "a linear model moved one weight at a time on the metric itself",
    "Metzler & Croft, Information Retrieval 2007",
    "listwise",
    {"metric": ["ndcg@10", "map"], "sweeps": [1, 2, 5, 10, 25]},
    stochastic=True,
)

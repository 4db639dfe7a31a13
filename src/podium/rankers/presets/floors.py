"""Floors that every comparison should show: chance, and the best single feature."""

from itertools import product
from typing import ClassVar

import numpy as np

from podium.core.feature_names import feature_name
from podium.core.random_state import as_generator
from podium.metrics import Metric, metric
from podium.metrics.telling import can_tell, watched_metric
from podium.rankers.estimator import BaseRanker
from podium.rankers.inputs import TrainingInput
from podium.rankers.methods import METHODS
from podium.rankers.single_features.adarank import merit_table
from podium.rankers.single_features.levels import Judge
from podium.scorers import LinearModel, Scorer
from podium.scorers.chance import Hash, HashModel
from podium.training.base import Convergence, Fit

__all__ = ["BestFeature", "RandomRanker"]


class RandomRanker(BaseRanker):
    """Scores that know nothing: pseudo-random numbers in [0, 1).

    A document's score is a hash of the seed and the document's features, so it does not depend on the other rows or on
    their order; documents with equal features tie.

    Examples
    --------
    >>> import podium
    >>> queries = podium.make_queries(n_queries=50, n_documents=10, n_features=5)
    >>> chance = podium.RandomRanker(random_state=0).fit(queries)
    >>> chance.score(queries) < podium.BestFeature().fit(queries).score(queries)
    True
    """

    normalize: ClassVar[None] = None  # type: ignore[misc]
    verbose: ClassVar[int] = 0  # type: ignore[misc]

    def _train(self, given: TrainingInput) -> Fit:
        seed = as_generator(self.random_state).integers(2**63)
        return Fit(HashModel(int(seed)), np.empty(0), Convergence(True, "nothing to learn", n_iter=1))

    def _scorer(self) -> Scorer:
        return Hash()


class BestFeature(BaseRanker):
    """The single feature, upwards or downwards, whose ranking has the best NDCG@10.

    It is chosen on the validation queries where there are some on which the metric differs between orders, else on the
    training queries; the first one if several are equal.

    Parameters
    ----------
    metric : str or Metric
        What makes a feature the best.

    Attributes
    ----------
    feature_ : int
        The chosen feature's column, from 0; ``convergence_.message`` says its name.
    direction_ : {1, -1}
        Whether higher or lower values are better.

    Examples
    --------
    >>> import podium
    >>> ranker = podium.BestFeature().fit([[1.0, 9.0], [5.0, 2.0], [3.0, 4.0]], [0, 2, 1], qid=[1, 1, 1])
    >>> ranker.feature_, ranker.direction_, ranker.convergence_.message
    (0, 1, 'feature 1 upwards: ndcg@10 (standard) 1.0000')
    """

    metric: str | Metric = "ndcg@10"
    normalize: ClassVar[None] = None  # type: ignore[misc]
    random_state: ClassVar[None] = None  # type: ignore[misc]
    verbose: ClassVar[int] = 0  # type: ignore[misc]
    feature_: int
    direction_: int

    def _train(self, given: TrainingInput) -> Fit:
        judged_on, weights = given.queries, given.query_weight
        if given.validation is not None and can_tell(metric(self.metric), given.validation):
            judged_on, weights = given.validation, None
        measure = watched_metric(self.metric, judged_on, "the first feature is as good as any") or metric(self.metric)
        candidates = list(product(range(judged_on.n_features), (1.0, -1.0)))
        table = merit_table(Judge(measure, judged_on, all_levels=False), candidates)
        merits = np.array([_mean(values, weights) for values in table])
        feature, direction = candidates[int(np.argmax(merits))]
        coef = np.zeros(judged_on.n_features)
        coef[feature] = direction
        chosen = feature_name(feature, given.queries.feature_names)
        message = f"{chosen} {'upwards' if direction > 0 else 'downwards'}: {measure} {merits.max():.4f}"
        return Fit(LinearModel.from_coefficients(coef), np.empty(0), Convergence(True, message, n_iter=1))

    def _expose_model(self) -> None:
        super()._expose_model()
        self.feature_ = int(np.argmax(np.abs(self.coef_)))
        self.direction_ = int(self.coef_[self.feature_])


def _mean(values: np.ndarray, weights: np.ndarray | None) -> float:
    """Return the weighted mean over the queries that have a value."""
    defined = ~np.isnan(values)
    weights = np.ones(len(values)) if weights is None else weights
    total = float(weights[defined].sum())
    return float(values[defined] @ weights[defined]) / total if total > 0 else 0.0


METHODS.add("best-feature", BestFeature, "the best single feature, up or down", "floor", "floor")
METHODS.add("random", RandomRanker, "chance", "floor", "floor", stochastic=True)

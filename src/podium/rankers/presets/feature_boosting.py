"""AdaRank, RankBoost and FRank: boosting of single features, whose result can be read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from podium.core.arrays import Arrays, require_array
from podium.core.parameters import require_choice, require_count
from podium.data.normalize import WITHIN_QUERY
from podium.data.queries import Queries
from podium.rankers.estimator import BaseRanker
from podium.rankers.single_features import (
    BoostingLoop,
    ExponentialWeighting,
    FidelityWeighting,
    MetricWeighting,
    PairWeighting,
    Rule,
    Weighting,
)
from podium.rankers.single_features.rules import Explanation, WeightedRule
from podium.scorers.base import Model, Scorer
from podium.scorers.linear.scorer import Linear, LinearModel
from podium.scorers.standardization import Standardization
from podium.scorers.thresholds import StepModel, Steps
from podium.training.base import Fit, Progress

DIRECTIONS = ("up", "both")
MOST_THRESHOLDS = 65_535


class FeatureBoosting(BaseRanker):
    """What the three share: the loop, the rules, and what they explain.

    Attributes
    ----------
    feature_importances_ : (n_features,)
        Each feature's share of the weights, without regard to sign.
    """

    n_rounds: int
    learning_rate: float
    early_stopping: bool
    patience: int | None
    direction: str
    feature_importances_: np.ndarray

    def explain(self) -> Explanation:
        """The learned rules, those of the most important feature first; print it for a table.

        Rules of the same feature and threshold are added up. Thresholds and weights belong to the features as they
        come, or, with ``normalize="minmax"`` or ``"zscore"``, as they are after rescaling within their query.
        """
        self._require_fitted()
        names = getattr(self, "feature_names_in_", None)
        steps, n = self.model_, self.n_features_in_
        if isinstance(steps, StepModel):
            found = zip(steps.feature.tolist(), steps.weight.tolist(), steps.threshold.tolist(), strict=True)
        else:
            found = zip(range(n), self.coef_.tolist(), [None] * n, strict=True)  # type: ignore[arg-type]
        rules = [
            WeightedRule(j, f"feature {j}" if names is None else str(names[j]), weight, threshold)
            for j, weight, threshold in found
            if weight != 0
        ]
        rules.sort(key=lambda rule: -self.feature_importances_[rule.feature])  # stable: thresholds stay in order
        scaled = f", features rescaled within their query ({self.normalize})" if self.normalize in WITHIN_QUERY else ""
        return Explanation(rules, scaled=scaled)

    def _train(
        self,
        queries: Queries,
        query_weight: np.ndarray | None,
        validation: Queries | None,
        eval_metric: Any,
        callback: Callable[[Progress], Any] | None,
    ) -> Fit:
        boosting = BoostingLoop(self.n_rounds, self.learning_rate, self.early_stopping, self.patience)
        boosting.check()
        require_choice("direction", self.direction, DIRECTIONS)
        queries.require_finite()
        queries = self._within_query(queries)
        weights = np.ones(len(queries)) if query_weight is None else query_weight
        judges = self._validation(validation, eval_metric)
        rules, convergence = boosting.run(self._weighting(queries, weights), queries, judges, callback, self.verbose)
        model, importances = self._model(rules, queries)
        self.feature_importances_ = importances / max(importances.sum(), np.finfo(float).tiny)
        return Fit(model, np.empty(0), convergence)

    def _weighting(self, queries: Queries, query_weight: np.ndarray) -> Weighting:
        raise NotImplementedError

    def _model(self, rules: list[Rule], queries: Queries) -> tuple[Model, np.ndarray]:
        """The sum of the rules, and how much of it is each feature's, (n_features,)."""
        raise NotImplementedError

    def _fitted_state(self) -> tuple[dict[str, Any], Arrays]:
        fitted, state = super()._fitted_state()
        return fitted, {**state, "feature_importances": self.feature_importances_}

    def _restore_fitted(self, fitted: dict[str, Any], state: Arrays) -> None:
        super()._restore_fitted(fitted, state)
        self.feature_importances_ = require_array(state, "feature_importances", (self.n_features_in_,))


class AdaRank(FeatureBoosting):
    """AdaRank: features weighted by how well they rank the queries that are ranked badly so far, by any metric.

    Xu, Li: AdaRank: a boosting algorithm for information retrieval. SIGIR 2007.

    Parameters
    ----------
    metric : str or Metric
        What a ranking is worth, at most 1, under any convention: ``"map"``, ``"ndcg@10 (letor)"``, …
    n_rounds : int
        Features to choose, at most.
    repeats : int
        How often a feature may be chosen in a row. A feature that is added to itself ranks as before, so the weights
        stay and it is chosen for ever; the paper leaves this open.
    direction : {"both", "up"}
        ``"up"`` trusts that more of a feature is never worse, as the paper does; ``"both"`` lets features rank
        downwards, too.
    learning_rate : float
        Each rule's weight is multiplied by this; the paper has 1.
    early_stopping : bool
        With validation queries: keep the best round. False keeps all rounds.
    patience : int, optional
        With early stopping: stop after so many rounds without a better one.
    normalize, random_state, verbose
        See :class:`podium.Ranker`. Weak rankers are the features so scaled. Nothing here is random.

    Examples
    --------
    >>> import podium
    >>> queries = podium.make_queries(n_queries=50, n_documents=10, n_features=3)
    >>> ranker = AdaRank(n_rounds=20).fit(queries)
    >>> len(ranker.explain()), ranker.score(queries) > 0.8
    (3, True)
    """

    def __init__(
        self,
        metric: Any = "map",
        n_rounds: int = 100,
        repeats: int = 1,
        direction: str = "both",
        learning_rate: float = 1.0,
        early_stopping: bool = True,
        patience: int | None = None,
        normalize: str | None = "standard",
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.metric = metric
        self.n_rounds = n_rounds
        self.repeats = repeats
        self.direction = direction
        self.learning_rate = learning_rate
        self.early_stopping = early_stopping
        self.patience = patience
        self.normalize = normalize
        self.random_state = random_state
        self.verbose = verbose

    def _weighting(self, queries: Queries, query_weight: np.ndarray) -> Weighting:
        from podium.metrics import metric

        require_count("repeats", self.repeats)
        both = self.direction == "both"
        return MetricWeighting(queries, query_weight, metric(self.metric), self._scale(queries), both, self.repeats)

    def _model(self, rules: list[Rule], queries: Queries) -> tuple[Model, np.ndarray]:
        coef = np.bincount([rule.feature for rule in rules], [rule.weight for rule in rules], queries.n_features)
        scale = self._scale(queries)
        return LinearModel.from_coefficients(coef), np.abs(coef) / np.where(scale > 0, scale, 1.0)

    def _scale(self, queries: Queries) -> np.ndarray:
        """What features are multiplied by as weak rankers. Their means do not matter to a ranking."""
        if self.normalize == "standard":
            return Standardization.fit(queries.features).inverse_scale
        return np.ones(queries.n_features)

    def _scorer(self) -> Scorer:
        return Linear()


class ThresholdBoosting(FeatureBoosting):
    """Rules of the form "feature above threshold", learned from pairs of documents of one query.

    Parameters
    ----------
    n_rounds : int
        Rules to choose, at most.
    n_thresholds : int
        Candidates for each feature, at most; a feature with more distinct values has them at equal shares of the
        training documents. 65,535 is the most.
    weigh : {"queries", "pairs"}
        What counts alike: every query, whatever its number of pairs, or every pair.
    direction : {"both", "up"}
        ``"up"`` trusts that more of a feature is never worse; ``"both"`` allows rules with negative weights.
    learning_rate : float
        Each rule's weight is multiplied by this; the papers have 1.
    early_stopping : bool
        With validation queries: keep the best round. False keeps all rounds, which is wiser where validation queries
        are few: rankings by few rules are mostly ties, and which of them does best is luck.
    patience : int, optional
        With early stopping: stop after so many rounds without a better one.
    normalize, random_state, verbose
        See :class:`podium.Ranker`. ``"standard"`` changes nothing: thresholds move along. Nothing here is random.
    """

    _weights_pairs: ClassVar[type[PairWeighting]]

    def __init__(
        self,
        n_rounds: int = 300,
        n_thresholds: int = 255,
        weigh: str = "queries",
        direction: str = "both",
        learning_rate: float = 1.0,
        early_stopping: bool = True,
        patience: int | None = None,
        normalize: str | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.n_rounds = n_rounds
        self.n_thresholds = n_thresholds
        self.weigh = weigh
        self.direction = direction
        self.learning_rate = learning_rate
        self.early_stopping = early_stopping
        self.patience = patience
        self.normalize = normalize
        self.random_state = random_state
        self.verbose = verbose

    def _weighting(self, queries: Queries, query_weight: np.ndarray) -> Weighting:
        require_count("n_thresholds", self.n_thresholds)
        if self.n_thresholds > MOST_THRESHOLDS:
            raise ValueError(f"n_thresholds must be at most {MOST_THRESHOLDS}; got {self.n_thresholds}")
        require_choice("weigh", self.weigh, ("queries", "pairs"))
        both, by_query = self.direction == "both", self.weigh == "queries"
        return self._weights_pairs(queries, query_weight, self.n_thresholds, both, by_query)

    def _model(self, rules: list[Rule], queries: Queries) -> tuple[Model, np.ndarray]:
        feature = np.array([rule.feature for rule in rules], np.int64)
        threshold = np.array([rule.threshold for rule in rules], np.float64)
        model = StepModel(queries.n_features, feature, threshold, np.array([rule.weight for rule in rules]))
        return model, np.bincount(model.feature, np.abs(model.weight), queries.n_features)

    def _scorer(self) -> Scorer:
        return Steps()


class RankBoost(ThresholdBoosting):
    """RankBoost: rules that order the pairs which are in the wrong order so far, by their exponential loss.

    Freund, Iyer, Schapire, Singer: An efficient boosting algorithm for combining preferences. JMLR 4, 2003.

    Its parameters are those of :class:`podium.rankers.presets.feature_boosting.ThresholdBoosting`.

    Examples
    --------
    >>> import podium
    >>> queries = podium.make_queries(n_queries=50, n_documents=10, n_features=3)
    >>> ranker = RankBoost(n_rounds=50).fit(queries)
    >>> ranker.score(queries) > 0.9, ranker.explain()[0].threshold is not None
    (True, True)
    """

    _weights_pairs: ClassVar[type[PairWeighting]] = ExponentialWeighting


class FRank(ThresholdBoosting):
    """FRank: as RankBoost, with the fidelity loss of a pair, which is bounded: hopeless pairs do not take over.

    Tsai, Liu, Qin, Chen, Ma: FRank: a ranking method with fidelity loss. SIGIR 2007.

    Its parameters are those of :class:`podium.rankers.presets.feature_boosting.ThresholdBoosting`.
    """

    _weights_pairs: ClassVar[type[PairWeighting]] = FidelityWeighting

"""Base class of presets that boost single features: AdaRank, RankBoost and FRank."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from podium.core.arrays import Arrays, require_array
from podium.core.parameters import require_choice
from podium.data.normalize import WITHIN_QUERY
from podium.data.queries import Queries
from podium.rankers.estimator import BaseRanker
from podium.rankers.inputs import TrainingInput
from podium.rankers.single_features.explanation import Explanation, WeightedRule
from podium.rankers.single_features.loop import BoostingLoop, Rule, Weighting
from podium.scorers.base import Model
from podium.scorers.thresholds import StepModel
from podium.training.base import Fit


class FeatureBoosting(BaseRanker):
    """Weighted rules on single features, chosen one by one, that can be read.

    Parameters
    ----------
    n_rounds : int
        Rules to choose, at most.
    direction : {"both", "up"}
        ``"up"`` trusts that more of a feature is never worse; ``"both"`` allows rules with negative weights.
    learning_rate : float
        Each rule's weight is multiplied by this; the papers have 1.
    early_stopping : bool
        With validation queries: keep the best round. False keeps all rounds, which is wiser where validation queries
        are few: rankings by few rules are mostly ties, and which of them does best is luck.
    patience : int, optional
        With early stopping: stop after so many rounds without a better one.

    Attributes
    ----------
    feature_importances_ : (n_features,)
        Each feature's share of the weights, without regard to sign.
    """

    n_rounds: int = 100
    direction: str = "both"
    learning_rate: float = 1.0
    early_stopping: bool = True
    patience: int | None = None

    feature_importances_: np.ndarray

    def explain(self) -> Explanation:
        """Return the learned rules, those of the most important feature first; printing them gives a table.

        Rules of the same feature and threshold are added up. Thresholds and weights belong to the features as they
        come, or, with ``normalize="minmax"`` or ``"zscore"``, as they are after rescaling within their query.
        """
        self._require_fitted()
        names = getattr(self, "feature_names_in_", None)
        model = self.model_
        found: Iterable[tuple[int, float, float | None]]
        if isinstance(model, StepModel):
            found = zip(model.feature.tolist(), model.weight.tolist(), model.threshold.tolist(), strict=True)
        else:
            found = ((j, weight, None) for j, weight in enumerate(self.coef_.tolist()))
        rules = [
            WeightedRule(j, f"feature {j}" if names is None else str(names[j]), weight, threshold)
            for j, weight, threshold in found
            if weight != 0
        ]
        rules.sort(key=lambda rule: -self.feature_importances_[rule.feature])  # stable: thresholds stay in order
        scaled = f", features rescaled within their query ({self.normalize})" if self.normalize in WITHIN_QUERY else ""
        return Explanation(rules, scaled=scaled)

    def _train(self, given: TrainingInput) -> Fit:
        loop = BoostingLoop(self.n_rounds, self.learning_rate, self.early_stopping, self.patience)
        loop.check()
        require_choice("direction", self.direction, ("up", "both"))
        given.queries.require_finite()
        queries = self._within_query(given.queries)
        weights = np.ones(len(queries)) if given.query_weight is None else given.query_weight
        weighting, judges = self._weighting(queries, weights), self._validation(given)
        rules, convergence = loop.run(weighting, queries, judges, given.callback, self.verbose)
        model, importances = self._model(rules, queries)
        self.feature_importances_ = importances / max(importances.sum(), np.finfo(float).tiny)
        return Fit(model, np.empty(0), convergence)

    def _weighting(self, queries: Queries, query_weight: np.ndarray) -> Weighting:
        raise NotImplementedError

    def _model(self, rules: list[Rule], queries: Queries) -> tuple[Model, np.ndarray]:
        """Return the sum of the rules as a model, and each feature's part in it, (n_features,)."""
        raise NotImplementedError

    def _fitted_state(self) -> tuple[dict[str, Any], Arrays]:
        fitted, state = super()._fitted_state()
        return fitted, {**state, "feature_importances": self.feature_importances_}

    def _restore_fitted(self, fitted: dict[str, Any], state: Arrays) -> None:
        super()._restore_fitted(fitted, state)
        self.feature_importances_ = require_array(state, "feature_importances", (self.n_features_in_,))

"""Base class of presets that boost single features: AdaRank, RankBoost and FRank."""

from itertools import repeat
from typing import Any

import numpy as np

from podium.core.arrays import Arrays, require_array
from podium.core.feature_names import term_name
from podium.core.parameters import choice
from podium.data.normalize import WITHIN_QUERY
from podium.data.queries import Queries
from podium.rankers.estimator import BaseRanker
from podium.rankers.inputs import TrainingInput
from podium.rankers.single_features.loop import BoostingLoop, Rule, Weighting
from podium.rankers.single_features.rules import Rules, WeightedRule
from podium.scorers.base import Model
from podium.scorers.thresholds import StepModel
from podium.training.base import Fit


class FeatureBoosting(BoostingLoop, BaseRanker):
    """Weighted rules on single features, chosen one by one, that can be read.

    Parameters
    ----------
    direction : {"both", "up"}
        ``"up"`` trusts that more of a feature is never worse; ``"both"`` allows rules with negative weights.

    Attributes
    ----------
    feature_importances_ : (n_features,)
        Each feature's share of the weights, without regard to sign.
    """

    direction: str = choice("both", "up")

    feature_importances_: np.ndarray

    def rules(self) -> Rules:
        """Return the learned rules, those of the most important feature first; printing them gives a table.

        Rules of the same feature and threshold are added up. Thresholds and weights belong to the features as they
        come, or, with ``normalize="minmax"`` or ``"zscore"``, as they are after rescaling within their query.
        Logarithms of features are named so.
        """
        self._require_fitted()
        names, model = getattr(self, "feature_names_in_", None), self.model_
        units = None if self.standardization_ is None else self.standardization_.log_scale
        if isinstance(model, StepModel):
            found = zip(model.feature.tolist(), model.weight.tolist(), model.threshold.tolist(), strict=True)
        else:
            found = zip(range(self.n_features_in_), self.coef_.tolist(), repeat(None))
        rules = [
            WeightedRule(j, term_name(j, names, units), weight, threshold)
            for j, weight, threshold in found
            if weight != 0
        ]
        rules.sort(key=lambda rule: -self.feature_importances_[rule.feature])  # stable: thresholds stay in order
        scaled = f", features rescaled within their query ({self.normalize})" if self.normalize in WITHIN_QUERY else ""
        return Rules(rules, scaled=scaled)

    def _train(self, given: TrainingInput) -> Fit:
        queries, _ = self._prepared(given)  # with logarithms, perhaps; scales are the subclass's affair
        weights = np.ones(len(queries)) if given.query_weight is None else given.query_weight
        weighting, judges = self._weighting(queries, weights), self._validation(given)
        rules, convergence = self._boost(weighting, queries, judges, given.callback, self.verbose)
        model, importances = self._model(rules, queries)
        self.feature_importances_ = importances / max(importances.sum(), np.finfo(float).tiny)
        return Fit(model, np.empty(0), convergence)

    def _weighting(self, queries: Queries, query_weight: np.ndarray) -> Weighting:
        raise NotImplementedError

    def _model(self, rules: list[Rule], queries: Queries) -> tuple[Model, np.ndarray]:
        """Return the sum of the rules as a model, and each feature's part in it, (n_features,)."""
        raise NotImplementedError

    def _stored_fit(self) -> tuple[dict[str, Any], Arrays]:
        fitted, arrays = super()._stored_fit()
        return fitted, {**arrays, "feature_importances": self.feature_importances_}

    def _restore_fit(self, fitted: dict[str, Any], arrays: Arrays) -> None:
        super()._restore_fit(fitted, arrays)
        self.feature_importances_ = require_array(arrays, "feature_importances", (self.n_features_in_,))

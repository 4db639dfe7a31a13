"""What a fitted ranker knows besides its model, and how a model file has it."""

from __future__ import annotations

from typing import Any

import numpy as np

from podium.core.arrays import Arrays, named_under
from podium.data.normalize import WITHIN_QUERY
from podium.rankers.answering import AnsweringEstimator
from podium.rankers.debiased import LearnedBias
from podium.scorers import LinearModel, Scorer
from podium.scorers.standardization import Standardization


class StoredRanker(AnsweringEstimator):
    """A ranker of lists that knows its features, the scale of these and what it was trained on."""

    normalize: str | None = None

    coef_: np.ndarray
    intercept_: float
    n_features_in_: int
    feature_names_in_: np.ndarray
    n_queries_: int
    n_documents_: int
    click_share_: float
    click_shares_: dict[float, float]
    bias_: LearnedBias
    standardization_: Standardization | None
    """Applied to features before scoring, for scorers that do not take it into themselves."""

    def _scorer(self) -> Scorer:
        raise NotImplementedError

    def _set_features(self, queries: Any) -> None:
        self.n_features_in_ = queries.n_features
        if queries.feature_names is not None:
            self.feature_names_in_ = np.array(queries.feature_names, dtype=object)
        else:
            self.__dict__.pop("feature_names_in_", None)

    def _expose_model(self) -> None:
        if isinstance(self.model_, LinearModel):
            self.coef_, self.intercept_ = self.model_.coef, self.model_.intercept

    def _stored_fit(self) -> tuple[dict[str, Any], Arrays]:
        fitted, arrays = super()._stored_fit()
        names = getattr(self, "feature_names_in_", None)
        fitted |= {"n_features": self.n_features_in_, "feature_names": None if names is None else list(map(str, names))}
        fitted |= {"n_queries": self.n_queries_, "n_documents": self.n_documents_}
        fitted |= {"scoring": self._scoring()}
        scale = {} if self.standardization_ is None else self.standardization_.to_arrays()
        arrays = {**arrays, **{f"standardization.{name}": array for name, array in scale.items()}}
        bias = self.bias_.to_arrays() if hasattr(self, "bias_") else {}
        return fitted, {**arrays, **{f"bias.{name}": array for name, array in bias.items()}}

    def _restore_fit(self, fitted: dict[str, Any], arrays: Arrays) -> None:
        scorer = self._scorer()
        n, names = fitted["n_features"], fitted["feature_names"]
        self.model_ = scorer.model_class.from_arrays(scorer, named_under("model", arrays))
        if self.model_.n_features not in (None, n):
            raise ValueError(f"its model has {self.model_.n_features} features, but it says {n!r}")
        super()._restore_fit(fitted, arrays)
        self.n_features_in_ = n
        scale = named_under("standardization", arrays)
        self.standardization_ = Standardization.from_arrays(scale, n) if scale else None
        bias = named_under("bias", arrays)
        if bias:
            self.bias_ = LearnedBias.from_arrays(bias)
        if names is not None:
            if len(names) != n:
                raise ValueError(f"it has {len(names)} feature names for {n} features")
            self.feature_names_in_ = np.array(list(map(str, names)), dtype=object)
        self.n_queries_, self.n_documents_ = int(fitted["n_queries"]), int(fitted["n_documents"])
        if "scoring" in fitted and fitted["scoring"] != self._scoring():  # which serving goes by
            raise ValueError("what it says about scoring contradicts its parameters")
        self._expose_model()

    def _scoring(self) -> dict[str, Any]:
        """Return how the model scores, for :mod:`podium.serving`."""
        return {**self.model_.scoring(), "normalize": self.normalize if self.normalize in WITHIN_QUERY else None}

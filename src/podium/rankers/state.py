"""What fitting gave a ranker, as JSON and plain arrays, and back."""

from __future__ import annotations

from typing import Any

import numpy as np

from podium.core.arrays import Arrays, require_array
from podium.rankers.estimator import BaseRanker
from podium.scorers.standardization import Standardization
from podium.training.base import Convergence


def fitted_state(ranker: BaseRanker) -> tuple[dict[str, Any], Arrays]:
    """What fitting gave: JSON, and arrays and texts by name."""
    names = getattr(ranker, "feature_names_in_", None)
    fitted = {
        "n_features": ranker.n_features_in_,
        "feature_names": None if names is None else [str(name) for name in names],
        "n_queries": ranker.n_queries_,
        "n_documents": ranker.n_documents_,
        "convergence": ranker.convergence_.as_dict(),
    }
    state: dict[str, np.ndarray | str] = {f"model.{name}": value for name, value in ranker.model_.to_arrays().items()}
    state["loss_parameters"] = ranker.loss_parameters_
    if ranker.standardization_ is not None:
        state["standardization.mean"] = ranker.standardization_.mean
        state["standardization.inverse_scale"] = ranker.standardization_.inverse_scale
    return fitted, state


def restore_fitted(ranker: BaseRanker, fitted: dict[str, Any], state: Arrays) -> None:
    """Make an unfitted ranker what :func:`fitted_state` describes.

    Raises ValueError, TypeError or KeyError if that cannot be.
    """
    scorer, loss = ranker._scorer(), ranker._loss()
    n = fitted["n_features"]
    prefix = "model."
    own = {name.removeprefix(prefix): value for name, value in state.items() if name.startswith(prefix)}
    ranker.model_ = scorer.model_class.from_arrays(scorer, own)
    if ranker.model_.n_features not in (None, n):
        raise ValueError(f"its model is of {ranker.model_.n_features} features, but it says {n!r}")
    ranker.n_features_in_ = n
    ranker.loss_parameters_ = require_array(state, "loss_parameters", (0 if loss is None else loss.n_parameters,))
    ranker.standardization_ = None
    if "standardization.mean" in state:
        ranker.standardization_ = Standardization(
            require_array(state, "standardization.mean", (n,)),
            require_array(state, "standardization.inverse_scale", (n,)),
        )
    if fitted["feature_names"] is not None:
        if len(fitted["feature_names"]) != n:
            raise ValueError(f"it has {len(fitted['feature_names'])} feature names for {n} features")
        ranker.feature_names_in_ = np.array([str(name) for name in fitted["feature_names"]], dtype=object)
    ranker.n_queries_, ranker.n_documents_ = int(fitted["n_queries"]), int(fitted["n_documents"])
    ranker.convergence_ = Convergence.from_dict(fitted["convergence"])
    ranker.n_iter_ = ranker.convergence_.n_iter
    ranker._expose_model()

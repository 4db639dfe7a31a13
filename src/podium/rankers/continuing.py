"""Fitted rankers that training goes on from."""

from __future__ import annotations

import os
from typing import Any

from podium.data.normalize import WITHIN_QUERY
from podium.files.models import load
from podium.rankers.inputs import Start, check_features
from podium.rankers.stored import StoredRanker


def start_of(ranker: StoredRanker, init: Any, queries: Any) -> Start:
    """Return what the training of a ranker goes on from; raise ValueError, saying why, if it cannot."""
    name = type(ranker).__name__
    if ranker._loss() is None:
        raise ValueError(f"{name} cannot go on from a fitted model: only trees and weights trained on a loss can")
    if isinstance(init, str | os.PathLike):
        init = load(init)
    if not isinstance(init, StoredRanker):
        raise ValueError(f"init must be a fitted ranker or the path of a saved one; got {init!r}")
    init._require_fitted()
    names = getattr(init, "feature_names_in_", None)
    check_features(queries, init.n_features_in_, names, given=queries, estimator="the model to go on from")
    if ranker.normalize != init.normalize and {ranker.normalize, init.normalize} & set(WITHIN_QUERY):
        raise ValueError(
            f"init was trained with normalize={init.normalize!r}; to go on, {name} must have the same, "
            f"not {ranker.normalize!r}"
        )
    wanted = ranker._scorer().model_class
    if not isinstance(init.model_, wanted):
        raise ValueError(
            f"{name} learns a {wanted.__name__}, and init is a {type(init.model_).__name__}: "
            "training can only go on with the same kind of model"
        )
    return Start(init.model_, init.standardization_, type(init._loss()), init.loss_parameters_)

"""What a ranker learns about the scales of features before it is trained."""

from typing import Any

from podium.rankers.inputs import Start
from podium.scorers import Scorer
from podium.scorers.standardization import Standardization


def learned_standardization(
    normalize: str | None, queries: Any, scorer: Scorer, init: Start | None
) -> tuple[Standardization | None, Standardization | None]:
    """Return what is applied to features before the model, and what the scorer takes into its model.

    Logarithms are never part of the model. Weights that training starts from belong to features as they were then,
    logarithms or not.
    """
    over_training_set = normalize in ("robust", "standard") and not scorer.scale_free
    if init is not None and init.standardization is not None:
        before = init.standardization
        if not (over_training_set and scorer.folds_standardization and before.only_logarithms):
            return before, None
        return before, Standardization.of(before.apply(queries))
    if not over_training_set:
        return None, None
    takes_logarithms = normalize == "robust" and init is None
    found = Standardization.robust(queries) if takes_logarithms else Standardization.of(queries)
    return found.divided() if scorer.folds_standardization else (found, None)

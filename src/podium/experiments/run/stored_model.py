"""A finished trial in the place of its model: a ranker that reads its scores from the run's file."""

from pathlib import Path
from typing import Any, Self

import numpy as np

from podium.data.queries import Queries
from podium.experiments.plan.methods import Setting, StudyMethod
from podium.experiments.run.store import Store
from podium.rankers.methods import accepted


class StoredModel:
    """A ranker of the validation and the test part of one fold.

    If the scores are no longer stored, because an earlier study had no use for them, the model is fitted again.
    """

    def __init__(self, path: Path, method: StudyMethod, setting: Setting, key: str) -> None:
        self.path, self.method, self.setting, self.key = path, method, setting, key
        self.fitted: Any = None

    def fit(self, queries: Queries, eval_set: Queries, eval_metric: Any) -> Self:
        if self._stored() is None:
            ranker = self.method.ranker(self.setting)
            options = {"eval_set": eval_set, "eval_metric": eval_metric}
            self.fitted = ranker.fit(queries, **accepted(ranker.fit, options))
        return self

    def predict(self, queries: Queries) -> np.ndarray:
        """Return the scores of the validation part, which has labels, or of the test part, which has none."""
        if self.fitted is not None:
            return np.asarray(self.fitted.predict(queries), np.float64)
        trial = self._stored()
        scores = None if trial is None else trial.validation_scores if queries.has_labels else trial.test_scores
        if scores is None:
            raise RuntimeError(f"{self.path}: the scores of {self.method.name} {self.setting.parameters} are gone")
        return scores

    def _stored(self) -> Any:
        store = Store(self.path)
        try:
            return store.trial_with_scores(self.key)
        finally:
            store.close()

    def __sklearn_clone__(self) -> Self:
        return self

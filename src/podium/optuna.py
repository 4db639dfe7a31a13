"""Pruning of Optuna's trials while a ranker is being fitted; needs the extra ``search``."""

from __future__ import annotations

from typing import Any

from podium.core.later import required
from podium.training.base import Progress

__all__ = ["PruningCallback"]


class PruningCallback:
    """A callback of ``fit`` that ends a trial of Optuna which is not promising.

    After each iteration the trial is told the best value of the validation metric so far, which is that of the model
    that ``fit`` keeps; so a run from several random starts can only rise. The study must maximize.

    Parameters
    ----------
    trial : optuna.Trial
        What Optuna gives to the function that it maximizes.

    Examples
    --------
    >>> import optuna, podium
    >>> train, valid = podium.train_test_split(podium.make_queries(n_queries=40, n_documents=10), random_state=0)
    >>> def objective(trial):
    ...     ranker = podium.LambdaMART(n_trees=10, n_leaves=trial.suggest_int("n_leaves", 2, 8), random_state=0)
    ...     ranker.fit(train, eval_set=valid, callback=podium.optuna.PruningCallback(trial))
    ...     return ranker.score(valid)
    >>> optuna.logging.set_verbosity(optuna.logging.WARNING)
    >>> study = optuna.create_study(direction="maximize")
    >>> study.optimize(objective, n_trials=2)
    >>> 0 < study.best_value < 1
    True
    """

    def __init__(self, trial: Any) -> None:
        direction = getattr(getattr(trial, "study", None), "direction", None)
        if direction is not None and direction.name == "MINIMIZE":
            raise ValueError("metrics are better if higher: make the study with direction='maximize'")
        self.trial = trial
        self._best = float("-inf")
        self._step = 0

    def __call__(self, progress: Progress) -> None:
        if progress.validation is None:
            raise ValueError("trials are pruned by a metric on validation queries: give fit an eval_set")
        self._best = max(self._best, progress.validation)
        self._step += 1
        self.trial.report(self._best, self._step)
        if self.trial.should_prune():
            optuna = required("optuna", "podium-rank[search]", "pruning")
            raise optuna.TrialPruned(f"best value on validation {self._best:.4f} after {self._step} iterations")

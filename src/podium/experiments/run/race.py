"""A race: candidates on one fold after another, the weak ones dropped on the way.

After the first and the second fold, a candidate is dropped that is clearly among the weak: in hardly any bootstrap
sample of the validation queries so far is it among the best. Which ones go depends on values alone, never on times, so
without a time limit the outcome is the same on every machine.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any

import numpy as np

from podium.experiments.plan.candidates import Candidate
from podium.experiments.plan.search_folds import SearchFolds
from podium.experiments.run.outcomes import Trial
from podium.experiments.run.pool import Request, TrialPool
from podium.models.evidence import bootstrap_totals

KEPT = 6
"""Candidates that are never dropped before the last fold."""
HOPELESS = 0.02
"""Dropped if in fewer of the samples it is among the best ``KEPT``."""
MIN_QUERIES = 5
"""Nothing is dropped on fewer."""


@dataclass(slots=True)
class Race:
    """The candidates, and their trials so far."""

    pool: TrialPool
    folds: SearchFolds
    candidates: list[Candidate]
    trials: dict[str, dict[str, Trial]] = field(default_factory=dict)
    """By name of the candidate and fold."""
    dropped: dict[str, str] = field(default_factory=dict)
    """Why a candidate was left out, by name."""

    def run(self, folds: Sequence[str]) -> None:
        """Run the race over these folds: the first, the second, then all others at once."""
        rungs = [list(folds[:1]), list(folds[1:2]), list(folds[2:])]
        done: list[str] = []
        for number, rung in enumerate(rungs):
            running = self.running
            requests = [Request(c.method, c.setting, fold) for fold in rung for c in running]
            names = {(c.method.name, c.setting.number): c.name for c in running}
            for request, trial in self.pool.trials(requests):
                name = names[request.method.name, request.setting.number]
                if trial.error is not None:
                    self.dropped[name] = f"failed: {trial.error}"
                self.trials.setdefault(name, {})[request.fold] = trial
            done += rung
            if self.pool.is_over:
                break
            if number < 2:
                self._drop_weak(done)
        self._drop_incomplete()

    @property
    def running(self) -> list[Candidate]:
        return [c for c in self.candidates if c.name not in self.dropped]

    def values(self, names: Sequence[str], folds: Sequence[str]) -> np.ndarray:
        """Return the metric on each validation query of these folds, (n_candidates, n_queries)."""
        return np.array(self.joined(names, folds, attrgetter("validation_values")))

    def joined(self, names: Sequence[str], folds: Sequence[str], part: Callable[[Trial], Any]) -> list[np.ndarray]:
        """Return an array of each candidate's trials, fold after fold."""
        return [np.concatenate([part(self.trials[name][fold]) for fold in folds]) for name in names]

    def common_folds(self) -> list[str]:
        """Return the folds on which all candidates that are left were tried."""
        running = self.running
        return [f for f in self.folds.folds if running and all(f in self.trials.get(c.name, {}) for c in running)]

    def _drop_weak(self, done: Sequence[str]) -> None:
        names = [c.name for c in self.running]
        if len(names) <= KEPT:
            return
        values = self.values(names, done)
        values = values[:, ~np.isnan(values).any(axis=0)]
        n = values.shape[1]
        if n < MIN_QUERIES:
            return
        totals = bootstrap_totals(values, np.ones(n), 0)
        rank = (totals[:, None, :] > totals[:, :, None]).sum(axis=2)
        share = (rank < KEPT).mean(axis=0)
        best = set(np.argsort(-values.mean(axis=1), kind="stable")[:KEPT].tolist())
        for i, name in enumerate(names):
            if share[i] < HOPELESS and i not in best:
                self.dropped[name] = f"weak on {len(done)} of {len(self.folds.folds)} folds"

    def _drop_incomplete(self) -> None:
        """Leave out candidates that were not tried on as many folds as the others, for lack of time."""
        n_folds = {c.name: len(self.trials.get(c.name, {})) for c in self.running}
        counts = sorted(set(n_folds.values()), reverse=True)
        if not counts:
            return
        # The most folds that at least half of the candidates, or failing that any of them, were tried on.
        enough = [n for n in counts if n and 2 * sum(m >= n for m in n_folds.values()) >= len(n_folds)]
        needed = max(enough) if enough else max(counts[0], 1)
        for name, n in n_folds.items():
            if n < needed:
                self.dropped[name] = (
                    "not tried for lack of time" if n == 0 else f"tried on {n} folds only, for lack of time"
                )

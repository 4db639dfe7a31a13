"""Trials on folds without test parts: what a search for settings consists of.

:class:`~podium.experiments.run.runner.Runner` carries out a comparison; a :class:`TrialPool` the trials that a search
asks for, one batch after another, with the same workers and the same store.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Self

from podium.experiments.plan.methods import Setting, StudyMethod
from podium.experiments.plan.study import Study
from podium.experiments.run.clock import Clock
from podium.experiments.run.cluster import Cluster
from podium.experiments.run.executor import Executor, open_executor
from podium.experiments.run.forecast import Forecast
from podium.experiments.run.outcomes import Trial
from podium.experiments.run.runner import Listener, describe
from podium.experiments.run.seal import Viewable, visible
from podium.experiments.run.store import Store
from podium.experiments.run.trial import OutOfTimeError, run_trial, warm_up
from podium.experiments.run.workers import Failure, InProcess, Task

SHORT = 90.0
"""Seconds; with less time than that, starting processes is not worth it."""


@dataclass(frozen=True, slots=True)
class Request:
    """A trial to do."""

    method: StudyMethod
    setting: Setting
    fold: str


@dataclass(slots=True)
class TrialPool:
    """Carries out trials; a context manager, for its processes and files."""

    study: Study
    store: Store
    listener: Listener
    jobs: int | None = 1
    clock: Clock = field(default_factory=Clock)
    reserve: Callable[[], float] = field(default=lambda: 0.0)
    """Seconds to keep for what comes after the trials."""
    keeps_scores: bool = False
    """Whether scores of the validation parts are needed, not only values."""
    cluster: Cluster | None = None
    _executor: Executor = field(default_factory=InProcess)
    _folds: dict[str, Viewable] = field(default_factory=dict)
    _prepared: bool = False

    def __enter__(self) -> Self:
        jobs = 1 if self.clock.limit < SHORT and self.cluster is None else self.jobs
        self._executor = open_executor(self.store.path.parent / ".folds", jobs, self.cluster)
        self._executor.__enter__()
        self.jobs = self._executor.jobs
        return self

    def __exit__(self, *_: object) -> None:
        self._executor.__exit__()

    @property
    def end(self) -> float:
        """The time of ``time.perf_counter`` at which trials end."""
        return self.clock.end - self.reserve()

    @property
    def is_over(self) -> bool:
        return self.clock.is_limited and time.perf_counter() > self.end

    def key(self, request: Request) -> str:
        return self.store.configuration.trial_key(request.method.name, request.fold, request.setting)

    def trials(self, requests: Sequence[Request], forecast: Forecast | None = None) -> Iterator[tuple[Request, Trial]]:
        """Yield each trial asked for: first those that an earlier run finished, then others as they end.

        When the time is over, those that are left are not yielded.
        """
        waiting = []
        for request in requests:
            stored = self._stored(self.key(request))
            if stored is None or stored.error is not None:
                waiting.append(request)
            else:
                yield request, replace(stored, number=request.setting.number)
        if not waiting or self.is_over:
            return
        if not self._prepared:
            self._prepare(waiting[0])
        end = (lambda: self.end) if self.clock.is_limited else None
        for task, outcome in self._executor.outcomes(self._tasks(waiting), end):
            request = task.tag
            if isinstance(outcome, Failure):
                if outcome.error.startswith(OutOfTimeError.__name__):
                    return
                trial = Trial.of(request.method.name, request.fold, request.setting, **asdict(outcome))
            else:
                trial = outcome if self.keeps_scores else outcome.without_scores()
            self.store.add_trial(self.key(request), trial)
            if forecast is not None:
                forecast.add(trial)
            self.listener.finished(
                describe(trial, self.study.primary), None if forecast is None else forecast.seconds_left()
            )
            yield request, trial

    def _stored(self, key: str) -> Trial | None:
        trial = self.store.trial_with_scores(key) if self.keeps_scores else self.store.trial(key)
        return None if trial is None or trial.validation_values is None else trial

    def _tasks(self, requests: Sequence[Request]) -> Iterator[Task]:
        for request in requests:
            if self.is_over:
                return
            arguments = (request.method, request.setting, self._fold(request.fold), self.study.primary)
            in_process = isinstance(self._executor, InProcess) and self.clock.is_limited
            yield Task(request, run_trial, (*arguments, self.end) if in_process else arguments)

    def _prepare(self, first: Request) -> None:
        """Have one process compile what processes would otherwise all compile at once."""
        self._prepared = True
        self.listener.note("preparing: code is compiled on the first run only, which can take half a minute")
        arguments = (first.method, first.setting, self._fold(first.fold), self.study.primary)
        end = (lambda: self.end) if self.clock.is_limited else None
        for _ in self._executor.outcomes([Task("preparing", warm_up, arguments)], end):
            pass  # what fails here fails again in its trials, where it is recorded

    def _fold(self, name: str) -> Viewable:
        if name not in self._folds:
            train, validation, _ = self.study.source.load(name)
            number = self.study.source.folds.index(name)
            self._folds[name] = self._executor.share(visible(name, train, validation), number)
        return self._folds[name]

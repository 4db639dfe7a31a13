"""Carrying out a comparison: which trials are left to do, doing them side by side, choosing, and judging once.

The unit of work is a trial. The unit of selection is a method on a fold with a seed: when the last trial of its search
is done, its choice is made and judged, and the result stored, before anything else happens to it.
"""

from __future__ import annotations

import math
import shutil
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from podium.experiments.plan.methods import Setting, StudyMethod
from podium.experiments.plan.search import Search, Settings
from podium.experiments.plan.sources import Source
from podium.experiments.result.rows import format_parameters
from podium.experiments.run.blend import Member, Model, blend
from podium.experiments.run.details import CUTOFFS, keep
from podium.experiments.run.seal import SealedTest, SelectedTrial, Trial, VisibleFold, seal, select_trial
from podium.experiments.run.shared_folds import SharedFold
from podium.experiments.run.store import Result, Run, jsonable
from podium.experiments.run.trial import run_trial, warm_up, warm_up_metric
from podium.experiments.run.workers import Failure, InProcess, Task, Workers, available_cores

if TYPE_CHECKING:
    from podium.metrics import Metric


class Listener(Protocol):
    """Who wants to know how a comparison is getting on."""

    def note(self, text: str) -> None:
        """Something worth a line."""

    def start(self, total: int, done: int) -> None:
        """Trials there are, and how many of them were finished by an earlier run."""

    def finished(self, text: str, seconds_left: float | None = None) -> None:
        """One more trial."""


@dataclass(eq=False, slots=True)
class OngoingSearch:
    """The search of one method on one fold with one seed, as far as it has come."""

    fold: str
    method: StudyMethod
    seed: int
    settings: Settings
    trials: list[Trial] = field(default_factory=list)
    candidates: list[Setting] = field(default_factory=list)
    done: bool = False

    @property
    def key(self) -> tuple[str, str, int]:
        return self.method.name, self.fold, self.seed

    @property
    def is_complete(self) -> bool:
        return len(self.trials) == self.settings.total

    def setting(self, number: int) -> Setting:
        return next(setting for setting in self.candidates if setting.number == number)

    def add(self, trial: Trial, setting: Setting) -> None:
        self.trials.append(trial)
        self.candidates.append(setting)
        self.settings.tell(setting, trial.validation)


class Runner:
    """The trials of one call."""

    def __init__(
        self,
        run: Run,
        source: Source,
        methods: Sequence[StudyMethod],
        metrics: Sequence[Metric],
        primary: Metric,
        search: Search,
        progress: Listener,
    ) -> None:
        self.run = run
        self.source = source
        self.methods = methods
        self.metrics = metrics
        self.primary = primary
        self.search = search
        self.progress = progress
        self._open: dict[str, tuple[VisibleFold | SharedFold, SealedTest]] = {}
        self._under_way: dict[tuple[Any, ...], tuple[OngoingSearch, Setting]] = {}
        self._left: Counter[str] = Counter()
        self._results: list[Result] = []
        self._shared: Path | None = None
        self._selections: list[OngoingSearch] = []

    def results(self, jobs: int | None) -> list[Result]:
        """The result of every method, fold and seed, computing those that no earlier run finished."""
        selections = [
            OngoingSearch(fold, method, seed, self.search.settings(method, seed))
            for fold in self.source.folds
            for method in self.methods
            for seed in self.run.seeds(method.name)
        ]
        for selection in selections:
            if (result := self.run.finished(*selection.key)) is not None:
                selection.done = True
                self._results.append(result)
        left = [selection for selection in selections if not selection.done]
        self._selections = selections
        self._left = Counter(selection.fold for selection in left)
        total = sum(selection.settings.total for selection in selections)
        stored = {id(s): self._stored(s) for s in left}
        done = total - sum(s.settings.total - stored[id(s)] for s in left)
        if done:
            self.progress.note(f"{done} of {total} trials were finished by an earlier run and are kept")
        if left:
            jobs = min(jobs or available_cores(), max(total - done, 1))
            self.progress.start(total, done)
            self._compute(left, jobs, Forecast(left, stored, jobs))
        return self._results

    def _stored(self, selection: OngoingSearch) -> int:
        """How many of its trials an earlier run left; a Bayesian search knows its next trial only from the last."""
        settings, n = self.search.settings(selection.method, selection.seed), 0
        while (setting := settings.ask()) is not None:
            trial = self.run.find_trial(selection.method.name, selection.fold, setting, with_scores=False)
            if trial is not None:
                settings.tell(setting, trial.validation)
                n += 1
        return n

    def _compute(self, left: Sequence[OngoingSearch], jobs: int, forecast: Forecast) -> None:
        self._shared = self.run.folder / "staged" if jobs > 1 else None
        try:
            with Workers(jobs) if jobs > 1 else InProcess() as workers:
                self._compile(workers, left)
                for task, outcome in workers.outcomes(self._tasks(left)):
                    selection, setting = self._under_way.pop(task.tag)
                    trial = self._trial(selection, setting, outcome)
                    self.run.store_trial(trial, setting)
                    selection.add(trial.without_scores(), setting)  # they are on disk, and may be many
                    forecast.add(trial)
                    self.progress.finished(_describe(trial, self.primary), forecast.seconds_left())
                    if selection.is_complete:
                        self._finish(selection)
        finally:
            if self._shared is not None:
                shutil.rmtree(self._shared, ignore_errors=True)

    def _compile(self, workers: Workers | InProcess, left: Sequence[OngoingSearch]) -> None:
        """Have all code compiled before trials are timed.

        The metrics and two methods go first; they compile nearly all that methods have in common. Then each worker
        compiles other methods, and finds what it did not compile itself on disk: little is ever compiled twice.
        """
        self.progress.note("preparing: code is compiled on the first run only, which can take half a minute")
        fold = self._opened(left[0].fold)
        every = {s.method.name: s.method for s in left if not s.method.members}.values()
        needed = sorted(every, key=lambda method: method.is_floor)
        tasks = [Task("metrics", warm_up_metric, (fold, self.primary))]
        for method in needed:
            first = self.search.settings(method, 0).ask()
            tasks.append(Task(method.name, warm_up, (method, first, fold, self.primary)))
        for batch in (tasks[:3], tasks[3:]):
            for _ in workers.outcomes(batch):
                pass  # a method that fails here fails again in its trials, where it is recorded

    def _tasks(self, left: Sequence[OngoingSearch]) -> Iterator[Task | None]:
        """The trials to do, as far as they are known; None while all that are left wait for others to end."""
        while open_ones := [selection for selection in left if not selection.done]:
            ready = False
            for selection in open_ones:
                while (task := self._next(selection)) is not None:
                    ready = True
                    yield task
            if not ready and any(not selection.done for selection in open_ones):
                yield None

    def _next(self, selection: OngoingSearch) -> Task | None:
        """The next trial of a search that no earlier run has done."""
        if self._waits(selection):
            return None
        while not selection.done and (setting := selection.settings.ask()) is not None:
            trial = self.run.find_trial(selection.method.name, selection.fold, setting, with_scores=False)
            if trial is None:
                task = self._task(selection, setting)
                self._under_way[task.tag] = selection, setting
                return task
            selection.add(trial, setting)
            if selection.is_complete:
                self._finish(selection)
        return None

    def _task(self, selection: OngoingSearch, setting: Setting) -> Task:
        tag, method = (*selection.key, setting.number), selection.method
        fold = self._opened(selection.fold)
        if not method.members:
            return Task(tag, run_trial, (method, setting, fold, self.primary))
        return Task(tag, blend, (method, setting, self._members(selection), fold, self.primary))

    def _members(self, blended: OngoingSearch) -> list[Member]:
        """The methods a blend is of, but those that failed, with all that they tried on its fold."""
        found: dict[str, list[Model]] = {}
        for result in sorted(self._results, key=lambda result: result.seed):
            if result.fold == blended.fold and result.error is None and result.method in blended.method.members:
                found.setdefault(result.method, []).extend(self._tried(result))
        by_name = {method.name: method for method in self.methods}
        return [Member(by_name[name], tuple(found[name])) for name in blended.method.members if name in found]

    def _tried(self, result: Result) -> Iterator[Model]:
        """The trials of a finished search that did not fail, in its order."""
        method = next(method for method in self.methods if method.name == result.method)
        settings = self.search.settings(method, result.seed)
        while (setting := settings.ask()) is not None:
            trial = self.run.find_trial(method.name, result.fold, setting, with_scores=False)
            settings.tell(setting, math.nan if trial is None else trial.validation)
            if trial is not None:
                yield Model(setting, self.run.scores_path(method.name, result.fold, setting), trial.seconds)

    def _waits(self, selection: OngoingSearch) -> bool:
        """Does a blend still wait for methods it is of?"""
        if not selection.method.members:
            return False
        done = {(result.method, result.fold, result.seed) for result in self._results}
        return not all(
            (name, selection.fold, seed) in done for name in selection.method.members for seed in self.run.seeds(name)
        )

    def _opened(self, name: str) -> VisibleFold | SharedFold:
        """The fold, loaded when it is first needed."""
        if name not in self._open:
            fold, sealed = seal(name, *self.source.load(name))
            where = None if self._shared is None else self._shared / str(self.source.folds.index(name))
            self._open[name] = fold if where is None else SharedFold.write(fold, where), sealed
        return self._open[name][0]

    def _close(self, name: str) -> None:
        handle, _ = self._open.pop(name, (None, None))
        if isinstance(handle, SharedFold):
            handle.remove()

    def _trial(self, selection: OngoingSearch, setting: Setting, outcome: Any) -> Trial:
        if not isinstance(outcome, Failure):
            return outcome
        return Trial(
            selection.method.name,
            selection.fold,
            setting.parameters,
            setting.seed,
            setting.number,
            error=outcome.error,
            traceback=outcome.traceback,
        )

    def _finish(self, selection: OngoingSearch) -> None:
        """Choose, judge, and store the result."""
        result = self._result(selection)
        self.run.store(result)
        self._results.append(result)
        selection.done = True
        if result.error is None:
            self._drop_scores(selection)
        self._left[selection.fold] -= 1
        if self._left[selection.fold] == 0:
            self._close(selection.fold)

    def _drop_scores(self, selection: OngoingSearch) -> None:
        """Forget the scores of trials that were not chosen, unless a blend still waits for them."""
        name, fold, _ = selection.key
        if any(other.fold == fold and not other.done and name in other.method.members for other in self._selections):
            return
        if selection.method.members:
            files = [model.scores for member in self._members(selection) for model in member.models]
        else:
            files = [self.run.scores_path(name, fold, setting) for setting in selection.candidates]
        chosen = {result.trial for result in self._results}
        for file in files:
            if file.stem not in chosen:
                file.unlink(missing_ok=True)

    def _result(self, selection: OngoingSearch) -> Result:
        name, fold, seed = selection.key
        failed = sorted((t for t in selection.trials if t.error is not None), key=lambda t: t.number)
        if failed and (self.search.strategy == "grid" or len(failed) == len(selection.trials)):
            # A grid is all settings that are meant to work. Of settings drawn at random some may not.
            return Result(name, fold, seed, error=failed[0].error, traceback=failed[0].traceback)
        choice = select_trial(selection.key, selection.trials, selection.settings.total)
        try:
            choice = self._with_scores(selection, choice)
            return self._judged(selection, choice)
        except ValueError as error:
            return Result(name, fold, seed, error=f"ValueError: {error}")

    def _with_scores(self, selection: OngoingSearch, choice: SelectedTrial) -> SelectedTrial:
        """The choice with its scores: if an earlier choice among fewer trials dropped them, by fitting it again."""
        setting = selection.setting(choice.trial.number)
        stored = self.run.find_trial(selection.method.name, selection.fold, setting)
        if stored is not None and stored.test_scores is not None:
            return SelectedTrial(choice.key, stored)
        task = self._task(selection, setting)
        again = task.function(*task.arguments)
        self.run.store_trial(again, setting)
        return SelectedTrial(choice.key, again)

    def _judged(self, selection: OngoingSearch, choice: SelectedTrial) -> Result:
        from podium.metrics import metric

        self._opened(selection.fold)
        curve = [metric(f"ndcg@{k}", self.primary.convention) for k in CUTOFFS]
        sealed = self._open[selection.fold][1]
        values, queries = sealed.judge(choice, list(dict.fromkeys([*self.metrics, *curve])))
        chosen, trials = choice.trial, sorted(selection.trials, key=lambda trial: trial.number)
        of_members = sum(model.seconds for member in self._members(selection) for model in member.models)
        assert chosen.test_scores is not None
        details = keep(
            self.run.folder,
            queries,
            chosen.test_scores,
            np.column_stack([values[metric.name] for metric in curve]),
            chosen.model,
        )
        return Result(
            *selection.key,
            parameters=jsonable(chosen.parameters),
            validation=chosen.validation,
            trials=[_candidate(trial) for trial in trials],
            warnings=chosen.warnings,
            seconds=chosen.seconds + of_members,
            search_seconds=sum(trial.seconds for trial in trials),
            qids=[str(qid) for qid in queries.qids],
            per_query={metric.name: values[metric.name].tolist() for metric in self.metrics},
            test_fingerprint=sealed.fingerprint,
            trial=self.run.trial_name(chosen.method, chosen.fold, selection.setting(chosen.number)),
            details=details,
        )


class Forecast:
    """How long the rest will take: a method's trials to come as long as those so far, all shared by the workers."""

    def __init__(self, left: Sequence[OngoingSearch], stored: dict[int, int], jobs: int) -> None:
        self._jobs = jobs
        self._left: Counter[str] = Counter()
        self._spent: dict[str, list[float]] = {}
        for selection in left:
            name = selection.method.name
            self._left[name] = self._left.get(name, 0) + selection.settings.total - stored[id(selection)]

    def add(self, trial: Trial) -> None:
        self._left[trial.method] -= 1
        self._spent.setdefault(trial.method, []).append(trial.seconds)

    def seconds_left(self) -> float | None:
        """None before anything is known; methods not yet seen are taken for average ones."""
        means = {name: sum(seconds) / len(seconds) for name, seconds in self._spent.items()}
        if not means:
            return None
        typical = sum(means.values()) / len(means)
        return sum(n * means.get(name, typical) for name, n in self._left.items()) / self._jobs


def _candidate(trial: Trial) -> dict[str, Any]:
    found = {
        "parameters": jsonable(trial.parameters),
        "seed": trial.seed,
        "validation": None if math.isnan(trial.validation) else trial.validation,
        "seconds": trial.seconds,
    }
    return found if trial.error is None else found | {"error": trial.error}


def _describe(trial: Trial, primary: Metric) -> str:
    setting = format_parameters(trial.parameters)
    what = f"{trial.fold}, {trial.method}{' ' * bool(setting)}{setting}"
    if trial.error is not None:
        return f"{what}: failed: {trial.error}"
    return f"{what}: {primary} {trial.validation:.4f} on validation, fit {trial.seconds:.2f} s"

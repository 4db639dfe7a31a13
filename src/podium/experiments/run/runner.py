"""Carrying out a study: which trials are left to do, doing them side by side, selecting, and judging once.

The unit of work is a trial. The unit of selection is a method on a fold with a seed: when the last trial of its search
is done, one is selected and judged, and the result is stored, before anything else happens to it.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Protocol

import numpy as np

from podium.data.io.run_scores import ListedDocuments
from podium.experiments.plan.blending import FinishedTrial
from podium.experiments.plan.configuration import plain_parameters
from podium.experiments.plan.external import run_of
from podium.experiments.plan.methods import Setting, StudyMethod
from podium.experiments.plan.search import Settings
from podium.experiments.plan.study import Study
from podium.experiments.run.cluster import Cluster
from podium.experiments.run.executor import Executor, open_executor
from podium.experiments.run.external import look_up
from podium.experiments.run.forecast import Forecast
from podium.experiments.run.outcomes import CUTOFFS, Result, Trial
from podium.experiments.run.seal import SealedTest, SelectedTrial, Viewable, VisibleFold, seal, select_trial
from podium.experiments.run.store import Store
from podium.experiments.run.stored_model import StoredModel
from podium.experiments.run.trial import fit_again, run_trial, warm_up, warm_up_metric
from podium.experiments.run.workers import Failure, InProcess, Task
from podium.metrics import Metric, metric


class Listener(Protocol):
    """What is told how a study is getting on."""

    def note(self, text: str) -> None:
        """Take in something worth a line."""

    def start(self, total: int, done: int) -> None:
        """Take in how many trials there are, and how many of them an earlier run finished."""

    def finished(self, text: str, seconds_left: float | None = None) -> None:
        """Take in that one more trial is done."""


@dataclass(eq=False, slots=True)
class OngoingSearch:
    """The search of one method on one fold with one seed, as far as it has come."""

    fold: str
    method: StudyMethod
    seed: int
    settings: Settings
    store: Store
    result: Result | None = None
    """Once it has ended."""
    tried: dict[int, tuple[Setting, Trial]] = field(default_factory=dict)
    """Trials done, without their scores, by their number in the search."""
    waiting: list[Setting] = field(default_factory=list)
    """Settings to be tried next."""

    @property
    def key(self) -> tuple[str, str, int]:
        return self.method.name, self.fold, self.seed

    @property
    def is_complete(self) -> bool:
        return len(self.tried) == self.settings.total

    @property
    def in_order(self) -> list[tuple[Setting, Trial]]:
        return [self.tried[number] for number in sorted(self.tried)]

    @property
    def n_left(self) -> int:
        return 0 if self.result is not None else self.settings.total - len(self.tried)

    def trial_key(self, setting: Setting) -> str:
        return self.store.configuration.trial_key(self.method.name, self.fold, setting)

    def add(self, setting: Setting, trial: Trial) -> None:
        """Take in a trial."""
        self.tried[setting.number] = setting, replace(trial, number=setting.number)
        self.settings.tell(setting, trial.validation)

    def advance(self) -> None:
        """Ask for settings as far as they are known, passing over trials that an earlier run has finished.

        A failed trial is tried again, unless the search has ended without it.
        """
        for setting in iter(self.settings.ask, None):
            trial = self.store.trial(self.trial_key(setting))
            if trial is None or (trial.error is not None and self.result is None):
                self.waiting.append(setting)
            else:
                self.add(setting, trial)


class Runner:
    """The trials of one call."""

    def __init__(self, study: Study, store: Store, listener: Listener) -> None:
        self.study = study
        self.store = store
        self.listener = listener
        self._searches: list[OngoingSearch] = []
        self._open: dict[str, tuple[Viewable, SealedTest]] = {}
        self._under_way: dict[tuple[Any, ...], tuple[OngoingSearch, Setting]] = {}
        self._executor: Executor = InProcess()

    def results(self, jobs: int | None, cluster: Cluster | None = None) -> list[Result]:
        """Return the result of every method, fold and seed, computing those that no earlier run finished."""
        study = self.study
        for fold in study.source.folds:
            for method in study.methods:
                for seed in self.store.configuration.seeds_of(method.name):
                    search = OngoingSearch(fold, method, seed, study.search.settings(method, seed), self.store)
                    stored = self.store.result(*search.key)
                    search.result = stored if stored is not None and stored.error is None else None
                    search.advance()
                    self._searches.append(search)
        left = [search for search in self._searches if search.result is None]
        total, n_left = (sum(s.settings.total for s in self._searches), sum(s.n_left for s in left))
        if n_left < total:
            self.listener.note(f"{total - n_left} of {total} trials were finished by an earlier run and are kept")
        if left:
            self.listener.start(total, total - n_left)
            with open_executor(self.store.path.parent / ".folds", jobs, cluster, most=n_left) as self._executor:
                self._compute(left)
        return [search.result for search in self._searches if search.result is not None]

    def fitted(self, result: Result) -> tuple[Any, VisibleFold]:
        """Return the selected ranker of a result, fitted once more, and the fold; not for methods made from others."""
        search = next(s for s in self._searches if s.key == result.key)
        setting = next(setting for setting, _ in search.in_order if search.trial_key(setting) == result.trial)
        fold, _ = seal(search.fold, *self.study.source.load(search.fold))
        return fit_again(search.method, setting, fold, self.study.primary), fold

    def _compute(self, left: Sequence[OngoingSearch]) -> None:
        counts: Counter[str] = Counter()
        for search in left:
            counts[search.method.name] += search.n_left
        forecast = Forecast(counts, self._executor.jobs)
        self._compile(left)
        for task, outcome in self._executor.outcomes(self._tasks(left)):
            search, setting = self._under_way.pop(task.tag)
            failed = isinstance(outcome, Failure)
            trial = Trial.of(search.method.name, search.fold, setting, **asdict(outcome)) if failed else outcome
            self.store.add_trial(search.trial_key(setting), trial)
            search.add(setting, trial.without_scores())  # they are stored, and may be many
            search.advance()
            forecast.add(trial)
            self.listener.finished(describe(trial, self.study.primary), forecast.seconds_left())
            if search.is_complete:
                self._finish(search)

    def _compile(self, left: Sequence[OngoingSearch]) -> None:
        """Have all code compiled before trials are timed.

        The metrics and two methods go first; they compile nearly all that methods have in common. Then each worker
        compiles other methods, and finds what it did not compile itself on disk: little is ever compiled twice.
        """
        self.listener.note("preparing: code is compiled on the first run only, which can take half a minute")
        fold, primary = self._opened(left[0].fold), self.study.primary
        trained = (s.method for s in left if not s.method.requires and run_of(s.method) is None)
        methods = {method.name: method for method in trained}.values()
        tasks = [Task("metrics", warm_up_metric, (fold, primary))]
        for method in sorted(methods, key=lambda method: method.is_floor):
            first = self.study.search.settings(method, 0).ask()
            tasks.append(Task(method.name, warm_up, (method, first, fold, primary)))
        for batch in (tasks[:3], tasks[3:]):
            for _ in self._executor.outcomes(batch):
                pass  # a method that fails here fails again in its trials, where it is recorded

    def _tasks(self, left: Sequence[OngoingSearch]) -> Iterator[Task | None]:
        """Yield the trials to do, as far as they are known; None while all that are left wait for others to end."""
        while unfinished := [search for search in left if search.result is None]:
            ready = False
            for search in unfinished:
                if search.result is None and search.is_complete and self._is_ready(search):  # by a run that was stopped
                    self._finish(search)
                while search.waiting and self._is_ready(search):
                    ready = True
                    yield self._task(search, search.waiting.pop(0))
            if not ready and any(search.result is None for search in unfinished):
                yield None

    def _task(self, search: OngoingSearch, setting: Setting) -> Task:
        stays_here = bool(search.method.requires) or run_of(search.method) is not None
        task = Task((*search.key, setting.number), *self._call(search, setting), stays_here)
        self._under_way[task.tag] = search, setting
        return task

    def _call(self, search: OngoingSearch, setting: Setting) -> tuple[Callable[..., Trial], tuple[Any, ...]]:
        """Return the function that makes a trial, and its arguments."""
        fold, run = self._opened(search.fold), run_of(search.method)
        if run is not None:
            documents = ListedDocuments(*self._open[search.fold][1].documents)
            return look_up, (search.method.name, search.fold, setting, run, documents)
        return run_trial, (search.method.made_from(self._required_trials(search)), setting, fold, self.study.primary)

    def _required(self, search: OngoingSearch) -> list[OngoingSearch]:
        """Return the searches that a method is made from, by method and seed."""
        names = search.method.requires
        found = [s for s in self._searches if s.fold == search.fold and s.method.name in names]
        return sorted(found, key=lambda s: (names.index(s.method.name), s.seed))

    def _is_ready(self, search: OngoingSearch) -> bool:
        return all(required.result is not None for required in self._required(search))

    def _required_trials(self, search: OngoingSearch) -> list[FinishedTrial]:
        """Return the trials that a method is made from; those that failed, and methods that did, are left out."""
        return [
            FinishedTrial(
                s.method,
                trial.seconds,
                StoredModel(self.store.path, s.method, setting, s.trial_key(setting)),
                trial.validation_values if trial.validation_values is not None else np.empty(0),
            )
            for s in self._required(search)
            if s.result is not None and s.result.error is None
            for setting, trial in s.in_order
            if trial.error is None
        ]

    def _opened(self, name: str) -> Viewable:
        """Return the fold, loaded when it is first needed."""
        if name not in self._open:
            fold, sealed = seal(name, *self.study.source.load(name), self.study.domain.leaves_out)
            self._open[name] = self._executor.share(fold, self.study.source.folds.index(name)), sealed
        return self._open[name][0]

    def _finish(self, search: OngoingSearch) -> None:
        """Select a trial, judge it, and store the result."""
        search.result = self._judged(search)
        if search.result.error is None:
            self._drop_scores(search)
        is_over = all(other.result is not None for other in self._searches if other.fold == search.fold)
        if is_over and self._open.pop(search.fold, None) is not None:
            self._executor.release(self.study.source.folds.index(search.fold))

    def _drop_scores(self, search: OngoingSearch) -> None:
        """Forget the scores of trials that were not selected, unless another method still waits for them."""
        for used in [search, *self._required(search)]:
            users = (s for s in self._searches if s.fold == used.fold and used.method.name in s.method.requires)
            if all(user.result is not None for user in users):
                self.store.drop_scores(used.trial_key(setting) for setting, _ in used.in_order)

    def _judged(self, search: OngoingSearch) -> Result:
        trials = [trial for _, trial in search.in_order]
        failed = [trial for trial in trials if trial.error is not None]
        if failed and (self.study.search.strategy == "grid" or len(failed) == len(trials)):
            # A grid is all settings that are meant to work. Of settings drawn at random some may not.
            return self._failed(search, failed[0].error, failed[0].traceback)
        try:
            return self._judge(search, self._selected(search))
        except ValueError as error:
            return self._failed(search, f"ValueError: {error}")

    def _failed(self, search: OngoingSearch, error: str | None, traceback: str = "") -> Result:
        result = Result(*search.key, error=error, traceback=traceback)
        self.store.add_failure(result)
        return result

    def _selected(self, search: OngoingSearch) -> SelectedTrial:
        """Return the selected trial with its scores: if an earlier study dropped them, by fitting it again."""
        selected = select_trial(search.key, [trial for _, trial in search.in_order], search.settings.total)
        setting, _ = search.tried[selected.trial.number]
        key = search.trial_key(setting)
        trial = self.store.trial_with_scores(key)
        if trial is None:
            function, arguments = self._call(search, setting)
            trial = function(*arguments)
            self.store.add_trial(key, trial)
        return SelectedTrial(selected.key, replace(trial, number=setting.number))

    def _judge(self, search: OngoingSearch, selected: SelectedTrial) -> Result:
        judging = self.study.judging
        curve = [] if judging else [metric(f"ndcg@{k}", self.study.primary.convention) for k in CUTOFFS]
        self._opened(search.fold)
        sealed = self._open[search.fold][1]
        values, part = sealed.judge(selected, list(dict.fromkeys([*self.study.metrics, *curve])), judging)
        per_query = {metric.name: values[metric.name].tolist() for metric in self.study.metrics}
        if self.study.beside is not None:
            assert selected.trial.test_scores is not None
            beside = self.study.beside.judge(search.fold, part, selected.trial.test_scores)
            per_query |= {name: own.tolist() for name, own in beside.items()}
        chosen, tried = selected.trial, search.in_order
        result = Result(
            *search.key,
            parameters=plain_parameters(chosen.parameters),
            validation=None if math.isnan(chosen.validation) else chosen.validation,
            trials=[trial for _, trial in tried],
            warnings=chosen.warnings,
            seconds=chosen.seconds + sum(trial.seconds for trial in self._required_trials(search)),
            search_seconds=sum(trial.seconds for _, trial in tried),
            qids=[str(qid) for qid in part.qids],
            per_query=per_query,
            test_fingerprint=sealed.fingerprint,
            trial=search.trial_key(search.tried[chosen.number][0]),
        )
        keys = [search.trial_key(setting) for setting, _ in tried]
        unknown = np.full((len(part.qids), len(CUTOFFS)), np.nan)  # without grades there is no NDCG
        by_cutoff = np.column_stack([values[metric.name] for metric in curve]) if curve else unknown
        self.store.add_result(result, keys, part, by_cutoff)
        return result


def describe(trial: Trial, primary: Metric) -> str:
    setting = " ".join(f"{name}={value}" for name, value in trial.parameters.items())
    what = f"{trial.fold}, {trial.method}{' ' * bool(setting)}{setting}"
    if trial.error is not None:
        return f"{what}: failed: {trial.error}"
    if trial.test_scores is not None and trial.validation_scores is None:
        return f"{what}: scores of the test part looked up"
    return f"{what}: {primary} {trial.validation:.4f} on validation, fit {trial.seconds:.2f} s"

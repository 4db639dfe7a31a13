"""Comparing methods on the same folds: the whole experiment, from data to tables, in one call."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from podium.experiments.comparison import Comparison
from podium.experiments.entrants import QUICK, Entrant, entrants
from podium.experiments.protocol import Answers, VisibleFold, judge, seal, search, warm_up, warm_up_metric
from podium.experiments.runs import Configuration, Record, Run, code_version, jsonable
from podium.experiments.sources import Source, open_source
from podium.experiments.staging import StagedFold
from podium.experiments.workers import Failure, InProcess, Task, Workers, available_cores

if TYPE_CHECKING:
    from podium.metrics import Metric

METRICS = ("ndcg@1", "ndcg@5", "ndcg@10", "map")


class Progress(Protocol):
    """Who wants to know how a comparison is getting on."""

    def note(self, text: str) -> None:
        """Something worth a line."""

    def start(self, total: int, done: int) -> None:
        """Trials there are, and how many of them were finished by an earlier run."""

    def finished(self, text: str) -> None:
        """One more trial."""


def compare(
    data: Any = None,
    methods: str | Sequence[str] | Mapping[str, Any] | None = None,
    *,
    metrics: Sequence[str] = METRICS,
    convention: str = "standard",
    primary: str | None = None,
    normalize: str | None = "minmax",
    folds: int | None = None,
    random_state: int = 0,
    out: str | Path | None = None,
    jobs: int | None = None,
    columns: Mapping[str, Any] | None = None,
    progress: Progress | None = None,
) -> Comparison:
    """Train, choose and test methods on the same folds, and say which are better and how surely.

    On each fold a method is trained on the training part with every combination of its small grid of
    hyper-parameters; the one that is best on the validation part, by the ``primary`` metric, is evaluated on the
    test part, once. Test labels reach nothing before that.

    Parameters
    ----------
    data : path or Queries, optional
        A folder of folds (LETOR's layout); or a file or queries, which are dealt into ``folds`` parts by query, three
        fifths to train (with 5), one to validate, one to test, rotating; or nothing: synthetic lists with ties.
    methods : "all", names, or a mapping from names to rankers, optional
        What ``podium methods`` lists, or rankers of your own. By default all; of the synthetic lists, those that
        are quick to compile and to train. The floor of every table, ``best-feature`` and ``random``, is always added.
    metrics : sequence of str
    convention : str
        The rules all metrics follow.
    primary : str, optional
        The metric that chooses hyper-parameters, orders the table and is tested. By default ``map`` if it is among
        ``metrics`` (it looks at the whole list, so it is the steadiest on few validation queries), else ``ndcg@10``
        if that is, else the first.
    normalize : {"minmax", "zscore", "standard", None}
        How the built-in methods rescale features; the first two within each query.
    folds : int, optional
        Number of folds that a file or queries are dealt into; 5 if not given.
    random_state : int
        Seeds the dealing and every method; the same seed gives the same figures whatever ``jobs`` is.
    out : path, optional
        Folder for finished trials, tables and report. A run that was stopped goes on from there. Without it nothing
        is kept on disk.
    jobs : int, optional
        Worker processes; by default one a core. With 1, all happens in this process. In a script, more than one needs
        the call to be under ``if __name__ == "__main__":``.
    columns : mapping, optional
        For CSV and Parquet: ``qid``, ``label``, ``document_id``, ``features``.

    Returns
    -------
    Comparison
        A method that fails does not end the comparison: its row says why.
    """
    began = time.perf_counter()
    tell = progress or _Silent()
    measures, main = _metrics(metrics, convention, primary)
    if methods is None:
        methods = "all" if data is not None else QUICK
    contestants = entrants(methods, primary=str(main), normalize=normalize, random_state=random_state)
    source = open_source(data, n_folds=folds, random_state=random_state, columns=columns or {})
    configuration = _configuration(source, contestants, measures, main, normalize, random_state)
    with ExitStack() as stack:
        folder = Path(out) if out is not None else Path(stack.enter_context(tempfile.TemporaryDirectory()))
        run = Run(folder, configuration)
        stack.enter_context(run.locked())
        if changes := run.changes():
            tell.note(f"new run: {', '.join(changes)} changed since the last one in {folder}, whose trials are kept")
        run.describe(status="running")
        try:
            records = _Experiment(run, source, contestants, measures, main, tell).records(jobs)
        except KeyboardInterrupt:
            run.describe(status="interrupted", seconds=time.perf_counter() - began)
            raise
        seconds = time.perf_counter() - began
        comparison = Comparison(configuration, records, folder=None if out is None else folder, seconds=seconds)
        if out is not None:
            comparison.save(folder)
            run.describe(status="complete", seconds=seconds, failed=comparison.failed)
    return comparison


class _Experiment:
    """The trials of one call: which are left to do, and doing them."""

    def __init__(
        self,
        run: Run,
        source: Source,
        contestants: Sequence[Entrant],
        metrics: Sequence[Metric],
        primary: Metric,
        progress: Progress,
    ) -> None:
        self.run = run
        self.source = source
        self.contestants = contestants
        self.metrics = metrics
        self.primary = primary
        self.progress = progress
        self._open: dict[str, tuple[VisibleFold | StagedFold, Answers]] = {}

    def records(self, jobs: int | None) -> list[Record]:
        """The record of every trial, computing those that no earlier run finished."""
        trials = [(fold, entrant) for fold in self.source.folds for entrant in self.contestants]
        stored = {(e.name, fold): self.run.finished(e.name, fold) for fold, e in trials}
        records = [record for record in stored.values() if record is not None]
        todo = [(fold, entrant) for fold, entrant in trials if stored[entrant.name, fold] is None]
        if records:
            self.progress.note(f"{len(records)} of {len(trials)} trials were finished by an earlier run and are kept")
        if todo:
            jobs = min(jobs or available_cores(), len(todo))
            self.progress.start(len(trials), len(records))
            records += self._compute(todo, jobs)
        return records

    def _compute(self, todo: Sequence[tuple[str, Entrant]], jobs: int) -> Iterator[Record]:
        left = {fold: len(list(group)) for fold, group in groupby(todo, key=lambda trial: trial[0])}
        shared = self.run.folder / "staged" if jobs > 1 else None
        try:
            with Workers(jobs) if jobs > 1 else InProcess() as workers:
                self._compile(workers, todo, shared)
                for task, outcome in workers.outcomes(self._tasks(todo, shared)):
                    method, fold = task.tag
                    record = self._record(method, fold, outcome)
                    self.run.store(record)
                    self.progress.finished(_describe(record, self.primary))
                    left[fold] -= 1
                    if left[fold] == 0:
                        self._close(fold)
                    yield record
        finally:
            if shared is not None:
                shutil.rmtree(shared, ignore_errors=True)

    def _compile(self, workers: Workers | InProcess, todo: Sequence[tuple[str, Entrant]], shared: Path | None) -> None:
        """Have all code compiled before trials are timed.

        The metrics and two methods go first; they compile nearly all that methods have in common. Then each worker
        compiles other methods, and finds what it did not compile itself on disk: little is ever compiled twice.
        """
        self.progress.note("preparing: code is compiled on the first run only, which can take half a minute")
        fold = self._opened(todo[0][0], shared)
        needed = sorted({entrant.name: entrant for _, entrant in todo}.values(), key=lambda entrant: entrant.is_floor)
        tasks = [Task("metrics", warm_up_metric, (fold, self.primary))]
        tasks += [Task(entrant.name, warm_up, (entrant, fold, self.primary)) for entrant in needed]
        for batch in (tasks[:3], tasks[3:]):
            for _ in workers.outcomes(batch):
                pass  # a method that fails here fails again in its trials, where it is recorded

    def _tasks(self, todo: Iterable[tuple[str, Entrant]], shared: Path | None) -> Iterator[Task]:
        for fold, entrant in todo:
            yield Task((entrant.name, fold), search, (entrant, self._opened(fold, shared), self.primary))

    def _opened(self, name: str, shared: Path | None) -> VisibleFold | StagedFold:
        """The fold, loaded when it is first needed."""
        if name not in self._open:
            fold, answers = seal(name, *self.source.load(name))
            handle = fold if shared is None else StagedFold.write(fold, shared / str(self.source.folds.index(name)))
            self._open[name] = handle, answers
        return self._open[name][0]

    def _close(self, name: str) -> None:
        handle, _ = self._open.pop(name)
        if isinstance(handle, StagedFold):
            handle.remove()

    def _record(self, method: str, fold: str, outcome: Any) -> Record:
        if not isinstance(outcome, Failure):
            try:
                answers = self._open[fold][1]
                per_query = judge(outcome.test_scores, answers, self.metrics)
            except ValueError as error:
                outcome = Failure(f"ValueError: {error}")
        if isinstance(outcome, Failure):
            return Record(method, fold, error=outcome.error, traceback=outcome.traceback)
        return Record(
            method,
            fold,
            parameters=jsonable(outcome.parameters),
            validation=outcome.validation,
            candidates=[{**c, "parameters": jsonable(c["parameters"])} for c in outcome.candidates],
            warnings=outcome.warnings,
            seconds=outcome.seconds,
            search_seconds=outcome.search_seconds,
            qids=[str(qid) for qid in answers.qids],
            per_query={name: values.tolist() for name, values in per_query.items()},
        )


class _Silent:
    def note(self, text: str) -> None: ...

    def start(self, total: int, done: int) -> None: ...

    def finished(self, text: str) -> None: ...


def _metrics(names: Sequence[str], convention: str, primary: str | None) -> tuple[list[Metric], Metric]:
    from podium.metrics import metric

    if isinstance(names, str):
        names = names.split(",")
    if not names:
        raise ValueError("give at least one metric")
    measures = list(dict.fromkeys(metric(name, convention) for name in names))
    by_name = {measure.name: measure for measure in measures}
    if primary is not None:
        main = metric(primary, convention)
        if main.name not in by_name:
            measures.append(main)
        return measures, main
    return measures, by_name.get("map") or by_name.get("ndcg@10") or measures[0]


def _configuration(
    source: Source,
    contestants: Sequence[Entrant],
    metrics: Sequence[Metric],
    primary: Metric,
    normalize: str | None,
    random_state: int,
) -> Configuration:
    """All that determines the figures, as JSON-like values."""
    return {
        "podium": code_version(),
        "data": {
            "name": source.name,
            "description": source.description,
            "fingerprint": source.fingerprint,
            "folds": source.folds,
        },
        "average": source.average,
        "methods": {entrant.name: entrant.description() for entrant in contestants},
        "metrics": [metric.name for metric in metrics],
        "primary": primary.name,
        "convention": primary.convention,
        "normalize": normalize,
        "seed": random_state,
    }


def _describe(record: Record, primary: Metric) -> str:
    if record.error is not None:
        return f"{record.fold}, {record.method}: failed: {record.error}"
    return (
        f"{record.fold}, {record.method}: {primary} {record.validation:.4f} on validation, fit {record.seconds:.2f} s"
    )

"""Comparing methods on the same folds: the whole experiment, from data to tables, in one call."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from podium.experiments.plan.methods import QUICK, StudyMethod, study_methods
from podium.experiments.plan.protocol import KFold, Protocol, parse_protocol
from podium.experiments.plan.rehearsal import REHEARSAL, RehearsalFolds
from podium.experiments.plan.search import Search
from podium.experiments.plan.sources import Source, open_source
from podium.experiments.result.comparison import Comparison
from podium.experiments.run.details import Drawer
from podium.experiments.run.runner import Listener, Runner
from podium.experiments.run.store import Configuration, Run, code_version

if TYPE_CHECKING:
    from podium.metrics import Metric

__all__ = ["compare"]

METRICS = ("ndcg@1", "ndcg@5", "ndcg@10", "map")


def compare(
    data: Any = None,
    methods: str | Sequence[str] | Mapping[str, Any] | None = None,
    *,
    metrics: Sequence[str] = METRICS,
    convention: str = "standard",
    primary: str | None = None,
    normalize: str | None = "minmax",
    folds: int | None = None,
    protocol: str | Protocol | None = None,
    search: str | Search = "grid",
    budget: int | None = None,
    random_state: int = 0,
    seeds: int | Sequence[int] = 1,
    rehearse: bool = False,
    out: str | Path | None = None,
    jobs: int | None = None,
    columns: Mapping[str, Any] | None = None,
    progress: Listener | None = None,
) -> Comparison:
    """Train, choose and test methods on the same folds, and say which are better and how surely.

    On each fold a method is trained on the training part with every combination of its small grid of
    hyper-parameters, or with those that another search draws; the one that is best on the validation part, by the
    ``primary`` metric, is evaluated on the test part, once. Test labels reach nothing before that.

    Parameters
    ----------
    data : path or Queries, optional
        A folder of folds (LETOR's layout); or a file or queries, which the protocol divides; or nothing: synthetic
        lists with ties.
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
        Short for ``protocol=KFold(folds)``.
    protocol : Letor, KFold, RepeatedHoldout, TimeSplit or their text, optional
        How queries become training, validation and test parts: see :mod:`podium.experiments.plan.protocol`. By
        default the folds of a folder, and ``KFold(5)`` for other data.
    search : {"grid", "random", "bayes"} or Search
        How hyper-parameters are searched for; the last needs the extra ``search``.
    budget : int, optional
        Trials that each method has on each fold, for the searches that draw.
    random_state : int
        Seeds the protocol and every method; the same seed gives the same figures whatever ``jobs`` is.
    seeds : int or sequence of int
        With how many seeds (from ``random_state`` on), or with which, methods that depend on one are repeated. Figures
        are then means over seeds, and their spread over seeds is told apart from that over queries.
    rehearse : bool
        First compare without the test parts, half of each validation part judging what the other half chose, to pick
        a method by: see :mod:`podium.experiments.plan.rehearsal`. It takes about twice as long as the comparison
        itself with one seed, and uses the first.
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
    measures, main = named_metrics(metrics, convention, primary)
    if methods is None:
        methods = "all" if data is not None else QUICK
    strategy = search if isinstance(search, Search) else Search(search, budget)
    every = list(range(random_state, random_state + seeds)) if isinstance(seeds, int) else list(dict.fromkeys(seeds))
    if not every:
        raise ValueError("give at least one seed")
    if folds is not None and protocol is not None:
        raise ValueError(f"give either folds or a protocol; got folds={folds} and protocol={protocol}")
    rules = KFold(folds) if folds is not None else None if protocol is None else parse_protocol(protocol)
    entered = study_methods(methods, primary=str(main), normalize=normalize, n_seeds=len(every))
    source = open_source(data, protocol=rules, random_state=random_state, columns=columns or {})

    def on_folds_of(
        source: Source, out: str | Path | None, seeds: list[int], rehearsal: Comparison | None = None
    ) -> Comparison:
        configuration = _configuration(source, entered, measures, main, normalize, random_state, strategy, seeds)
        return carry_out(
            configuration,
            source,
            entered,
            measures,
            main,
            strategy,
            out=out,
            jobs=jobs,
            progress=progress,
            rehearsal=rehearsal,
        )

    rehearsal = None
    if rehearse:
        (progress or _Silent()).note("rehearsal: the same comparison without the test parts, to pick a method by")
        rehearsal = on_folds_of(RehearsalFolds(source), None if out is None else Path(out) / REHEARSAL, every[:1])
    return on_folds_of(source, out, every, rehearsal)


def carry_out(
    configuration: Configuration,
    source: Source,
    methods: Sequence[StudyMethod],
    metrics: Sequence[Metric],
    primary: Metric,
    search: Search,
    *,
    out: str | Path | None,
    jobs: int | None,
    progress: Listener | None,
    rehearsal: Comparison | None = None,
) -> Comparison:
    """Compute what the folder of the run does not have yet, and keep tables and report there."""
    began = time.perf_counter()
    tell = progress or _Silent()
    with ExitStack() as stack:
        folder = Path(out) if out is not None else Path(stack.enter_context(tempfile.TemporaryDirectory()))
        run = Run(folder, configuration)
        stack.enter_context(run.locked())
        if changes := run.changes():
            what = ", ".join("Podium's code" if name == "podium" else name for name in changes)
            tell.note(f"new run: {what} changed since the last one in {folder}, whose trials are kept")
        before = run.seconds_spent()
        told = {"rehearsed": rehearsal is not None}
        run.describe(status="running", total_seconds=before, **told)
        try:
            results = Runner(run, source, methods, metrics, primary, search, tell).results(jobs)
        except KeyboardInterrupt:
            seconds = time.perf_counter() - began
            run.describe(status="interrupted", seconds=seconds, total_seconds=before + seconds, **told)
            raise
        seconds = time.perf_counter() - began
        drawer = Drawer(folder)
        comparison = Comparison(
            configuration,
            results,
            folder=None if out is None else folder,
            seconds=before + seconds,
            drawer=drawer,
            rehearsal=rehearsal,
        )
        if out is not None:
            comparison.save(folder)
            total = before + seconds
            run.describe(status="complete", seconds=seconds, total_seconds=total, failed=comparison.failed, **told)
        else:
            drawer.fill(result.details for result in results)
    return comparison


class _Silent:
    def note(self, text: str) -> None: ...

    def start(self, total: int, done: int) -> None: ...

    def finished(self, text: str, seconds_left: float | None = None) -> None: ...


def named_metrics(names: Sequence[str], convention: str, primary: str | None) -> tuple[list[Metric], Metric]:
    """The metrics of these names, each once, and the primary one: by default MAP, NDCG@10 or the first."""
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
    methods: Sequence[StudyMethod],
    metrics: Sequence[Metric],
    primary: Metric,
    normalize: str | None,
    random_state: int,
    search: Search,
    seeds: Sequence[int],
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
        "protocol": {"name": str(source.protocol), "text": source.protocol.describe()},
        "average": source.average,
        "search": search.description(),
        "methods": {method.name: method.description() for method in methods},
        "metrics": [metric.name for metric in metrics],
        "primary": primary.name,
        "convention": primary.convention,
        "normalize": normalize,
        "seed": random_state,
        "seeds": list(seeds),
        "stochastic": [method.name for method in methods if method.stochastic],
    }

"""Comparing methods on the same folds: the whole experiment, from data to tables, in one call."""

import os
import tempfile
import time
import warnings
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np

from podium.core.random_state import RandomState, seed_of
from podium.core.texts import as_texts
from podium.data.io.run_scores import ListedDocuments
from podium.data.io.trec import Qrels
from podium.data.queries import Queries
from podium.experiments.listening import listening, tell
from podium.experiments.plan.domain import QUERIES, QUICK, Methods
from podium.experiments.plan.external import Runs, external_methods, read_runs, run_of
from podium.experiments.plan.judged import JudgedQueries
from podium.experiments.plan.judges import judges
from podium.experiments.plan.methods import StudyMethod
from podium.experiments.plan.protocol import KFold, Protocol, parse_protocol
from podium.experiments.plan.rehearsal import REHEARSAL, RehearsalFolds
from podium.experiments.plan.search import Search
from podium.experiments.plan.sources import Source, open_source
from podium.experiments.plan.study import Study
from podium.experiments.report.rankings import explained_method, explored
from podium.experiments.result.comparison import Comparison
from podium.experiments.result.summary import one_per_fold
from podium.experiments.run import explaining
from podium.experiments.run.cluster import Cluster, open_cluster
from podium.experiments.run.lock import locked
from podium.experiments.run.outcomes import Result
from podium.experiments.run.runner import Listener, Runner
from podium.experiments.run.store import FILE, Store
from podium.metrics import Metric

__all__ = ["compare"]

METRICS = ("ndcg@1", "ndcg@5", "ndcg@10", "map")


def compare(
    data: Any = None,
    methods: Methods | None = None,
    *,
    metrics: str | Sequence[str | Metric] = METRICS,
    convention: str = "standard",
    primary: str | Metric | None = None,
    normalize: str | None = "robust",
    folds: int | None = None,
    protocol: str | Protocol | None = None,
    search: str | Search = "grid",
    budget: int | None = None,
    random_state: RandomState = 0,
    seeds: int | Sequence[int] = 1,
    rehearse: bool = False,
    out: str | Path | None = None,
    jobs: int | None = None,
    dask: Any = None,
    columns: Mapping[str, Any] | None = None,
    runs: Runs | None = None,
    qrels: Qrels | str | os.PathLike[str] | None = None,
    progress: Listener | bool | None = None,
) -> Comparison:
    """Train, select and test methods on the same folds, and say which are better and how surely.

    On each fold a method is trained on the training part with every combination of its small grid of
    hyper-parameters, or with those that another search draws; the one that is best on the validation part, by the
    ``primary`` metric, is evaluated on the test part, once. Test labels reach nothing before that.

    Parameters
    ----------
    data : path or Queries, optional
        A folder of folds (LETOR's layout); or a file or queries, which the protocol divides; or nothing: synthetic
        lists with ties.
    methods : "all", names, or a mapping from names to rankers, optional
        What ``podium methods`` lists, or rankers of your own. In a mapping, a value is None for a built-in method; a
        ranker, its class, or any estimator that :func:`podium.adapt` takes; a pair of one of these and what to search,
        ``(ranker, {"scorer__l2": [0.01, 0.1]})``; or a ``podium.rankers.methods.Method``. ``module:name`` names
        such an object. ``blend`` is the average of all models of the methods named with it: see
        :class:`podium.Blend`. By default all; for the synthetic lists, those that are quick to compile and to train.
        The floors ``best-feature`` and ``random`` are always added.
    metrics : sequence of str or Metric
        Names, ``module:name``, or what :func:`podium.metrics.define` returned.
    convention : str
        The rules that all metrics follow.
    primary : str or Metric, optional
        The metric that selects hyper-parameters, orders the table and is tested. By default ``map`` if it is among
        ``metrics`` (it looks at the whole list, so it varies least on few validation queries), else ``ndcg@10`` if
        that is, else the first. A metric that gives every order the same value on the training and validation parts,
        such as ``map`` where all grades are relevant, is passed over; given here, it is an error.
    normalize : {"robust", "standard", "minmax", "zscore", None}
        How the built-in methods rescale features, as in :class:`podium.Ranker`. With ``"robust"`` and ``"standard"`` a
        model can be exported to search engines, which score one document at a time; ``"minmax"`` and ``"zscore"`` need
        all documents of the query.
    folds : int, optional
        Short for ``protocol=KFold(folds)``.
    protocol : Letor, KFold, RepeatedHoldout, TimeSplit or their text, optional
        How queries become training, validation and test parts: see ``podium.experiments.plan.protocol``. By
        default the folds of a folder, and ``KFold(5)`` for other data.
    search : {"grid", "random", "bayes"} or Search
        How hyper-parameters are searched for; the last needs the extra ``search``.
    budget : int, optional
        Trials that each method has on each fold, for the searches that draw.
    random_state : int, generator or None
        Seeds the protocol and every method; the same seed gives the same figures whatever ``jobs`` is. With None or a
        generator a seed is drawn; ``configuration.seed`` says which.
    seeds : int or sequence of int
        With how many seeds (from ``random_state`` on), or with which, methods that depend on one are repeated. Figures
        are then means over seeds, and their spread over seeds is reported apart from that over queries.
    rehearse : bool
        First compare without the test parts, to pick a method: half of each validation part judges what the other half
        selected (see ``podium.experiments.plan.rehearsal``). This uses the first seed and takes about twice as long
        as the comparison itself with one seed.
    out : path, optional
        Folder for the run: finished trials (``run.sqlite``), tables and report. A run that was stopped goes on from
        there. Without it nothing is left on disk.
    jobs : int, optional
        Worker processes; by default one per core. With 1, everything happens in this process. In a script, more than
        one needs the call to be under ``if __name__ == "__main__":``.
    dask : address, client or "local", optional
        Compute the trials on the workers of a Dask cluster, each one trial at a time: the address of its scheduler
        (``"tcp://host:8786"``), a ``distributed.Client``, or ``"local"`` for a cluster of ``jobs`` processes here. The
        figures are the same; a run may move between the two. Needs the extra ``dask``.
    columns : mapping, optional
        For CSV and Parquet: ``qid``, ``label``, ``document_id``, ``features``.
    runs : mapping from names to Run or paths, optional
        Rankings of the test queries that were made elsewhere, as :class:`podium.Run` or TREC files; each is a row like
        the others, but never the pick. Documents that a run does not have rank last; a query that it does not have is
        an error of its row.
    qrels : Qrels or path, optional
        Judgments, in place of ``data`` and ``methods``: the runs alone are compared on the judged queries, on the
        documents that were judged or that a run has.
    progress : bool or Listener, optional
        By default a bar with the time left, in a terminal and in notebooks; True also shows lines where standard error
        is a file, False shows nothing. A listener is told instead.

    Returns
    -------
    Comparison
        A method that fails does not end the comparison: its row says why.

    Examples
    --------
    >>> import podium
    >>> queries = podium.make_queries(n_queries=30, n_documents=8, n_features=5)
    >>> methods = {"listnet": podium.ListNet(), "squares": podium.Regression()}
    >>> comparison = podium.compare(queries, methods, metrics=["ndcg@5"], folds=3, jobs=1)
    >>> sorted(comparison.methods), comparison.n_queries
    (['best-feature', 'listnet', 'random', 'squares'], 30)
    >>> comparison.best in ("listnet", "squares")
    True
    """
    strategy = search if isinstance(search, Search) else Search(search, budget)
    random_state = seed_of(random_state)
    if isinstance(seeds, int | np.integer):
        seeds = range(random_state, random_state + int(seeds))
    every = list(dict.fromkeys(map(int, seeds)))
    if not every:
        raise ValueError("give at least one seed")
    if qrels is not None and (data is not None or methods is not None or folds or protocol or rehearse or not runs):
        raise ValueError(
            "judgments (qrels) are for comparing runs alone: give runs, and no data, methods, folds or rehearsal"
        )
    if folds is not None and protocol is not None:
        raise ValueError(f"give either folds or a protocol; got folds={folds} and protocol={protocol}")
    rules = KFold(folds) if folds is not None else None if protocol is None else parse_protocol(protocol)
    if methods is None:
        methods = "all" if data is not None else QUICK
    options = {"normalize": normalize} if qrels is None else {}
    given = read_runs(runs or {})
    source: Source
    if qrels is None:
        source = open_source(data, protocol=rules, random_state=random_state, columns=columns or {})
    else:
        source = JudgedQueries(qrels, given)
    judged_by = judges(metrics, convention, primary, source)
    entered: list[StudyMethod] = []
    if qrels is None:
        entered = QUERIES.study_methods(methods, options, {"metric": str(judged_by.primary)}, n_seeds=len(every))
    reading = {
        "path": None if data is None or isinstance(data, Queries) else str(Path(data).absolute()),
        "columns": dict(columns or {}),
    }

    external = external_methods(given, entered)
    folder, rehearsal = None if out is None else Path(out), None

    def on_folds_of(
        source: Source, methods: Sequence[StudyMethod], out: Path | None, seeds: Sequence[int]
    ) -> Comparison:
        judging = judged_by.metrics, judged_by.primary
        study = Study(
            *(source, methods, *judging, strategy, random_state, seeds, options, reading), silent=judged_by.silent
        )
        return run_study(study, out=out, jobs=jobs, progress=listener, rehearsal=rehearsal, cluster=cluster)

    with listening(progress) as listener, open_cluster(dask, jobs) as cluster:
        tell(judged_by.notes, listener)
        if rehearse:
            listener.note("rehearsal: the same comparison without the test parts, to pick a method by")
            rehearsal = on_folds_of(RehearsalFolds(source), entered, folder and folder / REHEARSAL, every[:1])
        comparison = on_folds_of(source, [*entered, *external], folder, every)
        comparison.frame_kind = getattr(data, "frame_kind", None) or comparison.frame_kind
        return comparison


def run_study(
    study: Study,
    *,
    out: str | Path | None = None,
    jobs: int | None = None,
    progress: Listener | bool | None = None,
    rehearsal: Comparison | None = None,
    cluster: Cluster | None = None,
) -> Comparison:
    """Compute what the folder of the run does not have yet, and write tables and report there."""
    began = time.perf_counter()
    with ExitStack() as stack:
        listener = stack.enter_context(listening(progress))
        folder = Path(out) if out is not None else Path(stack.enter_context(tempfile.TemporaryDirectory()))
        stack.enter_context(locked(folder))
        store = Store(folder / FILE, study.configuration, create=True)
        last = store.last_study()
        changes = study.configuration.changes_since(last[0]) if last else []
        if changes:
            listener.note(
                f"new run: {', '.join(changes)} changed since the last one in {folder}, whose trials are kept"
            )
        before = 0.0 if changes or last is None else float(last[1].get("total_seconds", 0.0))
        facts: dict[str, Any] = {"rehearsed": rehearsal is not None, "reading": dict(study.reading)}
        store.describe(**facts, status="running", total_seconds=before)
        try:
            runner = Runner(study, store, listener)
            results = runner.results(jobs, cluster)
        except KeyboardInterrupt:
            store.describe(**facts, status="interrupted", total_seconds=before + time.perf_counter() - began)
            raise
        seconds = before + time.perf_counter() - began
        facts["notes"], inference = unknown_queries(study, results), None
        tell(facts["notes"], listener)
        if study.judging is not None:
            inference, lines = study.judging.conclude(results, store)
            facts["notes"] += lines
            facts["inference"] = inference.plain()
        comparison = Comparison(
            study.configuration,
            results,
            folder=None if out is None else folder,
            seconds=seconds,
            store=store if out is not None else store.in_memory(),
            rehearsal=rehearsal,
            study=study,
            more_notes=facts["notes"],
            inference=inference,
        )
        if out is not None:
            explain_chosen(comparison, runner)
            comparison.save(folder)
            store.describe(**facts, status="complete", total_seconds=seconds, failed=comparison.failed)
        else:
            store.close()
    return comparison


def unknown_queries(study: Study, results: Sequence[Result]) -> list[str]:
    """Return a line for each run made elsewhere that ranks queries which are not tested."""
    tested = {qid for result in results for qid in ListedDocuments(np.array(result.qids), np.empty(0)).run_qids()}
    lines = []
    for method in study.methods:
        run = run_of(method)
        n = 0 if run is None else len(set(as_texts(run.qids)) - tested)
        what = "1 query of the run is not among the test queries and is left out"
        if n > 1:
            what = f"{n:,} queries of the run are not among the test queries and are left out"
        lines += [f"{method.name}: {what}"] if n else []
    return lines


def explain_chosen(comparison: Comparison, runner: Runner) -> None:
    """Store, for the report, why the chosen method ranks some test queries as it does, as far as there is time.

    Its selected trials are fitted again, one per fold. A method that is made from others, such as a blend, has no model
    of its own: the best of the others is explained instead.
    """
    name = explained_method(comparison)
    if name is None or runner.study.domain is not QUERIES:
        return
    row = next(row for row in comparison.rows if row.method == name)
    results = one_per_fold(row.results)
    budget = max(explaining.SECONDS, 0.05 * sum(r.search_seconds for r in comparison.results))
    deadline = time.perf_counter() + budget
    numbers = explored(comparison, explaining.QUERIES)
    for fold, result in enumerate(results):
        chosen = np.array([q for f, q in numbers if f == fold], np.int64)
        known = comparison.store is None or comparison.store.explanation(result.trial) is not None
        if known or not len(chosen) or time.perf_counter() + result.seconds > deadline:
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the trial recorded them
            ranker, seen = runner.fitted(result)
            left = (deadline - time.perf_counter()) / (len(results) - fold)
            part = explaining.explain_part(ranker, seen.test, chosen, time.perf_counter() + left)
        if part is not None:
            assert comparison.store is not None
            comparison.store.add_explanation(result.trial, part)

"""Comparisons of methods that learn from clicks, judged by clicks on other queries."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from podium.clicks.comparing.biases import given_bias
from podium.clicks.comparing.folds import LogFolds
from podium.clicks.comparing.judging import PRODUCTION, LogJudging
from podium.clicks.comparing.learning import FromClicks
from podium.clicks.comparing.metrics import LogMetric, log_metrics
from podium.clicks.judgment import ESTIMATORS
from podium.clicks.rank_weights import rank_weights
from podium.core.parameters import require_choice, require_number
from podium.core.random_state import RandomState, seed_of
from podium.data.clicks import Clicks
from podium.data.io.trec import Run
from podium.data.queries import Queries
from podium.experiments.compare import run_study
from podium.experiments.listening import listening, tell
from podium.experiments.plan.blending import BLEND
from podium.experiments.plan.domain import Domain, Methods
from podium.experiments.plan.external import external_methods
from podium.experiments.plan.methods import StudyMethod
from podium.experiments.plan.protocol import KFold, Protocol, TimeSplit, parse_protocol
from podium.experiments.plan.search import Search
from podium.experiments.plan.study import Study
from podium.experiments.result.comparison import Comparison
from podium.experiments.run.cluster import open_cluster
from podium.experiments.run.runner import Listener
from podium.losses.base import Loss
from podium.metrics import Metric
from podium.metrics.telling import Telling, cannot_tell
from podium.rankers.estimator import BaseRanker
from podium.rankers.methods import METHODS

__all__ = ["compare"]

LEARNERS = Domain(METHODS, ("best-feature", "random"), on_queries=FromClicks)
"""Documents of queries, and rankers that learn from clicks on them."""


def compare(
    clicks: Clicks,
    methods: Methods = "all",
    *,
    metrics: str | Sequence[str | Metric] = ("dcg@10",),
    bias: Any,
    estimator: str = "ips",
    interval: str = "queries",
    clip: float | None = None,
    candidates: Queries | None = None,
    primary: str | Metric | None = None,
    normalize: str | None = "robust",
    folds: int | None = None,
    protocol: str | Protocol | None = None,
    search: str | Search = "grid",
    budget: int | None = None,
    random_state: RandomState = 0,
    seeds: int | Sequence[int] = 1,
    out: str | Path | None = None,
    jobs: int | None = None,
    dask: Any = None,
    progress: Listener | bool | None = None,
    name: str = "log",
    reading: Mapping[str, Any] | None = None,
) -> Comparison:
    """Train, select and test methods on a log of clicks, with nothing but clicks to judge them by.

    The log's queries are dealt into folds. On each, a method learns from the clicks on the training part with every
    setting of its grid; the setting whose ranking of the validation part the clicks there value most, by the primary
    metric as :func:`podium.clicks.evaluate` estimates it, is judged on the test part, once. Figures are those that
    :func:`podium.clicks.evaluate` has of the rankings of all test parts together, and every table names the estimator.

    Parameters
    ----------
    clicks : Clicks
        The log, with features.
    methods : "all", names, or a mapping from names to rankers
        As for :func:`podium.compare`; ``"all"`` are those that are trained on a loss, for only these learn from clicks.
        A method that cannot has the reason in its row. The floors ``best-feature`` (by the validation part's clicks)
        and ``random`` are added, and ``production``: what was shown, every document where it was.
    metrics : str or Metric, or several
        ``dcg@k``, ``dcg``, ``p@k``, ``rbp`` and ``rbp@k``: what clicks can tell.
    bias : object, str or (n_places,) array
        What places do to clicks, both for learning and for judging: a fitted bias that depends on the place alone,
        propensities, or ``"naive"``. Or a bias that is not fitted, such as ``podium.clicks.PositionBias()``, or
        ``"swaps"``, ``"em"`` or ``"trust"`` for one: it is estimated on the training part of each fold.
    estimator, interval, clip : Any
        As for :func:`podium.clicks.evaluate`; the regression of ``"dr"`` is fitted to the training part.
    candidates : Queries, optional
        The documents that are ranked in validation and test parts, with ids, if they are others than those that were
        shown. A method whose ranking has too much weight on documents never shown is refused in its row.
    primary : str or Metric, optional
        The metric that chooses, orders the table and is tested; by default the first.
    normalize, folds : Any
        As for :func:`podium.compare`.
    protocol : KFold, TimeSplit or their text, optional
        How queries train, validate and test: by default ``KFold(5)``. Of ``TimeSplit``, which has no column here, their
        order is that in which they first appear in the log.
    search, budget, random_state, seeds, out, jobs, dask, progress : Any
        As for :func:`podium.compare`.
    name : str
        What the log is called in tables.
    reading : mapping, optional
        Where the log is and how it was read, to be kept with the run.

    Returns
    -------
    Comparison
        As :func:`podium.compare` returns it. ``comparison.inference`` has effective sizes and standard errors.

    Examples
    --------
    >>> import podium
    >>> queries = podium.make_queries(n_queries=60, n_documents=8, n_features=5, random_state=0)
    >>> log = podium.clicks.simulate(queries, queries.features[:, 0], sessions=6000, random_state=0)
    >>> comparison = podium.clicks.compare(log, {"listnet": podium.ListNet()}, bias=log.truth, folds=3, jobs=1)
    >>> comparison.convention, comparison.best, sorted(comparison.methods)
    ('ips', 'listnet', ['best-feature', 'listnet', 'production', 'random'])
    """
    require_choice("estimator", estimator, tuple(ESTIMATORS))
    require_choice("interval", interval, ("queries", "sessions"))
    if clip is not None:
        require_number("clip", clip, at_least=1.0)
    log, candidates = _with_features(clicks, candidates)
    random_state = seed_of(random_state)
    if isinstance(seeds, int | np.integer):
        seeds = range(random_state, random_state + int(seeds))
    every = list(dict.fromkeys(map(int, seeds)))
    if not every:
        raise ValueError("give at least one seed")
    rules = _protocol(folds, protocol)
    asked, main = log_metrics(metrics, primary, estimator)
    source = LogFolds(log, given_bias(bias), estimator, clip, rules, random_state, candidates, name)
    silent, main = _telling(source, asked, main, given=primary is not None)
    options = {"normalize": normalize}
    named, left_out = _learning(methods)
    entered = LEARNERS.study_methods(named, options, {"metric": main}, n_seeds=len(every))
    entered = [replace(method, stochastic=method.stochastic or _draws(method)) for method in entered]
    shown = external_methods({PRODUCTION: _production(source)}, entered)
    study = Study(
        source,
        [*entered, *shown],
        asked,
        main,
        search if isinstance(search, Search) else Search(search, budget),
        random_state,
        every,
        options,
        dict(reading or {}),
        domain=LEARNERS,
        silent=silent,
        judging=LogJudging(source, asked, interval),
    )
    with listening(progress) as listener, open_cluster(dask, jobs) as cluster:
        tell((cannot_tell(metric, reason) for metric, reason in silent.items()), listener)
        tell(source.warnings, listener)
        if left_out:
            listener.note(f"left out, for they are not trained on a loss: {', '.join(left_out)}")
        return run_study(study, out=out, jobs=jobs, progress=listener, cluster=cluster)


def _with_features(clicks: Clicks, candidates: Queries | None) -> tuple[Clicks, Queries | None]:
    """Return the log with features and document ids, and candidates; raise if these do not fit."""
    if not isinstance(clicks, Clicks):
        raise TypeError(f"clicks must be a podium.Clicks; got {type(clicks).__name__}")
    if candidates is not None and clicks.queries.n_features == 0:
        clicks = clicks.with_features(candidates)
    queries = clicks.queries
    if queries.n_features == 0:
        raise ValueError("the log has no features to learn from: clicks.with_features(queries) looks them up by id")
    if candidates is not None:
        names = queries.feature_names, candidates.feature_names
        if candidates.n_features != queries.n_features or (None not in names and len(set(names)) > 1):
            raise ValueError(
                "candidates must have the features of the log, in the same order: clicks.with_features(candidates) "
                "gives the log those of its documents"
            )
    if queries.document_ids is None:
        columns = clicks.row, clicks.position, clicks.clicks, clicks.impressions, clicks.session
        numbered = queries.with_document_ids([f"row {row}" for row in range(queries.n_documents)])
        sessions, clicks = clicks.n_sessions, Clicks.of_rows(numbered, *columns)
        clicks.__dict__["n_sessions"] = sessions
    return clicks, candidates


def _protocol(folds: int | None, protocol: str | Protocol | None) -> KFold | TimeSplit:
    if folds is not None and protocol is not None:
        raise ValueError(f"give either folds or a protocol; got folds={folds} and protocol={protocol}")
    rules = KFold(folds or 5) if protocol is None else parse_protocol(protocol)
    if isinstance(rules, KFold) or (isinstance(rules, TimeSplit) and rules.column is None):
        return rules
    why = "a log has no column of times here; queries are in the order of their first appearance"
    if not isinstance(rules, TimeSplit):
        why = "every query is tested once, so that no click counts twice"
    raise ValueError(f"the protocol {rules} is not for logs of clicks ({why}): give kfold:K or time:,TEST,VALID")


def _telling(
    source: LogFolds, asked: Sequence[LogMetric], main: LogMetric, given: bool
) -> tuple[dict[str, str], LogMetric]:
    """Return the metrics that cannot tell rankings apart on validation parts, with why, and the primary one."""
    found = Telling(asked)
    for fold in source.folds:
        _, validation, _ = source.load(fold)
        found.look_at(validation)
        if not found.silent:
            break
    silent = {metric.name: found.reason for metric in asked if metric in found.silent}
    able = [metric for metric in asked if metric not in found.silent]
    if not able or (given and main in found.silent):
        instead = f"; {able[0].name} can" if able else ""
        raise ValueError(f"{cannot_tell(main.name, found.reason)}, so it cannot choose settings{instead}")
    return silent, able[0] if main in found.silent else main


def _learning(methods: Methods) -> tuple[Methods, list[str]]:
    """Return the methods asked for, with those in place of ``all`` that learn from clicks, and the names left out."""
    if isinstance(methods, str):
        methods = [name.strip() for name in methods.split(",")]
    if BLEND in methods:
        raise ValueError("a blend is of models judged by grades; leave it out of a comparison on clicks")
    if PRODUCTION in methods:
        raise ValueError(f"{PRODUCTION!r} is what the log showed: give your own ranker another name")
    if "all" not in methods:
        return methods, []
    all_of_them = [name for name, method in METHODS.items() if method.in_all and method.family != "floor"]
    able = [name for name in all_of_them if _learns(LEARNERS.study_method(name))]
    given = methods if isinstance(methods, Mapping) else dict.fromkeys(methods)
    expanded: dict[str, Any] = {}
    for name, ranker in given.items():
        expanded |= dict.fromkeys(able) if name == "all" else {name: ranker}
    return expanded, [name for name in all_of_them if name not in expanded]


def _learns(method: StudyMethod) -> bool:
    """Return whether a method is trained on a loss."""
    return _loss_of(method) is not None


def _draws(method: StudyMethod) -> bool:
    """Return whether a built-in method learns from labels that are drawn, so that its result depends on a seed."""
    if not method.takes_seed or method.family == "own":
        return False
    loss = _loss_of(method)
    return loss is not None and loss.linear_in is None


def _loss_of(method: StudyMethod) -> Loss | None:
    bare = replace(method, on_queries=None)
    ranker = bare.ranker(bare.settings([next(bare.combinations())], 0)[0])
    return ranker._loss() if isinstance(ranker, BaseRanker) else None


def _production(source: LogFolds) -> Run:
    """Return the rankings that were shown as a run: documents by the mean weight of their places."""
    (weight,) = rank_weights("dcg").values()
    scores, qids, ids = [], [], []
    for fold in source.folds:
        part = source.part(fold, "test")
        queries = part.logged.queries
        scores.append(part.as_shown(weight))
        qids.append(np.array([str(qid) for qid in queries.qids.tolist()], object)[queries.query_of_document])
        assert queries.document_ids is not None
        ids.append(queries.document_ids)
    return Run(np.concatenate(qids), np.concatenate(ids), np.concatenate(scores))

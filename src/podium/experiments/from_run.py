"""From a finished comparison to a model: the setting that all folds choose together, fitted on all data."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from podium.core.user_objects import import_user_object, is_user_object
from podium.data.queries import Queries
from podium.experiments.listening import listening
from podium.experiments.plan.blending import BLEND, shares_of
from podium.experiments.plan.configuration import plain_parameters
from podium.experiments.plan.domain import QUERIES
from podium.experiments.plan.identity import digest
from podium.experiments.plan.methods import Setting, StudyMethod
from podium.experiments.plan.protocol import parse_protocol
from podium.experiments.plan.search import ListedSettings, Search
from podium.experiments.plan.sources import WholeSource, open_source
from podium.experiments.plan.study import Study
from podium.experiments.result.comparison import Comparison
from podium.experiments.run.carrying import over_folds
from podium.experiments.run.clock import Clock
from podium.experiments.run.lock import locked
from podium.experiments.run.outcomes import Trial
from podium.experiments.run.runner import Listener
from podium.experiments.run.store import Store
from podium.experiments.tuning import SettingSearch, Tuning, final_ranker, fit_chosen, fit_within
from podium.metrics import Metric
from podium.metrics import metric as find_metric
from podium.models.blend import Blend
from podium.models.evidence import without_small

_OF_RATINGS = (
    "this is a comparison of rankers of ratings: podium.train_from_comparison, or podium ratings train --from-run"
)


def train_from(
    comparison: Comparison,
    method: str | None = None,
    *,
    data: Any = None,
    jobs: int | None = 1,
    minutes: float | None = None,
    progress: Listener | bool | None = None,
    clock: Clock | None = None,
) -> Any:
    """Return the pick of a comparison, or the named method, fitted on all its data; see :meth:`Comparison.train`."""
    name = method or comparison.pick
    if name is None:
        raise ValueError("the comparison picked no method: name one")
    if name not in comparison.methods:
        raise ValueError(f"no method named {name!r} in this comparison; there are {', '.join(comparison.methods)}")
    with listening(progress) as listener:
        return _train(comparison, name, _source(comparison, data), jobs, clock or Clock(minutes), listener)


def _train(
    comparison: Comparison, name: str, source: WholeSource, jobs: int | None, clock: Clock, listener: Listener
) -> Any:
    configuration = comparison.configuration
    asked = list(configuration.methods[name].requires) if name == BLEND else [name]
    methods = [_method(comparison, each) for each in asked]
    primary = next(
        (m for m in (comparison.study.metrics if comparison.study else ()) if m.name == comparison.primary), None
    ) or find_metric(comparison.primary, comparison.convention)
    if name == BLEND:
        return _blend(comparison, methods, source.all_queries(), primary, clock, listener)
    (tried,) = methods
    study = Study(
        source,
        methods,
        [primary],
        primary,
        Search(configuration.search["strategy"], configuration.search["budget"]),
        configuration.seed,
        configuration.seeds,
        configuration.options,
    )
    with _store(comparison, study) as store:
        settings = ListedSettings(_settings(comparison, tried, study))
        found = SettingSearch(study, store, tried, listener, clock, jobs, settings).run()
    return fit_chosen(tried, found, source.all_queries(), None, clock, listener)


def all_queries(comparison: Comparison, data: Any = None) -> Queries:
    """Return all data of a comparison, read again; ``data`` is where they are now, if they were moved."""
    return _source(comparison, data).all_queries()


def _source(comparison: Comparison, data: Any) -> WholeSource:
    """Return the data of the comparison; refuse others."""
    configuration = comparison.configuration
    if configuration.estimated:
        advice = f": {comparison.train_command}" if comparison.train_command else " (podium train LOG --clicks)"
        raise ValueError(f"this is a comparison on a log of clicks; a model is trained on the log itself{advice}")
    if comparison.study is not None and data is None:
        source: Any = comparison.study.source
        if not hasattr(source, "all_queries"):
            raise ValueError(_OF_RATINGS)
        return source
    reading = comparison.run_facts.get("reading") or {}
    where = data if data is not None else reading.get("path")
    if where is None and configuration.data.name != "synthetic":
        raise ValueError("the data of this comparison were in memory: give them again (data)")
    if where is not None and not isinstance(where, Queries) and not Path(where).exists():
        raise ValueError(f"the data of this comparison are no longer at {where}: say where they are (data, --data)")
    if configuration.unit != QUERIES.unit:
        raise ValueError(_OF_RATINGS)
    source = open_source(
        where,
        protocol=parse_protocol(configuration.protocol.name),
        random_state=configuration.seed,
        columns=reading.get("columns") or {},
    )
    if source.fingerprint != configuration.data.fingerprint:
        raise ValueError(
            f"{'the data given' if isinstance(where, Queries) else where} are not the data of this comparison: their "
            f"digest is {source.fingerprint[:12]}, that of the comparison {configuration.data.fingerprint[:12]}. "
            "Compare again, or train with podium train DATA --tune"
        )
    return source


def _method(comparison: Comparison, name: str) -> StudyMethod:
    if comparison.study is not None:
        return next(m for m in comparison.study.methods if m.name == name)
    options = comparison.configuration.options
    if name in QUERIES.floors:
        return replace(QUERIES.study_method(name, None, {**options, "metric": comparison.primary}), is_floor=True)
    if name in QUERIES.methods:
        return QUERIES.study_method(name, None, options)
    if is_user_object(name):
        return QUERIES.study_method(name, import_user_object(name), options)
    raise ValueError(
        f"{name} is a ranker of your own, which the folder of the run does not hold: call comparison.train({name!r}) "
        "in the program that compared it, or compare it as module:name"
    )


def _settings(comparison: Comparison, method: StudyMethod, study: Study) -> Any:
    """Return what was tried on any fold."""
    seed = comparison.configuration.seeds_of(method.name)[0]
    if study.search.strategy != "bayes":
        return list(iter(study.search.settings(method, seed).ask, None))
    tried: dict[str, dict[str, Any]] = {}
    for result in comparison.results:
        if result.method == method.name and result.seed == seed:
            for trial in result.trials:
                tried.setdefault(repr(sorted(trial.parameters.items())), original(trial.parameters, method))
    return method.settings(list(tried.values()), seed)


def original(parameters: dict[str, Any], method: StudyMethod) -> dict[str, Any]:
    """Return parameters as the space has them, where the run stored only how they are written."""
    found = {}
    for name, value in parameters.items():
        choices = [choice for choice in method.grid.get(name, ()) if plain_parameters({"": choice})[""] == value]
        found[name] = choices[0] if choices else value
    return found


@contextmanager
def _store(comparison: Comparison, study: Study) -> Iterator[Store]:
    """Hold the store of the comparison, to take trials from and to add those that are missing."""
    assert comparison.store is not None
    if comparison.folder is None:
        yield comparison.store.in_memory(study.configuration)
        return
    with locked(comparison.folder):
        store = Store(comparison.store.path, study.configuration)
        try:
            yield store
        finally:
            store.close()


def _blend(
    comparison: Comparison,
    methods: list[StudyMethod],
    queries: Queries,
    primary: Metric,
    clock: Clock,
    listener: Listener,
) -> Any:
    """Return the blend that was compared, fitted on all data: a setting's share is the mean of its shares on the folds.

    Settings whose mean is small are left out, as on each fold.
    """
    by_name = {method.name: method for method in methods}
    shares: dict[str, float] = {}
    tried: dict[str, list[Trial]] = {}
    for fold in comparison.folds:
        results = [r for r in comparison.results if r.fold == fold and r.method in by_name and r.error is None]
        trials = [trial for result in results for trial in result.trials if trial.error is None]
        known = [np.empty(0) if trial.validation_values is None else trial.validation_values for trial in trials]
        for trial, share in zip(trials, shares_of(known).tolist(), strict=True):
            key = digest([trial.method, trial.seed, plain_parameters(trial.parameters)])
            shares[key] = shares.get(key, 0.0) + share / len(comparison.folds)
            tried.setdefault(key, []).append(trial)
    members = []
    for (key, trials), share in zip(tried.items(), without_small(np.array(list(shares.values()))), strict=True):
        if share > 0:
            method, first = by_name[trials[0].method], trials[0]
            setting = Setting(original(first.parameters, method), first.seed)
            ranker = final_ranker(method, setting, over_folds([trial.carried for trial in tried[key]]), 0)
            members.append((method.name, ranker, float(share)))
    listener.note(f"fitting the {len(members)} members of the blend on all data")
    blend = Blend([(name, ranker) for name, ranker, _ in members], [share for *_, share in members])
    fit_within(blend, queries, clock, {})
    every = [trial for trials in tried.values() for trial in trials]
    blend.tuning_ = Tuning(primary, comparison.configuration.seed, every, len(comparison.folds))
    blend.trials_ = blend.tuning_.frame()
    return blend

"""The blend: the average of all models that a comparison fits on a fold, each kind of model with one vote.

It takes part like any method, under the name ``blend``. Documents are ordered by the geometric mean of the ranks they
get, which cares most about the top of a list and not about the scale of scores. Kinds of model have equal shares, for
models of one kind make much the same mistakes and some kinds have many methods; so have the methods of a kind, and all
settings that a method tried. Nothing is chosen on the validation part: where that has a few dozen queries, the best of
many is mostly luck, and an average of good and middling models beats it. No label has a say in it.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from podium.experiments.plan.methods import Setting, StudyMethod
from podium.experiments.run.seal import Trial, Viewable, with_grade
from podium.experiments.run.trial import mean, run_trial

if TYPE_CHECKING:
    from podium.data.queries import Queries
    from podium.metrics import Metric


class Model(NamedTuple):
    """One trial of a method."""

    setting: Setting
    scores: Path
    """File with its scores of the validation and the test part; it may be gone."""
    seconds: float
    """Its training."""


class Member(NamedTuple):
    """A method, and all that it tried."""

    method: StudyMethod
    models: tuple[Model, ...]


def blend(method: StudyMethod, setting: Setting, members: Sequence[Member], fold: Viewable, metric: Metric) -> Trial:
    """The trial of the blend."""
    if not members:
        raise ValueError("all methods to be blended failed")
    began = time.perf_counter()
    seen = fold.view()
    on_validation, on_test = np.zeros(seen.validation.n_documents), np.zeros(seen.test.n_documents)
    for member, share in shares(members):
        for model in member.models:
            validation_scores, test_scores = _scores(member.method, model, fold, metric)
            on_validation -= share * np.log(ranks(validation_scores, seen.validation))
            on_test -= share * np.log(ranks(test_scores, seen.test))
    return Trial(
        method.name,
        seen.name,
        setting.parameters,
        setting.seed,
        setting.number,
        mean(with_grade(metric, seen.top_grade), seen.validation, on_validation),
        time.perf_counter() - began,
        validation_scores=on_validation,
        test_scores=on_test,
    )


def shares(members: Sequence[Member]) -> Iterator[tuple[Member, float]]:
    """Each member, and the share of each of its models: equal for kinds, methods of a kind, models of a method."""
    methods = Counter(member.method.kind for member in members)
    for member in members:
        yield member, 1.0 / (len(methods) * methods[member.method.kind] * len(member.models))


def _scores(method: StudyMethod, model: Model, fold: Viewable, metric: Metric) -> tuple[np.ndarray, np.ndarray]:
    """Of the validation and the test part; fitted again if a run that had no blend dropped them."""
    try:
        with np.load(model.scores, allow_pickle=False) as found:
            return found["validation_scores"], found["test_scores"]
    except FileNotFoundError:
        again = run_trial(method, model.setting, fold, metric)
        assert again.validation_scores is not None
        assert again.test_scores is not None
        return again.validation_scores, again.test_scores


def ranks(scores: np.ndarray, queries: Queries) -> np.ndarray:
    """Each document's rank in its query, 1 is best; equal scores share the mean of their ranks."""
    query = queries.query_of_document
    order = np.lexsort((-scores, query))
    starts = np.ones(len(order), bool)  # of runs of equal scores in one query
    starts[1:] = (query[order][1:] != query[order][:-1]) | (scores[order][1:] != scores[order][:-1])
    run = np.cumsum(starts) - 1
    position = np.arange(1, len(order) + 1) - queries.offsets[query[order]]
    shared = np.bincount(run, position) / np.bincount(run)
    found = np.empty(len(order))
    found[order] = shared[run]
    return found

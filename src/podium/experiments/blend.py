"""The blend: an average of the methods of a comparison, weighted by what they add on the validation part.

It takes part like any method, under the name ``blend``. On each fold the other methods' chosen models rank every query;
documents are ordered by the geometric mean of their ranks, which cares most about the top of a list and not about the
scale of scores. All methods begin with the same weight; then, ``extra`` times, the one that helps the validation metric
most gets one share more (ensemble selection: Caruana et al., ICML 2004). To begin with all of them is what keeps it
from fitting a few dozen validation queries. It is made from scores alone: nothing is trained, no test label is seen.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from podium.experiments.entrants import Candidate, Entrant
from podium.experiments.sealed import Trial, Viewable, with_grade
from podium.experiments.trial import mean

if TYPE_CHECKING:
    from podium.metrics import Metric
    from podium.queries import Queries


class Member(NamedTuple):
    """A method's chosen model."""

    name: str
    scores: Path
    """File with its scores of the validation and the test part."""


def blend(entrant: Entrant, candidate: Candidate, members: Sequence[Member], fold: Viewable, metric: Metric) -> Trial:
    """One trial of the blend."""
    if not members:
        raise ValueError("all methods to be blended failed")
    began = time.perf_counter()
    seen = fold.view()
    exact = with_grade(metric, seen.top_grade)
    on_validation, on_test = [], []
    for member in members:
        with np.load(member.scores, allow_pickle=False) as found:
            on_validation.append(-np.log(ranks(found["validation_scores"], seen.validation)))
            on_test.append(-np.log(ranks(found["test_scores"], seen.test)))
    weights = np.ones(len(members))
    total = np.sum(on_validation, axis=0)
    for _ in range(candidate.parameters["extra"]):
        gains = [mean(exact, seen.validation, total + scores) for scores in on_validation]
        best = int(np.argmax(np.nan_to_num(gains)))  # the first of equals
        weights[best] += 1.0
        total = total + on_validation[best]
    blended = total / weights.sum()
    return Trial(
        entrant.name,
        seen.name,
        candidate.parameters,
        candidate.seed,
        candidate.number,
        mean(exact, seen.validation, blended),
        time.perf_counter() - began,
        validation_scores=blended,
        test_scores=weights @ np.array(on_test) / weights.sum(),
    )


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

"""What rankers do with queries, in this process or elsewhere, on a cluster."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from podium.core.arrays import NOT_FINITE
from podium.data.normalize import WITHIN_QUERY
from podium.data.queries import Queries
from podium.data.remote import RemoteQueries
from podium.metrics import metric
from podium.numerics.blas import quiet_blas
from podium.numerics.loop import query_at_fault
from podium.scorers.base import Model
from podium.scorers.standardization import Standardization

if TYPE_CHECKING:
    from podium.rankers.estimator import BaseRanker

_VALUES_AT_ONCE = 4_000_000


def require_remote_trainer(ranker: BaseRanker) -> None:
    """Raise ValueError, naming what can, unless this ranker can be trained on queries that are on a cluster."""
    name, loss = type(ranker).__name__, ranker._loss()
    if loss is None:
        raise ValueError(
            f"{name} cannot be trained on a cluster: it is not trained on a loss. Rankers with a loss on a linear "
            "scorer or a network can, such as podium.ListNet() or podium.Ranker(loss)"
        )
    trainer, scorer = ranker._trainer(), ranker._scorer()
    if not trainer.works_remotely:
        raise ValueError(
            f"{name} cannot be trained on a cluster with the trainer {type(trainer).__name__}, which takes steps "
            f"within the data: podium.Ranker({loss!r}, {scorer!r}, podium.training.LBFGS()) can, which takes a step "
            "after all queries. Or take a sample of the queries and train on it in one process"
        )


def part_scorer(ranker: BaseRanker) -> Callable[[Queries], np.ndarray]:
    """Return the function that scores queries, without what else is known of the fit: it is sent to workers."""
    within = ranker.normalize if ranker.normalize in WITHIN_QUERY else None
    return partial(_scores, model=ranker.model_, within=within, standardization=ranker.standardization_)


def remote_values(ranker: BaseRanker, queries: RemoteQueries) -> np.ndarray:
    """Return the NDCG@10 of each query, as ``score`` averages it."""
    return np.concatenate(queries.each(_values, part_scorer(ranker)))


def _scores(
    queries: Queries, *, model: Model, within: str | None, standardization: Standardization | None
) -> np.ndarray:
    # Block by block where features are rescaled: a copy of all of them would double the memory.
    scores_of = []
    with quiet_blas() if model.uses_blas else nullcontext():
        for block in [queries] if within is None else queries.in_blocks(_VALUES_AT_ONCE):
            given = block if within is None else block.normalized(within)
            scores_of.append(model.scores(given if standardization is None else standardization.apply(given)))
    scores = np.concatenate(scores_of)
    if not np.isfinite(scores).all():
        row = int(np.argmin(np.isfinite(scores)))
        raise ValueError(f"query {queries.qids[queries.query_of_document[row]]}, document {row}: {NOT_FINITE}")
    return scores


def _values(part: Queries, score: Callable[[Queries], np.ndarray]) -> np.ndarray:
    return metric("ndcg@10").per_query(score(part), part.labels, part.offsets)


def name_query(error: BaseException, queries: Any) -> None:
    """Add to an error in the loss of a query the id of that query."""
    if (query := query_at_fault(error)) is not None and isinstance(queries, Queries):
        error.add_note(f"query number {query} has the id {queries.qids[query]}")

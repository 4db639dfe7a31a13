"""Why the chosen method ranks documents as it does: contributions of features, for the report's explorer.

A run keeps scores, not models. When all is judged, the selected trials of one method are fitted once more, which gives
the same models, and the first documents of some test queries are explained. No label of a test part is used.
"""

import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from podium.data.queries import Queries
from podium.rankers.estimator import BaseRanker
from podium.rankers.explaining.contributions import score_above_mean, score_difference
from podium.scorers.base import Model

DOCUMENTS = 20
"""Explained per query: the first of the method's ranking."""
FEATURES = 8
"""Shown per query; the others are added up."""
QUERIES = 200
"""Explained per run, at most."""
SECONDS = 10.0
"""For a run, at most, unless a twentieth of its own time is more."""


@dataclass(frozen=True, slots=True)
class ExplainedPart:
    """Contributions to the scores of the first documents of some test queries of a fold."""

    how: str
    """By what method, and against what."""
    queries: np.ndarray
    """(q,) numbers within the test part."""
    documents: np.ndarray
    """(q, DOCUMENTS) numbers within the query, best first; −1 beyond the last."""
    features: np.ndarray
    """(q, FEATURES) columns of the features that matter most in the query; −1 beyond the last."""
    values: np.ndarray
    """(q, DOCUMENTS, FEATURES) float32, the documents' features."""
    contributions: np.ndarray
    """(q, DOCUMENTS, FEATURES) float32."""
    others: np.ndarray
    """(q, DOCUMENTS) float32, the sum over all other features."""


def explain_part(ranker: Any, test: Queries | None, chosen: np.ndarray, deadline: float) -> ExplainedPart | None:
    """Explain the chosen queries of a test part, in order, until the time is over; None if there is nothing to say."""
    if not isinstance(ranker, BaseRanker) or not isinstance(test, Queries):
        return None
    found: list[tuple[Any, ...]] = []
    hows: dict[str, None] = {}
    for q in chosen.tolist():
        if time.perf_counter() > deadline and found:
            break
        if test.sizes[q]:
            how, *parts = _explain_query(ranker, test.take([q]), deadline)
            found.append((q, *parts))
            hows[how] = None
    if not found:
        return None
    numbers, *arrays = zip(*found, strict=True)
    return ExplainedPart("; ".join(hows), np.array(numbers), *(np.stack(part) for part in arrays))


def _explain_query(ranker: BaseRanker, listed: Queries, deadline: float) -> tuple[Any, ...]:
    seen = ranker._as_trained(listed)
    scores = ranker.model_.scores(seen)
    first = np.argsort(-scores, kind="stable")[:DOCUMENTS]
    how, parts = _contributions(ranker.model_, seen, first, ranker._scorer().listwise, scores, deadline)
    first = first[: len(parts)]
    largest = np.argsort(-np.abs(parts).mean(axis=0), kind="stable")[:FEATURES]
    largest = largest[np.abs(parts[:, largest]).max(axis=0, initial=0.0) > 0]
    rows = listed.features[first][:, largest]
    values = rows if isinstance(rows, np.ndarray) else rows.toarray()
    shown = parts[:, largest]
    size = (DOCUMENTS, FEATURES)
    return (
        how,
        _padded(first, (DOCUMENTS,), -1),
        _padded(largest, (FEATURES,), -1),
        _padded(values.astype(np.float32), size, 0),
        _padded(shown.astype(np.float32), size, 0),
        _padded((parts.sum(axis=1) - shown.sum(axis=1)).astype(np.float32), (DOCUMENTS,), 0),
    )


def _contributions(
    model: Model, seen: Queries, documents: np.ndarray, listwise: bool, scores: np.ndarray, deadline: float
) -> tuple[str, np.ndarray]:
    """Return how, and the contributions of all features to each document's score, less that of a reference.

    The reference is the mean of the list where contributions are quick to compute, else the document in the middle of
    the ranking: the difference of two rows then still explains the two documents' difference. There, if the time is
    over, only some documents are explained, at least two.
    """
    if model.contributions_method:
        found = [score_above_mean(model, seen, int(i), listwise) for i in documents]
        return f"{model.contributions_method}; against the mean of the {{unit}}", np.stack([f.values for f in found])
    middle = int(np.argsort(-scores, kind="stable")[len(scores) // 2])
    found = []
    for i in documents.tolist():
        if len(found) < 2 or time.perf_counter() < deadline:
            found.append(score_difference(model, seen, i, middle, listwise))
    methods = "; ".join(dict.fromkeys(f.method for f in found if f.values.any())) or found[0].method
    return f"{methods}; against the {{item}} in the middle of the ranking", np.stack([f.values for f in found])


def _padded(values: np.ndarray, shape: tuple[int, ...], fill: float) -> np.ndarray:
    padded = np.full(shape, fill, values.dtype)
    padded[tuple(slice(n) for n in values.shape)] = values
    return padded

"""The first documents of each test query as each method ranks them, to be read side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from podium.experiments.result.summary import MethodSummary, one_per_fold
from podium.experiments.run.outcomes import TestPart

if TYPE_CHECKING:
    from podium.experiments.result.comparison import Comparison

DEPTH = 20
"""Documents shown per ranking."""
PLACES = 600_000
"""The most places of rankings that a page holds, about 2 MB."""


def rankings(
    comparison: Comparison, rows: list[MethodSummary], shown: np.ndarray, values: np.ndarray
) -> list[dict[str, Any] | None] | None:
    """Return, per query shown, its documents and every method's order of them; None where they are not known.

    Where not all fit, the queries are kept on which the methods differ most by ``values``, (methods, queries).
    """
    found = by_fold(comparison, rows)
    if found is None:
        return None
    where = places(comparison, rows)
    room = PLACES // (DEPTH * max(len(rows), 1))
    most_different = set(np.argsort(-np.nan_to_num(values[:, shown]).std(axis=0), kind="stable")[:room].tolist())
    return [_one_query(found, *where[i]) if number in most_different else None for number, i in enumerate(shown)]


def by_fold(comparison: Comparison, rows: list[MethodSummary]) -> list[tuple[TestPart, list[np.ndarray]]] | None:
    """Return the test queries of each fold and every method's scores; None if the scores of some method are missing."""
    if not rows:
        return None
    folds = []
    results = [one_per_fold(row.results) for row in rows]
    for fold in range(len(results[0])):
        arrays = [comparison.arrays(result[fold]) for result in results]
        known = [found for found in arrays if found is not None]
        if len(known) < len(arrays) or any(len(found.scores) != len(known[0].part.labels) for found in known):
            return None
        folds.append((known[0].part, [found.scores for found in known]))
    return folds


def places(comparison: Comparison, rows: list[MethodSummary]) -> list[tuple[int, int]]:
    """Return the fold of each test query and its number there; the first, if it is tested several times."""
    if not rows:
        return []
    every = [
        (qid, (fold, number))
        for fold, result in enumerate(one_per_fold(rows[0].results))
        for number, qid in enumerate(result.qids)
    ]
    if len(every) == comparison.n_queries:
        return [place for _, place in every]
    first: dict[str, tuple[int, int]] = {}
    for qid, place in every:
        first.setdefault(qid, place)
    return list(first.values())


def _one_query(folds: list[tuple[TestPart, list[np.ndarray]]], fold: int, q: int) -> dict[str, Any]:
    """Return the documents among the first of any method, and each method's order of them by number."""
    queries, scores = folds[fold]
    documents = slice(queries.offsets[q], queries.offsets[q + 1])
    labels = queries.labels[documents]
    orders = [np.argsort(-s[documents], kind="stable")[:DEPTH] for s in scores]
    seen = np.unique(np.concatenate(orders))
    grades, counts = np.unique(labels, return_counts=True)
    ids = None if queries.document_ids is None else queries.document_ids[documents]
    return {
        "documents": len(labels),
        "grades": [[float(g), int(n)] for g, n in zip(grades[::-1], counts[::-1], strict=True)],
        "ids": [str(i + 1) if ids is None else _short(str(ids[i])) for i in seen],
        "grade": [float(grade) for grade in labels[seen]],
        "orders": [np.searchsorted(seen, order).tolist() for order in orders],
    }


def _short(name: str, most: int = 60) -> str:
    """Return a name that fits into a row; both ends of a long one, such as an address."""
    return name if len(name) <= most else f"{name[: most // 2]}…{name[-most // 2 + 1 :]}"

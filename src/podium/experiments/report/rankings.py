"""The first documents of each test query as each method ranks them, to be read side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from podium.experiments.report.rank_spreads import Spread, spreads
from podium.experiments.result.summary import MethodSummary, one_per_fold
from podium.experiments.run.explaining import ExplainedPart
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
    why = explanations(comparison)
    models = spreads(comparison, rows)
    room = PLACES // (DEPTH * max(len(rows), 1))
    graded = not comparison.configuration.estimated
    most_different = set(np.argsort(-np.nan_to_num(values[:, shown]).std(axis=0), kind="stable")[:room].tolist())
    return [
        _one_query(found, where[i], why.get(where[i]), models[where[i][0]], graded)
        if number in most_different
        else None
        for number, i in enumerate(shown)
    ]


def explained_method(comparison: Comparison) -> str | None:
    """Return the method whose rankings are explained: the pick, or the best, unless it is made from others."""
    facts = comparison.configuration.methods
    rows = sorted(comparison.learners, key=lambda row: row.method != comparison.pick)
    return next((row.method for row in rows if not facts[row.method].requires), None)


def explored(comparison: Comparison, most: int) -> list[tuple[int, int]]:
    """Return fold and number of the test queries to explain: those on which methods differ most come first."""
    rows = [row for row in comparison.rows if row.estimates]
    values = np.array([comparison.values(row.method, comparison.primary) for row in rows])
    order = np.argsort(-np.nan_to_num(values).std(axis=0), kind="stable")[:most]
    where = places(comparison, rows)
    return [where[i] for i in order.tolist()]


def explanations(comparison: Comparison) -> dict[tuple[int, int], tuple[ExplainedPart, int]]:
    """Return, by fold and number of a query, what explains its ranking, and its place there."""
    name = explained_method(comparison)
    row = next((row for row in comparison.rows if row.method == name), None)
    if row is None or comparison.store is None:
        return {}
    parts = [comparison.store.explanation(result.trial) for result in one_per_fold(row.results)]
    return {
        (fold, int(q)): (part, i)
        for fold, part in enumerate(parts)
        if part is not None
        for i, q in enumerate(part.queries)
    }


def _why(part: ExplainedPart, i: int, seen: np.ndarray) -> dict[str, Any]:
    """Return the explanation of one query for the page: documents by their number among those that it shows."""
    documents = part.documents[i][part.documents[i] >= 0]
    features = part.features[i][part.features[i] >= 0]
    kept = np.isin(documents, seen)
    n, width = np.flatnonzero(kept), len(features)
    return {
        "documents": np.searchsorted(seen, documents[kept]).tolist(),
        "features": features.tolist(),
        "values": [_digits(row[:width]) for row in part.values[i][n]],
        "parts": [_digits(row[:width]) for row in part.contributions[i][n]],
        "others": _digits(part.others[i][n]),
    }


def _digits(values: np.ndarray, n: int = 4) -> list[float | None]:
    """Return numbers with as many digits as can be read."""
    return [float(f"{value:.{n}g}") if np.isfinite(value) else None for value in values.tolist()]


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


def _one_query(
    folds: list[tuple[TestPart, list[np.ndarray]]],
    place: tuple[int, int],
    why: tuple[ExplainedPart, int] | None,
    models: list[Spread | None],
    graded: bool,
) -> dict[str, Any]:
    """Return the documents among the first of any method, and each method's order of them by number."""
    fold, q = place
    queries, scores = folds[fold]
    documents = slice(queries.offsets[q], queries.offsets[q + 1])
    labels = queries.labels[documents]
    if not graded:
        labels = np.round(labels, 3)
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
        "ranks": [
            None if model is None else model.ranks(s[documents], order)
            for model, s, order in zip(models, scores, orders, strict=True)
        ],
        "why": None if why is None else _why(*why, seen),
    }


def _short(name: str, most: int = 60) -> str:
    """Return a name that fits into a row; both ends of a long one, such as an address."""
    return name if len(name) <= most else f"{name[: most // 2]}…{name[-most // 2 + 1 :]}"

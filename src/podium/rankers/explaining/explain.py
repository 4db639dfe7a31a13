"""The explanation of a fitted ranker's scores: from what callers name to the documents, and the parts put together."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from podium.core.feature_names import feature_name
from podium.data.normalize import WITHIN_QUERY
from podium.data.queries import Queries
from podium.rankers.explaining.contributions import score_above_mean, score_difference
from podium.rankers.explaining.explanation import Contribution, Explained, Explanation
from podium.scorers.thresholds import StepModel


def explain(ranker: Any, queries: Queries, query: Any, documents: Sequence[int] | None, *, named: bool) -> Explanation:
    """See :meth:`podium.rankers.BaseRanker.explain`; ``queries`` have the features that the ranker was fitted on.

    ``named`` says whether the ids of the queries are the caller's.
    """
    number, rows = _choose(queries, query, documents)
    listed = queries.take([number])
    seen = ranker._as_trained(listed)
    scores = ranker.model_.scores(seen)
    order = np.lexsort((np.arange(len(scores)), -scores))
    place = np.empty(len(scores), np.int64)
    place[order] = np.arange(1, len(scores) + 1)
    rows = list(order[:2]) if rows is None else rows
    listwise = ranker._scorer().listwise
    first = _document(queries, number, int(rows[0]), scores, place)
    a = int(rows[0])
    if len(rows) == 2:
        b = int(rows[1])
        second = _document(queries, number, b, scores, place)
        found = score_difference(ranker.model_, seen, a, b, listwise)
        other = _values(listed, b)
    else:
        second = Explained(f"the mean of its {len(scores)} documents", float(scores.mean()))
        found = score_above_mean(ranker.model_, seen, a, listwise)
        other = _mean_values(listed)
    values = _without_rounding(found.values, first.score - second.score)
    names = getattr(ranker, "feature_names_in_", queries.feature_names)
    own = _values(listed, a)
    by_size = np.lexsort((np.arange(len(values)), -np.abs(values)))
    return Explanation(
        first=first,
        second=second,
        contributions=tuple(
            Contribution(int(j), feature_name(j, names), float(values[j]), (float(own[j]), float(other[j])))
            for j in by_size
        ),
        method=found.method,
        query=str(queries.qids[number]) if named else None,
        n_documents=len(scores),
        rules=_rules(ranker.model_, seen, rows, names) if len(rows) == 2 else (),
        standard_error=found.error,
        note=_note(ranker),
    )


def _without_rounding(values: np.ndarray, difference: float) -> np.ndarray:
    """Return contributions that add up to the difference: what single precision left over is shared out."""
    sizes = np.abs(values)
    left_over = difference - values.sum()
    return values + left_over * sizes / sizes.sum() if 0 < abs(left_over) <= 1e-5 * sizes.sum() else values


def _choose(queries: Queries, query: Any, documents: Sequence[int] | None) -> tuple[int, list[int] | None]:
    """Return the number of the list, and the documents' places in it, from 0."""
    if not queries.n_documents:
        raise ValueError("there is no document to explain")
    number = None if query is None else _number(queries, query)
    if documents is None:
        if number is None and len(queries) > 1:
            raise ValueError(
                f"there are {len(queries)} queries: name one with query=, or two rows with documents=(a, b)"
            )
        number = number or 0
        if queries.sizes[number] == 0:
            raise ValueError(f"query {queries.qids[number]} has no documents")
        return number, None
    rows = [int(row) for row in np.atleast_1d(documents)]
    if len(rows) not in (1, 2) or len(set(rows)) != len(rows):
        raise ValueError(f"documents must be two different rows, or one to compare with its list; got {documents!r}")
    for row in rows:
        if not 0 <= row < queries.n_documents:
            raise ValueError(f"there is no row {row}: rows are numbered 0 to {queries.n_documents - 1}")
    places = queries.restore(np.arange(queries.n_documents))[rows]
    numbers = queries.query_of_document[places]
    if len(set(numbers.tolist())) > 1 or number not in (None, numbers[0]):
        belong = ", ".join(f"row {row} to query {queries.qids[n]}" for row, n in zip(rows, numbers, strict=True))
        raise ValueError(f"the documents must be of one query{'' if query is None else f', {query}'}; {belong}")
    return int(numbers[0]), (places - queries.offsets[numbers[0]]).tolist()


def _number(queries: Queries, query: Any) -> int:
    found = [q for q, qid in enumerate(queries.qids.tolist()) if qid == query or str(qid) == str(query)]
    if not found:
        some = ", ".join(map(str, queries.qids[:5])) + (", …" if len(queries) > 5 else "")
        raise ValueError(f"there is no query {query!r}; there are {some}")
    return found[0]


def _document(queries: Queries, number: int, place: int, scores: np.ndarray, ranks: np.ndarray) -> Explained:
    position = int(queries.offsets[number]) + place
    row = position if queries.order is None else int(queries.order[position])
    name = f"row {row}" if queries.document_ids is None else str(queries.document_ids[position]) or f"row {row}"
    return Explained(name, float(scores[place]), row, int(ranks[place]))


def _values(listed: Queries, row: int) -> np.ndarray:
    features = listed.features
    return features[row] if isinstance(features, np.ndarray) else np.asarray(features[[row]].todense()).ravel()


def _mean_values(listed: Queries) -> np.ndarray:
    if not isinstance(listed.features, np.ndarray):
        return np.asarray(listed.features.mean(axis=0)).ravel()
    known = ~np.isnan(listed.features)
    sums = np.where(known, listed.features, 0.0).sum(axis=0, dtype=np.float64)
    return np.divide(sums, known.sum(axis=0), out=np.full(len(sums), np.nan), where=known.any(axis=0))


def _rules(model: Any, seen: Queries, rows: Sequence[int], names: Any) -> tuple[tuple[str, float, bool], ...]:
    """Return the rules that hold for one of two documents only, the heaviest first, counted from the first's side."""
    if not isinstance(model, StepModel):
        return ()
    two = np.stack([_values(seen, row) for row in rows]).astype(np.float64)
    holds = two[:, model.feature] > model.threshold
    differ = np.flatnonzero(holds[0] != holds[1])
    signed = np.where(holds[0], model.weight, -model.weight)[differ]
    order = np.argsort(-np.abs(signed), kind="stable")
    return tuple(
        (f"{feature_name(model.feature[i], names)} > {model.threshold[i]:.6g}", float(signed[n]), bool(holds[0, i]))
        for n, i in zip(order, differ[order], strict=True)
    )


def _note(ranker: Any) -> str:
    if ranker.normalize not in WITHIN_QUERY:
        units = None if ranker.standardization_ is None else ranker.standardization_.log_scale
        if units is None:
            return ""
        n = int((units > 0).sum())
        return f"The model takes {n} of the features as logarithms; the values shown are those given."
    return f"Features are rescaled within their query ({ranker.normalize}); the values shown are those given."

"""``podium.evaluate``: metrics of scores against labels, with the rules that they follow."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from podium.data.grouping import as_column, group_by_query, offsets_from_sizes
from podium.data.io.trec import Qrels, Run, judged_run
from podium.data.queries import Queries
from podium.data.remote import RemoteQueries
from podium.metrics.collapse import as_collapse
from podium.metrics.conventions import Convention, NoRelevant
from podium.metrics.definition import Metric, metric, names_its_convention
from podium.metrics.evaluation import Evaluation
from podium.metrics.measuring import measure

__all__ = ["DEFAULT_METRICS", "evaluate"]

DEFAULT_METRICS = ("ndcg@1", "ndcg@3", "ndcg@5", "ndcg@10", "map", "mrr")
"""What :func:`podium.evaluate` computes if nothing else is asked for."""


def evaluate(
    labels: Any,
    scores: Any,
    *,
    qid: Any = None,
    sizes: Any = None,
    metrics: str | Metric | Sequence[str | Metric] = DEFAULT_METRICS,
    convention: str | Convention = "standard",
    no_relevant: NoRelevant | None = None,
    max_grade: float | None = None,
    document_ids: Any = None,
    collapse: Any = None,
    judged: Any = None,
) -> Evaluation:
    """Evaluate scores against labels.

    Parameters
    ----------
    labels : (n_documents,) array, Queries or Qrels
        Grades, higher is better; or queries that have some, whose query and document ids are then used (also those of
        :mod:`podium.dask`, on a cluster); or TREC judgments (:func:`podium.read_qrels`).
    scores : (n_documents,) array or Run
        Higher is better; in the same row order (that in which the queries were made). −∞ marks a document that was not
        retrieved. With judgments, a TREC run (:func:`podium.read_run`): the two are joined by query and document id, as
        trec_eval does. Judged documents that the run does not have were not retrieved, and documents without a judgment
        have grade 0, as have those judged with a grade below 0. Judged queries without any document in the run are left
        out, as are queries without judgments.
    qid, sizes : array
        The query of each document, in any order; or how many documents each query has, in order.
    metrics : str or Metric, or several
        See :func:`podium.metric`. One that names a convention, ``"ndcg@10 (letor)"``, keeps it.
    convention : str or Convention
        The rules for all others.
    no_relevant : {"zero", "half", "one", "skip"}, optional
        Replaces this fact of the convention.
    max_grade : float, optional
        Replaces this fact of the convention.
    document_ids : (n_documents,) array, optional
        Break ties between scores where the convention says so.
    collapse : (group ids, limit), optional
        At most ``limit`` documents of a group (a host, a seller; ids of any type, one per document) are shown in a
        list: those with the highest scores. The best possible list is limited in the same way.
    judged : (n_documents,) bool, optional
        Which documents were judged. The labels of the others are taken to be 0, whatever they are. Metrics that look
        only at judged documents (``bpref``, ``condensed-ndcg@k``) need it. A run brings its own.

    Returns
    -------
    Evaluation
        Means and values per query, by metric.

    Examples
    --------
    >>> labels, scores, qid = [0, 2, 1, 1, 0], [0.1, 0.2, 0.3, 2.0, 1.0], ["a", "a", "a", "b", "b"]
    >>> e = evaluate(labels, scores, qid=qid, metrics=["ndcg@2", "map"])
    >>> {name: round(value, 4) for name, value in e.mean.items()}
    {'ndcg@2': 0.8984, 'map': 1.0}
    >>> e.qids.tolist(), e.per_query["ndcg@2"].round(4).tolist()
    (['a', 'b'], [0.7967, 1.0])
    >>> print(e)
    standard convention, 2 queries
    ndcg@2  0.8984
    map     1.0000
    >>> from podium.metrics import DEFAULT_METRICS
    >>> list(evaluate(labels, scores, qid=qid).mean) == list(DEFAULT_METRICS)
    True
    """
    asked = _ask(metrics, convention, no_relevant=no_relevant, max_grade=max_grade)
    has_arrays = any(given is not None for given in (qid, sizes, document_ids, collapse, judged))
    if isinstance(labels, RemoteQueries):
        if has_arrays:
            raise ValueError("queries on a cluster are evaluated by their own labels and ids: give none of the arrays")
        return _evaluate_remote(labels, scores, asked)
    if isinstance(labels, Qrels) or isinstance(scores, Run):
        if has_arrays:
            raise ValueError("judgments and a run know queries and documents themselves: give none of the other arrays")
        lists, scores = _of_run(labels, scores)
    else:
        lists = _lists(labels, qid, sizes)
    n = len(lists.labels)
    if len(lists.qids) == 0:
        raise ValueError("there are no queries to evaluate")
    given = _vector(scores, "scores")
    if len(given) != n:
        raise ValueError(f"{len(given)} scores for {n} documents")
    ids = lists.document_ids if document_ids is None else lists.group(as_column(document_ids, n, "document_ids"))
    known = lists.judged if judged is None else lists.group(as_column(judged, n, "judged"))
    hidden = None
    if collapse is not None:
        hidden = as_collapse(collapse, n)
        hidden = hidden._replace(groups=lists.group(hidden.groups))
    scores = lists.group(given)
    values = measure(list(asked.values()), scores, lists.labels, lists.offsets, ids, lists.name, hidden, known)
    per_query = dict(zip(asked, np.ascontiguousarray(values.T), strict=True))
    limit = None if hidden is None else hidden.limit
    return Evaluation(asked, per_query, lists.qids, (*lists.notes, *_notes(asked, lists.labels, limit)), limit)


def _evaluate_remote(queries: RemoteQueries, scores: Any, asked: dict[str, Metric]) -> Evaluation:
    if not queries.has_labels:
        raise ValueError("these queries have no labels to evaluate scores against")
    metrics = [metric.for_parts_of(queries) for metric in asked.values()]
    per_part = [(part,) for part in queries.split(scores, "scores")]
    values = np.concatenate(queries.each(_measure_part, metrics, per_part=per_part))
    per_query = dict(zip(asked, np.ascontiguousarray(values.T), strict=True))
    by_data = any(m.needs_max_grade for m in asked.values())
    highest = np.array([queries.highest_grade() if by_data else 0.0])
    return Evaluation(asked, per_query, queries.qids, tuple(_notes(asked, highest, None)))


def _measure_part(part: Queries, scores: np.ndarray, metrics: Sequence[Metric]) -> np.ndarray:
    lists = _lists(part, None, None)
    return measure(metrics, part.group(np.asarray(scores)), part.labels, part.offsets, part.document_ids, lists.name)


@dataclass(frozen=True)
class _Lists:
    """Labeled documents, grouped by query."""

    labels: np.ndarray
    offsets: np.ndarray
    qids: np.ndarray
    order: np.ndarray | None
    """The caller's row of each document; None if these are the caller's rows."""
    document_ids: np.ndarray | None = None
    judged: np.ndarray | None = None
    notes: tuple[str, ...] = ()

    def group(self, values: np.ndarray) -> np.ndarray:
        return values if self.order is None else values[self.order]

    def name(self, q: int) -> str:
        return f"query {self.qids[q : q + 1].tolist()[0]!r}"


def _lists(labels: Any, qid: Any, sizes: Any) -> _Lists:
    if isinstance(labels, Queries):
        if qid is not None or sizes is not None:
            raise ValueError("queries know their documents already: give neither qid nor sizes with them")
        return _Lists(labels.labels, labels.offsets, labels.qids, labels.order, labels.document_ids)
    grades = _vector(labels, "labels")
    n = len(grades)
    if (qid is None) == (sizes is None):
        raise ValueError(
            "say which documents belong together: either qid (one query id per document) or sizes (documents per "
            f"query; sizes=[{n}] if all of them answer one query)"
        )
    if qid is None:
        offsets = offsets_from_sizes(sizes, n)
        return _Lists(grades, offsets, np.arange(len(offsets) - 1), None)
    qids, offsets, order = group_by_query(qid, n)
    return _Lists(grades if order is None else grades[order], offsets, qids, order)


def _of_run(qrels: Any, run: Any) -> tuple[_Lists, np.ndarray]:
    """Return judgments and a run as lists and their scores."""
    if not (isinstance(qrels, Qrels) and isinstance(run, Run)):
        raise TypeError(
            f"judgments go with a run, evaluate(qrels, run); got {type(qrels).__name__} and {type(run).__name__}"
        )
    joined = judged_run(qrels, run)
    left_out = (
        ("judged queries that are not in the run", joined.queries_not_in_run),
        ("queries of the run that have no judgments", joined.queries_not_judged),
    )
    notes = tuple(f"left out: {len(queries)} {which}" for which, queries in left_out if queries)
    judged = joined.judged & (joined.labels >= 0)
    return _Lists(joined.labels, joined.offsets, joined.qids, None, joined.document_ids, judged, notes), joined.scores


def _ask(
    metrics: str | Metric | Sequence[str | Metric], convention: str | Convention, **facts: Any
) -> dict[str, Metric]:
    """Return the metrics by the names that results will have: those they were asked by."""
    listed = [metrics] if isinstance(metrics, str | Metric) else list(metrics)
    if not listed:
        raise ValueError("name at least one metric")
    parsed = [metric(m, None if names_its_convention(m) else convention, **facts) for m in listed]
    names = [m.name for m in parsed]
    # Metric objects of one name under two conventions need both in their names.
    own_names = [m.name if names.count(m.name) == 1 else str(m) for m in parsed]
    keys = [given.strip() if isinstance(given, str) else own for given, own in zip(listed, own_names, strict=True)]
    return dict(zip(keys, parsed, strict=True))


def _notes(asked: dict[str, Metric], grades: np.ndarray, limit: int | None) -> list[str]:
    notes = [] if limit is None else [f"lists collapsed: at most {limit} of a group shown"]
    if by_data := [m.name for m in asked.values() if m.needs_max_grade]:
        top = f"{grades.max(initial=0):g}"
        notes.append(f"{by_data[0]} takes {top}, the highest grade in these data, as the highest there is")
    return notes


def _vector(values: Any, name: str) -> np.ndarray:
    array = np.asarray(values)
    if array.ndim == 2 and array.shape[1] == 1:  # as neural networks return scores
        array = array[:, 0]
    if array.ndim != 1:
        raise ValueError(f"{name} must be one number per document; got shape {array.shape}")
    if array.dtype.kind not in "fiub":
        try:
            array = array.astype(np.float64)
        except (TypeError, ValueError) as error:
            raise ValueError(f"{name} must be numbers: {error}") from None
    return array

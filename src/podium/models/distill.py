"""Distilling: one small model that learns the ranking of a large one.

A blend, potentials over pairs of documents, or any ranker that rescales features within the query scores a document by
looking at its whole list, which search engines that score one document at a time cannot do. A student learns the
teacher's order of each list from the features of single documents.
"""

import math
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.base import clone

from podium.core.random_state import RandomState, as_generator
from podium.data.queries import Queries
from podium.metrics import Metric, metric
from podium.models.blend import in_rows
from podium.numerics.forward import mean_ranks
from podium.rankers.fitted import was_interrupted
from podium.rankers.inputs import as_validation_queries
from podium.rankers.presets.boosted import LambdaMART

__all__ = ["distill"]

HIGHEST = 4.0
"""The grade of the document that the teacher ranks first; as high as grades usually go."""

STUDENT_TREES = {
    "n_trees": 300,
    "n_leaves": 15,
    "learning_rate": 0.05,
    "tree_options": {"feature_fraction": 0.5, "query_fraction": 0.7},
}
"""Settings of students made of trees, where the user gives none: many small steps follow a smooth teacher best."""


def distill(
    teacher: Any,
    queries: Queries,
    student: Any = None,
    *,
    eval_set: Any = None,
    eval_qid: Any = None,
    eval_metric: str | Metric = "ndcg@10",
    folds: int = 5,
    random_state: RandomState = 0,
) -> Any:
    """Return a copy of the student, fitted to rank documents as the teacher does.

    The student never sees the labels. Its grades are the teacher's ranks: 4 for the first document of a list, 0 for
    the last, falling with the logarithm of the rank in between. Everything else about the student is its own: its loss,
    scorer and trainer. How much of the teacher's quality it keeps is measured on queries that neither of them was
    fitted on.

    Parameters
    ----------
    teacher : ranker
        Fitted, or else a copy of it is fitted on ``queries``. Any object with ``predict`` that takes queries will do.
    queries : Queries
        Lists to learn on; the more, the better. If the teacher is fitted and there is an ``eval_set``, they need no
        labels.
    student : ranker, optional
        A copy of it is fitted; if not given, a :class:`podium.LambdaMART` of 300 small trees. It should score one
        document at a time.
    eval_set : Queries or (X, y), optional
        Labeled queries that the teacher has not seen, to measure teacher and student on. They decide nothing. Without
        them the figures are obtained by cross-fitting: copies of teacher and student are fitted without a fold of the
        queries and measured on it. That costs fitting the teacher ``folds`` times.
    eval_qid : (n_validation_documents,), optional
        Query ids, where ``eval_set`` is a pair.
    eval_metric : str or Metric
        What is measured; ``"ndcg@5 (letor)"`` names a convention, else it is ``standard``.
    folds : int
        For cross-fitting; 0 measures nothing.
    random_state : int or generator, optional
        Seeds the dealing of queries into these folds.

    Returns
    -------
    ranker
        The fitted student. Its ``distillation_`` holds ``metric``, ``teacher`` and ``student`` (the means over
        queries), ``kept`` (their quotient), ``queries`` (how many) and ``measured`` (how); it is saved with the model.

    Examples
    --------
    >>> import podium
    >>> queries = podium.make_queries(n_queries=60, n_features=5, random_state=0)
    >>> train, test = podium.train_test_split(queries, random_state=0)
    >>> teacher = podium.Blend([podium.ListNet(), podium.PMOP(normalize="minmax")]).fit(train)
    >>> student = podium.distill(teacher, train, podium.LambdaMART(n_trees=30, n_leaves=7), eval_set=test)
    >>> student.distillation_["measured"], student.distillation_["kept"] > 0.9
    ('on 15 queries that were given for it', True)
    """
    judge = metric(eval_metric)
    student = LambdaMART(**STUDENT_TREES, random_state=0) if student is None else student
    _check(teacher, student, queries, folds, cross_fits=eval_set is None)
    if not _is_fitted(teacher):
        teacher = _fitted(teacher, queries)
    learned = _learned(student, teacher, queries)
    if eval_set is not None:
        held_out = as_validation_queries(eval_set, eval_qid)
        values = np.array([_values(judge, ranker, held_out) for ranker in (teacher, learned)])
        measured = f"on {len(held_out)} queries that were given for it"
    elif folds:
        values = np.concatenate(list(_cross_fitted(judge, teacher, student, queries, folds, random_state)), axis=1)
        measured = f"on {len(queries)} queries by cross-fitting in {folds} folds"
    else:
        return learned
    learned.distillation_ = _account(judge, values, measured)
    return learned


def teacher_grades(teacher: Any, queries: Queries) -> np.ndarray:
    """Return what the student learns, (n_documents,): grades from the teacher's ranks, equal scores sharing theirs."""
    queries = in_rows(queries)
    scores = np.asarray(teacher.predict(queries), np.float64)
    length = np.repeat(np.log(np.maximum(queries.sizes, 2)), queries.sizes)
    return HIGHEST * (1.0 - np.log(mean_ranks(scores, queries.offsets)) / length)


def describe(distillation: dict[str, Any]) -> str:
    """Return the figures of a distillation as a sentence."""
    name, taught, learned, kept, _, measured = distillation.values()
    share = "" if kept is None else f" ({kept:.1%})"
    return f"{name}: teacher {taught:.4f}, student {learned:.4f}{share}; {measured}, which neither was fitted on"


def _learned(student: Any, teacher: Any, queries: Queries) -> Any:
    learned = clone(student, safe=False)
    queries = in_rows(queries)
    learned.fit(queries.with_labels(teacher_grades(teacher, queries)))
    if was_interrupted(learned):
        raise KeyboardInterrupt("interrupted while the student was fitted")
    return learned


def _cross_fitted(
    judge: Metric, teacher: Any, student: Any, queries: Queries, folds: int, random_state: RandomState
) -> Iterator[np.ndarray]:
    """Yield the metric of teacher and student, (2, n_queries), on each fold in turn, both fitted on the others."""
    part = np.arange(len(queries)) % folds
    as_generator(random_state).shuffle(part)
    for fold in range(folds):
        rest, held_out = queries.take(part != fold), queries.take(part == fold)
        other = _fitted(teacher, rest)
        pupil = _learned(student, other, rest)
        yield np.array([_values(judge, ranker, held_out) for ranker in (other, pupil)])


def _fitted(teacher: Any, queries: Queries) -> Any:
    copy = clone(teacher, safe=False)
    with warnings.catch_warnings():  # that a copy did not converge is no news about the teacher
        warnings.simplefilter("ignore")
        copy.fit(queries)
    if was_interrupted(copy):
        raise KeyboardInterrupt("interrupted while the teacher was fitted")
    return copy


def _values(judge: Metric, ranker: Any, queries: Queries) -> np.ndarray:
    queries = in_rows(queries)
    scores = np.asarray(ranker.predict(queries), np.float64)
    return judge.per_query(scores, queries.labels, queries.offsets, queries.document_ids)


def _account(judge: Metric, values: np.ndarray, measured: str) -> dict[str, Any]:
    taught, learned = (float(row[np.isfinite(row)].mean()) if np.isfinite(row).any() else math.nan for row in values)
    kept = learned / taught if taught else None
    return {
        "metric": str(judge),
        "teacher": taught,
        "student": learned,
        "kept": kept,
        "queries": int(np.isfinite(values[0]).sum()),
        "measured": measured,
    }


def _is_fitted(teacher: Any) -> bool:
    known = getattr(teacher, "__sklearn_is_fitted__", None)
    return True if known is None else bool(known())


def _check(teacher: Any, student: Any, queries: Any, folds: int, *, cross_fits: bool) -> None:
    if not callable(getattr(teacher, "predict", None)):
        raise ValueError(f"the teacher must be a ranker with a method predict; got {teacher!r}")
    if not (callable(getattr(student, "fit", None)) and callable(getattr(student, "predict", None))):
        raise ValueError(f"the student must be a ranker; got {student!r}")
    if not isinstance(queries, Queries):
        raise ValueError("distill takes Queries: podium.Queries(X, y, qid=qid)")
    if not cross_fits or folds == 0:
        return
    if folds < 2 or len(queries) < folds:
        raise ValueError(f"{len(queries)} queries cannot be dealt into {folds} folds: give eval_set, or other folds")
    if not queries.has_labels:
        raise ValueError("measuring the student needs labels: give eval_set, labeled queries; or folds=0 to do without")
    if not callable(getattr(teacher, "fit", None)):
        raise ValueError("cross-fitting needs a teacher that can be fitted: give eval_set; or folds=0 to do without")

"""Relevance judgments for documents whose features come from elsewhere: reading and joining them."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from podium.core.later import polars as pl
from podium.core.texts import text_array
from podium.core.wording import LeftOutWarning, advice
from podium.data.io.columns import DOCUMENT_NAMES, QUERY_NAMES, usual_column, without_column
from podium.data.io.files import FilePath, first_bytes
from podium.data.io.tables import TABLE_SUFFIXES, naming, read_frame, suffix_of
from podium.data.io.trec import Qrels, read_qrels
from podium.data.queries import Queries

__all__ = ["join_judgments"]

_COLUMNS = {
    "query": QUERY_NAMES,
    "document": DOCUMENT_NAMES,
    "grade": ("grade", "label", "relevance", "rel", "rating", "judgment", "judgement"),
}


@dataclass(frozen=True, slots=True)
class Joined:
    """Documents with their judgments, and what had no counterpart. Pairs are (query id, document id)."""

    queries: Queries
    n_judged: int
    """Documents that were found and judged."""
    unjudged: tuple[tuple[str, str], ...]
    """Documents of judged queries without a judgment: dropped, or of grade 0."""
    unjudged_queries: tuple[str, ...]
    """Queries without a single judgment, which are always dropped."""
    n_in_unjudged_queries: int
    missing: tuple[tuple[str, str], ...]
    """Judged documents that are not among the queries' documents."""


def join_judgments(
    queries: Queries,
    judgments: FilePath | Qrels,
    *,
    unjudged: str = "drop",
    qid: str | None = None,
    label: str | None = None,
    document_id: str | None = None,
) -> Joined:
    """Give documents the grades of a file of judgments. Ids are compared as text.

    Parameters
    ----------
    queries : Queries
        With document ids. Their labels, if they have any, are replaced.
    judgments : path or Qrels
        TREC qrels (``query iteration document grade``; negative grades mean not judged, as in trec_eval), or a table
        with columns for query, document and grade: CSV, TSV or Parquet.
    unjudged : "drop" or "zero"
        Leave out documents without a judgment, or give them grade 0. Queries without any judgment are left out.
    qid, label, document_id : str, optional
        Columns of the table. By default those with a usual name, such as ``query``, ``grade`` and ``document``.

    Returns
    -------
    Joined
        The queries with their grades (``queries``), and what had no counterpart: ``unjudged``, ``missing``,
        ``unjudged_queries``.

    Examples
    --------
    >>> q = Queries([[1.0], [2.0], [3.0]], qid=["a", "a", "b"], document_ids=["x", "y", "x"])
    >>> joined = join_judgments(q, Qrels(np.array(["a", "a"]), np.array(["x", "z"]), np.array([2.0, 1.0])))
    >>> joined.queries.labels.tolist(), joined.unjudged, joined.missing, joined.unjudged_queries
    ([2.0], (('a', 'y'),), (('a', 'z'),), ('b',))
    """
    if unjudged not in ("drop", "zero"):
        raise ValueError(f"unjudged is {unjudged!r}; expected 'drop' or 'zero'")
    if queries.document_ids is None:
        raise ValueError("these documents have no ids, by which judgments are found")
    if isinstance(judgments, Qrels):
        grades, name = _grades(judgments), "the judgments"
    else:
        grades, name = _grades(read_judgments(judgments, qid, label, document_id)), str(judgments)
    qids = [str(query) for query in queries.qids]
    number = queries.query_of_document
    pairs = [(qids[q], str(document)) for q, document in zip(number.tolist(), queries.document_ids, strict=True)]
    found = np.array([pair in grades for pair in pairs], bool)
    if not found.any():
        raise ValueError(_nothing_found(pairs, grades, name))
    judged_queries = {query for query, _ in grades}
    covered = np.array([query in judged_queries for query in qids], bool)
    kept = found if unjudged == "drop" else covered[number]
    labels = np.array([grades.get(pair, 0.0) for pair in pairs])
    there = set(pairs)
    joined = queries.only(kept).with_labels(labels[kept])
    return Joined(
        queries=joined.take(joined.sizes > 0),
        n_judged=int(found.sum()),
        unjudged=tuple(pairs[i] for i in np.flatnonzero(~found & covered[number])),
        unjudged_queries=tuple(qids[q] for q in np.flatnonzero(~covered)),
        n_in_unjudged_queries=int((~covered[number]).sum()),
        missing=tuple(pair for pair in grades if pair not in there),
    )


def read_judgments(
    path: FilePath, qid: str | None = None, label: str | None = None, document_id: str | None = None
) -> Qrels:
    """Read TREC qrels, or a table whose columns have these names, or usual ones."""
    if not (qid or label or document_id) and _is_qrels(path):
        qrels = read_qrels(path)
        judged = qrels.grades >= 0
        return Qrels(qrels.qids[judged], qrels.document_ids[judged], qrels.grades[judged])
    frame = read_frame(path, None)
    if not frame.height:
        raise ValueError(f"no judgments in {path}")
    with naming(path):
        names = [_column(frame, what, given) for what, given in zip(_COLUMNS, (qid, document_id, label), strict=True)]
        frame, numbers = _graded(frame, names[2], path)
        queries, documents, texts = (frame[name].to_list() for name in names)
        grades = frame[names[2]].cast(pl.Float64, strict=False).fill_null(np.nan).to_numpy()
        seen = set()
        for row, pair in enumerate(zip(queries, documents, strict=True)):
            where = f"row {numbers[row]} below the header"
            if None in pair:
                raise ValueError(f"{where}: query {pair[0]!r} and document {pair[1]!r} must both be given")
            if not np.isfinite(grades[row]):
                raise ValueError(f"{where}: the grade {texts[row]!r} is not a finite number")
            if pair in seen:
                raise ValueError(f"{where}: document {pair[1]!r} occurs a second time for query {pair[0]!r}")
            seen.add(pair)
    qids, ids = (text_array([str(value) for value in values]) for values in (queries, documents))
    return Qrels(qids, ids, grades)


def _graded(frame: pl.DataFrame, grade: str, path: FilePath) -> tuple[pl.DataFrame, np.ndarray]:
    """Return the rows with a grade, and their numbers from 1; say how many have none, as where raters go on."""
    column = frame[grade]
    empty = column.is_null() if column.dtype != pl.String else column.fill_null("").str.strip_chars() == ""
    n = int(empty.sum())
    if n == frame.height:
        raise ValueError(f"none of its {n} rows has a grade: column {grade!r} is empty")
    if n:
        left_out = f"{path}: {n} of {frame.height} rows have no grade and are left out"
        warnings.warn(left_out, LeftOutWarning, stacklevel=4)
    return frame.filter(~empty), np.flatnonzero(~empty.to_numpy()) + 1


def _is_qrels(path: FilePath) -> bool:
    """Return whether the first line has the four columns of qrels, the last a number."""
    if suffix_of(path) in TABLE_SUFFIXES:
        return False
    lines = first_bytes(path).decode("utf-8", "replace").splitlines()
    tokens = next((line.split() for line in lines if line.strip()), [])
    if not tokens:
        return True  # read_qrels says that the file is empty
    return len(tokens) == 4 and tokens[3].lstrip("+-").replace(".", "", 1).isdigit()


def _column(frame: Any, what: str, given: str | None) -> str:
    found = usual_column(frame, _COLUMNS[what], given)
    if found is None:
        raise without_column(
            frame,
            what,
            _COLUMNS[what],
            "Expected TREC qrels ('query iteration document grade') or a table with a header; name its columns with "
            + advice("qid=, document_id= and label=", "--qid-column, --document-column and --label-column"),
        )
    return found


def _grades(qrels: Qrels) -> dict[tuple[str, str], float]:
    rows = zip(qrels.qids.tolist(), qrels.document_ids.tolist(), qrels.grades.tolist(), strict=True)
    return {(str(query), str(document)): grade for query, document, grade in rows}


def _nothing_found(pairs: list[tuple[str, str]], grades: dict[tuple[str, str], float], name: str) -> str:
    judged = next(iter(grades), None)
    if judged is None:
        return f"{name}: there is no judgment in it"
    what = "no document" if {q for q, _ in pairs} & {q for q, _ in grades} else "no query"
    return (
        f"{name}: {what} of the {len(pairs)} logged documents is judged there; ids are compared as text, and the first "
        f"logged are query {pairs[0][0]!r}, document {pairs[0][1]!r}, the first judged query {judged[0]!r}, document "
        f"{judged[1]!r}"
    )

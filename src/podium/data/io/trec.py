"""TREC files: relevance judgments (qrels), runs, and the two joined as trec_eval joins them.

A qrels line reads ``query iteration document grade``, a run line ``query Q0 document rank score tag``. As in trec_eval,
documents are ranked by score and the rank column is ignored.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from podium.data.io.files import FilePath, error_at, open_text, token_at, writing
from podium.data.io.parsing.columns import numbers, split_columns
from podium.data.io.parsing.lines import strings
from podium.data.queries import Queries

if TYPE_CHECKING:
    import polars

__all__ = ["read_qrels", "read_run", "write_run"]


@dataclass(frozen=True, slots=True)
class Qrels:
    """Grades of judged documents, one entry per line of the file."""

    qids: np.ndarray
    document_ids: np.ndarray
    grades: np.ndarray
    """(n,) float64; negative grades mark documents that were not judged."""


@dataclass(frozen=True, slots=True)
class Run:
    """Scores of retrieved documents, one entry per line of the file."""

    qids: np.ndarray
    document_ids: np.ndarray
    scores: np.ndarray
    """(n,) float64, finite."""
    tag: str


@dataclass(frozen=True, slots=True)
class JudgedRun:
    """A run with its grades, grouped by query: the arrays that metrics take.

    Retrieved documents come first, in the order of the run. Judged documents that were not retrieved follow with score
    −inf: they count in ideal rankings and totals, but not in the ranking.
    """

    labels: np.ndarray
    """(n,) float64; 0 for documents without a judgment."""
    scores: np.ndarray
    offsets: np.ndarray
    qids: np.ndarray
    document_ids: np.ndarray
    retrieved: np.ndarray
    """(n,) bool."""
    judged: np.ndarray
    """(n,) bool; trec_eval takes documents with a negative grade as not judged."""
    queries_not_in_run: tuple[str, ...]
    """Judged queries without a retrieved document: dropped, or, if ``complete``, included with nothing retrieved."""
    queries_not_judged: tuple[str, ...]
    """Queries of the run without judgments, which are dropped."""


def read_qrels(path: FilePath) -> Qrels:
    """Read relevance judgments; a document judged twice for a query is an error."""
    buffer, starts, stops = _columns(path, "query iteration document grade", (0, 2, 3))
    qids, documents = _texts(buffer, starts, stops)
    grades = _numbers(path, buffer, starts, stops, "grade")
    _require_distinct(path, buffer, starts, qids, documents)
    return Qrels(qids, documents, grades)


def read_run(path: FilePath) -> Run:
    """Read a run; a document retrieved twice for a query is an error."""
    buffer, starts, stops = _columns(path, "query Q0 document rank score tag", (0, 2, 4, 5))
    qids, documents = _texts(buffer, starts, stops)
    scores = _numbers(path, buffer, starts, stops, "score")
    _require_distinct(path, buffer, starts, qids, documents)
    tag = buffer[starts[0, 3] : stops[0, 3]].tobytes().decode("utf-8", "backslashreplace")
    return Run(qids, documents, scores, tag)


def judged_run(qrels: Qrels, run: Run, *, complete: bool = False) -> JudgedRun:
    """Join judgments and run as trec_eval does.

    Documents without a judgment get grade 0. Queries are in the order of the judgments.

    Parameters
    ----------
    qrels, run
    complete : bool
        Include judged queries that are not in the run, so that they count as zero in a mean, like ``trec_eval -c``.
        By default they are dropped, as trec_eval does.

    Examples
    --------
    >>> qrels = Qrels(np.array(["1", "1"]), np.array(["a", "b"]), np.array([2.0, 1.0]))
    >>> run = Run(np.array(["1", "1"]), np.array(["b", "c"]), np.array([0.5, 0.7]), tag="demo")
    >>> joined = judged_run(qrels, run)
    >>> joined.document_ids.tolist(), joined.labels.tolist(), joined.scores.tolist()
    (['b', 'c', 'a'], [1.0, 0.0, 2.0], [0.5, 0.7, -inf])
    """
    import polars as pl

    judged = _frame(qrels).with_columns(label=qrels.grades).with_row_index("judged_row")
    found = _frame(run).with_columns(score=run.scores).with_row_index("found_row")
    queries = judged.select(pl.col("qid").unique(maintain_order=True))
    in_run = queries["qid"].is_in(found["qid"].unique().implode())
    included = (queries if complete else queries.filter(in_run)).with_row_index("query")
    together = (
        found.join(judged, on=["qid", "document"], how="full", coalesce=True)
        .join(included, on="qid")
        .sort("query", "found_row", "judged_row", nulls_last=True)
    )
    sizes = np.bincount(together["query"].to_numpy(), minlength=included.height)
    return JudgedRun(
        labels=together["label"].fill_null(0.0).to_numpy(),
        scores=together["score"].fill_null(-np.inf).to_numpy(),
        offsets=np.concatenate(([0], np.cumsum(sizes))).astype(np.int64),
        qids=np.array(included["qid"].to_list(), dtype=str),
        document_ids=np.array(together["document"].to_list(), dtype=str),
        retrieved=together["score"].is_not_null().to_numpy(),
        judged=(together["label"] >= 0).fill_null(False).to_numpy(),
        queries_not_in_run=tuple(queries.filter(~in_run)["qid"]),
        queries_not_judged=tuple(found.join(queries, on="qid", how="anti")["qid"].unique(maintain_order=True)),
    )


def write_run(path: FilePath, queries: Queries, scores: Any, tag: str = "podium") -> None:
    """Write scores, given in the grouped order of ``queries``, as a run: best first, ties by document id from Z to A.

    That is how trec_eval breaks ties (it compares scores as float32, so it may find more of them). Documents without
    ids are named by their row in the caller's data, from 1 on. The file is written completely or not at all, as a gzip
    file if its name ends in ``.gz``.
    """
    import polars as pl

    scores = np.asarray(scores, np.float64)
    if scores.shape != (queries.n_documents,):
        raise ValueError(f"{queries.n_documents} documents need as many scores; got shape {scores.shape}")
    bad = np.flatnonzero(~np.isfinite(scores))
    if len(bad):
        qid = str(queries.qids[queries.query_of_document[bad[0]]])
        raise ValueError(f"query {qid!r}: a score is {scores[bad[0]]}; a run needs finite scores")
    documents = queries.document_ids
    if documents is None:
        documents = queries.group(np.arange(1, queries.n_documents + 1))
    documents = documents.astype(str)
    qids = queries.qids.astype(str)[queries.query_of_document]
    for name, texts in (("query id", qids), ("document id", documents), ("tag", np.array([tag]))):
        _require_tokens(name, texts)
    repeated = _first_repeated(qids, documents)
    if repeated >= 0:
        document, qid = str(documents[repeated]), str(qids[repeated])
        raise ValueError(f"document {document!r} occurs twice in query {qid!r}; a run cannot hold both")
    _, alphabetical = np.unique(documents, return_inverse=True)
    order = np.lexsort((-alphabetical, -scores, queries.query_of_document))
    ranks = np.arange(1, queries.n_documents + 1) - np.repeat(queries.offsets[:-1], queries.sizes)
    frame = pl.DataFrame(
        {"qid": qids.tolist(), "document": documents[order].tolist(), "rank": ranks, "score": scores[order]}
    )
    lines = frame.select(pl.format("{} Q0 {} {} {} {}", "qid", "document", "rank", "score", pl.lit(tag)))
    with writing(path) as file:
        lines.write_csv(file, include_header=False, quote_style="never")


def _require_tokens(name: str, texts: np.ndarray) -> None:
    """Raise if one of the texts is empty or has whitespace in it."""
    import polars as pl

    bad = np.flatnonzero(pl.Series(texts.tolist(), dtype=pl.String).str.contains(r"^$|\s"))
    if len(bad):
        raise ValueError(
            f"{name} {str(texts[bad[0]])!r} cannot be written: columns of a run are separated by whitespace"
        )


def _frame(rows: Qrels | Run) -> polars.DataFrame:
    import polars as pl

    columns = {"qid": rows.qids.tolist(), "document": rows.document_ids.tolist()}
    return pl.DataFrame(columns, schema={"qid": pl.String, "document": pl.String})


def _columns(path: FilePath, names: str, wanted: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the file's bytes, and where the wanted columns start and stop in each line, (n_lines, n_wanted) each."""
    buffer = open_text(path)
    starts, stops, problem = split_columns(buffer, len(names.split()), wanted)
    if problem >= 0:
        found = len(buffer[problem:].tobytes().split(b"\n", 1)[0].split())
        raise error_at(path, buffer, problem, f"expected {len(names.split())} columns ({names}), found {found}")
    if not len(starts):
        raise ValueError(f"{path}: the file is empty")
    return buffer, starts, stops


def _texts(buffer: np.ndarray, starts: np.ndarray, stops: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the query and document ids: the first two wanted columns."""
    return strings(buffer, starts[:, 0], stops[:, 0]), strings(buffer, starts[:, 1], stops[:, 1])


def _numbers(path: FilePath, buffer: np.ndarray, starts: np.ndarray, stops: np.ndarray, what: str) -> np.ndarray:
    """Return the third wanted column, which must hold finite numbers."""
    values, problem = numbers(buffer, starts[:, 2], stops[:, 2])
    if problem >= 0:
        position = int(starts[problem, 2])
        raise error_at(path, buffer, position, f"the {what} {token_at(buffer, position)!r} is not a finite number")
    return values


def _require_distinct(
    path: FilePath, buffer: np.ndarray, starts: np.ndarray, qids: np.ndarray, documents: np.ndarray
) -> None:
    row = _first_repeated(qids, documents)
    if row >= 0:
        message = f"document {str(documents[row])!r} occurs a second time for query {str(qids[row])!r}"
        raise error_at(path, buffer, int(starts[row, 0]), message)


def _first_repeated(qids: np.ndarray, documents: np.ndarray) -> int:
    """Return the first row whose query and document occurred before, or -1."""
    import polars as pl

    pairs = pl.DataFrame({"qid": qids.tolist(), "document": documents.tolist()})
    repeated = np.flatnonzero(~pairs.select(pl.struct(pl.all()).is_first_distinct()).to_series())
    return int(repeated[0]) if len(repeated) else -1

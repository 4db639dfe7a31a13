"""TREC files: relevance judgments (qrels), runs, and the two joined as trec_eval joins them.

A qrels line reads ``query iteration document grade``, a run line ``query Q0 document rank score tag``. As in trec_eval,
documents are ranked by score and the rank column is ignored.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import IO, Any

import numpy as np

from podium.core.arrays import Array
from podium.core.later import polars as pl
from podium.core.texts import as_texts, text_array
from podium.data.io.files import FilePath, read_text, writing
from podium.data.queries import Queries

__all__ = ["Run", "read_qrels", "read_run", "write_run"]

_BLANK, _TOKEN = r"[ \t\v\f\r]", r"[^ \t\v\f\r]"


@dataclass(frozen=True, slots=True)
class Qrels:
    """Grades of judged documents, one entry per line of the file."""

    qids: Array
    document_ids: Array
    grades: Array
    """(n,) float64; negative grades mark documents that were not judged."""


@dataclass(frozen=True, slots=True)
class Run:
    """Scores of retrieved documents, one entry per line of the file.

    :func:`podium.read_run` reads one; :func:`podium.evaluate` and :func:`podium.compare` take it.

    Parameters
    ----------
    qids, document_ids : (n,) array of str
        Query and document of each line.
    scores : (n,) float64 array
        Finite; higher is better.
    tag : str
        What the run is called.

    Examples
    --------
    >>> import numpy as np, podium
    >>> run = podium.Run(np.array(["q1", "q1"]), np.array(["d1", "d2"]), np.array([0.5, 2.0]), tag="bm25")
    >>> run.document_ids[run.scores.argmax()].item(), run.tag
    ('d2', 'bm25')
    """

    qids: Array
    document_ids: Array
    scores: Array
    tag: str = "run"


@dataclass(frozen=True, slots=True)
class JudgedRun:
    """A run with its grades, grouped by query: the arrays that metrics take.

    Retrieved documents come first, in the order of the run. Judged documents that were not retrieved follow with score
    −inf: they count in ideal rankings and totals, but not in the ranking.
    """

    labels: Array
    """(n,) float64; 0 for documents without a judgment."""
    scores: Array
    """(n,) float64; −inf for documents that were not retrieved."""
    offsets: Array
    qids: Array
    document_ids: Array
    judged: Array
    """(n,) bool; trec_eval takes documents with a negative grade as not judged."""
    queries_not_in_run: tuple[str, ...]
    """Judged queries without a retrieved document: dropped, or, if ``complete``, included with nothing retrieved."""
    queries_not_judged: tuple[str, ...]
    """Queries of the run without judgments, which are dropped."""


def read_qrels(path: FilePath) -> Qrels:
    """Read TREC's relevance judgments, lines ``query iteration document grade``.

    Parameters
    ----------
    path : path
        The file, plain or gzipped. A document judged twice for a query is an error.

    Returns
    -------
    Qrels
        Arrays ``qids``, ``document_ids`` and ``grades``, one entry per line.

    Examples
    --------
    >>> import podium, tempfile
    >>> from pathlib import Path
    >>> path = Path(tempfile.mkdtemp(), "qrels.txt")
    >>> _ = path.write_text("q1 0 d1 0\\nq1 0 d2 2\\n")
    >>> judgments = podium.read_qrels(path)
    >>> judgments.document_ids.tolist(), judgments.grades.tolist()
    (['d1', 'd2'], [0.0, 2.0])
    """
    lines = _read_lines(path, "query iteration document grade", number="grade")
    return Qrels(_strings(lines["query"]), _strings(lines["document"]), lines["grade"].to_numpy())


def read_run(path: FilePath) -> Run:
    """Read a run in TREC's format, lines ``query Q0 document rank score tag``.

    Parameters
    ----------
    path : path
        The file, plain or gzipped. A document retrieved twice for a query is an error.

    Returns
    -------
    Run
        Scores by query and document; ranks are not read.

    Examples
    --------
    >>> import podium, tempfile
    >>> from pathlib import Path
    >>> run, qrels = (Path(tempfile.mkdtemp(), name) for name in ("run.txt", "qrels.txt"))
    >>> _ = run.write_text("q1 Q0 d1 1 0.9 bm25\\nq1 Q0 d2 2 0.3 bm25\\n")
    >>> _ = qrels.write_text("q1 0 d1 0\\nq1 0 d2 2\\n")
    >>> print(podium.evaluate(podium.read_qrels(qrels), podium.read_run(run), metrics=["mrr"], convention="trec"))
    trec convention, 1 query
    mrr  0.5000
    """
    lines = _read_lines(path, "query Q0 document rank score tag", number="score")
    return Run(_strings(lines["query"]), _strings(lines["document"]), lines["score"].to_numpy(), lines["tag"][0])


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
    judged = _frame(qrels, label=qrels.grades).with_row_index("judged_row")
    found = _frame(run, score=run.scores).with_row_index("found_row")
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
        qids=_strings(included["qid"]),
        document_ids=_strings(together["document"]),
        judged=(together["label"] >= 0).fill_null(False).to_numpy(),
        queries_not_in_run=tuple(queries.filter(~in_run)["qid"]),
        queries_not_judged=tuple(found.join(queries, on="qid", how="anti")["qid"].unique(maintain_order=True)),
    )


def write_run(path: FilePath, queries: Queries, scores: Any, tag: str = "podium") -> None:
    """Write scores as a run in TREC's format: best first, ties by document id from Z to A.

    That is how trec_eval breaks ties (it compares scores as float32, so it may find more of them). Documents without
    ids are named by their row in the caller's data, from 1 on. The file is written completely or not at all, as a gzip
    file if its name ends in ``.gz``.

    Parameters
    ----------
    path : path
        The file.
    queries : Queries
        What was ranked.
    scores : (n_documents,) array
        In the grouped order of the queries; finite.
    tag : str
        What the run is called.

    Examples
    --------
    >>> import podium, tempfile
    >>> from pathlib import Path
    >>> queries = podium.Queries([[0.5], [0.2]], qid=["q1", "q1"], document_ids=["d1", "d2"])
    >>> path = Path(tempfile.mkdtemp(), "run.txt")
    >>> podium.write_run(path, queries, [0.1, 0.7], tag="mine")
    >>> print(path.read_text(), end="")
    q1 Q0 d2 1 0.7 mine
    q1 Q0 d1 2 0.1 mine
    """
    with writing(path) as file:
        add_to_run(file, queries, scores, tag)


def add_to_run(file: IO[bytes], queries: Queries, scores: Any, tag: str) -> None:
    """Write the lines of some queries of a run."""
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
    number = queries.query_of_document
    qids = as_texts(queries.qids)
    add_lines(file, number, [qids[q] for q in number.tolist()], as_texts(documents), scores, tag)


def add_lines(file: IO[bytes], number: Array, qids: list[str], documents: list[str], scores: Array, tag: str) -> None:
    text = {"query": pl.String, "document": pl.String}
    frame = pl.DataFrame({"number": number, "query": qids, "document": documents}, schema_overrides=text)
    for what, texts in (("query id", frame["query"]), ("document id", frame["document"]), ("tag", pl.Series([tag]))):
        unfit = texts.filter(texts.cast(pl.String).str.contains(r"^$|\s"))
        if len(unfit):
            raise ValueError(f"{what} {unfit[0]!r} cannot be written: columns of a run are separated by whitespace")
    repeated = _repeats(frame)
    if repeated.any():
        _, qid, document = frame.row(repeated.arg_max())
        raise ValueError(f"document {document!r} occurs twice in query {qid!r}; a run cannot hold both")
    frame = frame.with_columns(score=scores).sort("number", "score", "document", descending=[False, True, True])
    rank = pl.int_range(1, pl.len() + 1).over("number")
    lines = frame.select(pl.format("{} Q0 {} {} {} {}", "query", "document", rank, "score", pl.lit(tag)))
    lines.write_csv(file, include_header=False, quote_style="never")


def _frame(lines: Qrels | Run, **numbers: Array) -> pl.DataFrame:
    ids = {"qid": lines.qids.tolist(), "document": lines.document_ids.tolist()}
    return pl.DataFrame(ids | numbers, schema_overrides=dict.fromkeys(ids, pl.String))


def _read_lines(path: FilePath, columns: str, number: str) -> pl.DataFrame:
    """Read lines of whitespace-separated columns, one of them finite numbers; a document occurs once per query."""
    names = columns.split()
    text = read_text(path)
    lines = pl.DataFrame({"line": text.split("\n")}).with_row_index("position", offset=1)
    lines = lines.filter(pl.col("line").str.contains(_TOKEN))
    if not lines.height:
        raise ValueError(f"{path}: the file is empty")
    pattern = f"^{_BLANK}*{f'{_BLANK}+'.join(f'(?P<{name}>{_TOKEN}+)' for name in names)}{_BLANK}*$"
    table = lines.with_columns(pl.col("line").str.extract_groups(pattern).struct.unnest())
    values = table[number].cast(pl.Float64, strict=False)

    def refuse(bad: pl.Series, describe: Callable[[dict[str, Any]], str]) -> None:
        if bad.any():
            row = table.row(bad.arg_max(), named=True)
            raise ValueError(f"{path}:{row['position']}: {describe(row)}")

    n = len(names)
    refuse(table[number].is_null(), lambda row: f"expected {n} columns ({columns}), found {len(row['line'].split())}")
    bad = ~values.is_finite().fill_null(False)
    refuse(bad, lambda row: f"the {number} {row[number][:40]!r} is not a finite number")
    refuse(_repeats(table), lambda row: f"document {row['document']!r} occurs a second time for query {row['query']!r}")
    return table.with_columns(values)


def _strings(column: pl.Series) -> Array:
    return text_array(column.to_list())


def _repeats(pairs: pl.DataFrame) -> pl.Series:
    """Return, for each row, whether its query and document occurred before."""
    return ~pairs.select(pl.struct("query", "document").is_first_distinct()).to_series()

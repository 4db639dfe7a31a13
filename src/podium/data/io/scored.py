"""Scores of documents in files that name query and document: TREC runs, and tables with a column of scores."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from podium.core.later import polars as pl
from podium.core.texts import text_array
from podium.data.io.columns import DOCUMENT_NAMES, QUERY_NAMES, usual_column, without_column
from podium.data.io.files import FilePath, first_bytes
from podium.data.io.parquet import MAGIC
from podium.data.io.tables import TABLE_SUFFIXES, naming, read_frame, suffix_of
from podium.data.io.trec import Run, read_run
from podium.data.queries import Queries

SCORE_NAMES = ("score", "scores", "prediction", "predicted")
_COLUMNS = {"query": QUERY_NAMES, "document": DOCUMENT_NAMES, "score": SCORE_NAMES}


def is_run(path: FilePath) -> bool:
    """Return whether the first line of a file has the six columns of a run."""
    first = next((line for line in first_bytes(path).split(b"\n") if line.strip()), b"")
    return len(first.split()) == 6 and not first.startswith(MAGIC)


def read_scored(path: FilePath) -> Run:
    """Read a TREC run, or a table with columns of query, document and score, as a run; ids are texts."""
    if suffix_of(path) not in TABLE_SUFFIXES and is_run(path):
        return read_run(path)
    frame = read_frame(path, None)
    with naming(path):
        names = []
        for what, usual in _COLUMNS.items():
            found = usual_column(frame, usual)
            if found is None:
                hint = "Expected a TREC run or a table with a column each of query, document and score"
                raise without_column(frame, what, usual, hint)
            names.append(found)
        if not frame.height:
            raise ValueError("it has no scores")
        query, document, score = names
        values = frame[score].cast(pl.Float64, strict=False).fill_null(np.nan).to_numpy()
        ids = frame.select(pl.col(query, document).cast(pl.String))
        missing = ids.select(pl.any_horizontal(pl.all().is_null())).to_series()
        again = ids.select(~pl.struct(pl.all()).is_first_distinct()).to_series()
        for bad, wrong in (
            (missing.to_numpy(), "query and document must both be given"),
            (~np.isfinite(values), "the score is not a finite number"),
            (again.to_numpy(), "this document of this query has a score already"),
        ):
            if bad.any():
                raise ValueError(f"row {int(bad.argmax()) + 1} below the header: {wrong} ({int(bad.sum())} such rows)")
        qids, documents = (text_array(ids[name].to_list()) for name in (query, document))
    return Run(qids, documents, values, "scores")


def documents_of(runs: Sequence[Run]) -> Queries:
    """Return all documents that some run ranks, without features, by query in order of first appearance."""
    pairs = pl.concat([_pairs(run.qids, run.document_ids) for run in runs]).unique(maintain_order=True)
    qids, ids = (text_array(pairs[name].to_list()) for name in ("query", "document"))
    return Queries(np.empty((len(qids), 0)), qid=qids, document_ids=ids)


def scores_of(run: Run, queries: Queries) -> np.ndarray:
    """Return a run's scores of these documents in the order of their rows, −∞ for those it does not retrieve.

    Raise if it ranks others: a ranking without these would be another one.
    """
    if queries.document_ids is None:
        raise ValueError("the documents have no ids, by which their scores are found")
    ours = _pairs(np.asarray(queries.qids)[queries.query_of_document], queries.document_ids)
    theirs = _pairs(run.qids, run.document_ids).with_columns(pl.Series("score", run.scores))
    unknown = theirs.join(ours, on=["query", "document"], how="anti")
    if unknown.height:
        query, document = unknown.row(0)[:2]
        raise ValueError(
            f"{unknown.height} of its {theirs.height} documents are not among the {ours.height} that are ranked, the "
            f"first of them document {document!r} of query {query!r}; ids are compared as text"
        )
    found = ours.join(theirs, on=["query", "document"], how="left", maintain_order="left")["score"]
    return np.asarray(queries.restore(found.fill_null(-np.inf).to_numpy()))


def _pairs(qids: np.ndarray, documents: np.ndarray) -> pl.DataFrame:
    columns = {"query": qids, "document": documents}
    return pl.DataFrame([pl.Series(name, [str(v) for v in ids.tolist()], pl.String) for name, ids in columns.items()])

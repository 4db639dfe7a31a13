"""Writing queries in the LETOR format so that reading them gives the same bits."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from podium.core.later import polars as pl
from podium.core.texts import as_texts
from podium.data.features import Features
from podium.data.io.files import FilePath, writing
from podium.data.queries import Queries

__all__ = ["write_letor"]

VALUES_AT_A_TIME = 2_000_000
_BLANKS = "[ \t\v\f\r\n]"
_AMBIGUOUS = f"^$|^{_BLANKS}|{_BLANKS}$|[\r\n]|^docid{_BLANKS}*="  # as a plain comment


def write_letor(queries: Queries, path: FilePath, *, comments: bool = True) -> None:
    """Write queries as lines ``grade qid:ID 1:0.5 2:0.1 … #docid = X``, in the grouped order.

    Numbers are written with the fewest digits that read back as the same float32 or float64. Of sparse features only
    nonzero values are written, so pass ``n_features=`` when reading them if the last ones may be zero everywhere. The
    file is written completely or not at all, as a gzip file if its name ends in ``.gz``.

    Parameters
    ----------
    queries : Queries
        With labels. The format has no types: query ids that look like integers are integers when read again, all
        document ids are strings.
    path : path
        The file.
    comments : bool
        Write document ids, if there are any: ``#docid = X``, or ``# X`` if X contains whitespace.

    Examples
    --------
    >>> import podium, tempfile
    >>> from pathlib import Path
    >>> path = Path(tempfile.mkdtemp(), "train.txt")
    >>> podium.write_letor(podium.Queries([[0.5, 1.0]], labels=[2], qid=[10], document_ids=["a"]), path)
    >>> print(path.read_text(), end="")
    2 qid:10 1:0.5 2:1 #docid = a
    """
    qids, ids = _qid_texts(queries), _comment_texts(queries) if comments else None
    rows_at_a_time = max(1, VALUES_AT_A_TIME // max(1, queries.n_features))
    query_of_document = queries.query_of_document
    with writing(path) as file:
        for start in range(0, queries.n_documents, rows_at_a_time):
            rows = slice(start, start + rows_at_a_time)
            text = _as_text(pl.Series(queries.labels[rows])) + qids.gather(query_of_document[rows])
            text += _sparse_texts(queries.features[rows]) if queries.is_sparse else _dense_texts(queries.features[rows])
            if ids is not None:
                text += ids[rows]
            text.to_frame().write_csv(file, include_header=False, quote_style="never")


def _dense_texts(features: np.ndarray) -> pl.Series:
    frame = pl.DataFrame(features, schema=[f"{j}" for j in range(1, features.shape[1] + 1)])
    texts = [pl.format(" {}:{}", pl.lit(name), _as_text(pl.col(name))) for name in frame.columns]
    return frame.select(pl.concat_str(texts)).to_series() if texts else pl.repeat("", len(features), eager=True)


def _as_text(numbers: Any) -> Any:
    """Return the shortest texts that read back as these numbers (a polars series or expression)."""
    return numbers.cast(pl.String).str.strip_suffix(".0")


def _sparse_texts(features: Features) -> pl.Series:
    entries = sparse.coo_array(features)
    row = np.arange(features.shape[0])
    columns = {"row": entries.row.astype(row.dtype), "index": entries.col + 1, "value": entries.data}
    token = pl.format(" {}:{}", "index", _as_text(pl.col("value")))
    tokens = pl.DataFrame(columns).filter(pl.col("value") != 0).select("row", token=token)
    lines = tokens.group_by("row", maintain_order=True).agg(pl.col("token").str.join(""))
    lines = pl.DataFrame({"row": row}).join(lines, on="row", how="left", maintain_order="left")
    return lines["token"].fill_null("")


def _texts(values: np.ndarray) -> pl.Series:
    return pl.Series(as_texts(values), dtype=pl.String)


def _qid_texts(queries: Queries) -> pl.Series:
    """Return ``" qid:ID"`` of each query."""
    texts = _texts(queries.qids)
    impossible = np.flatnonzero(texts.str.contains(f"^$|#|{_BLANKS}"))
    if len(impossible):
        qid = str(queries.qids[impossible[0]])
        raise ValueError(f"query id {qid!r} cannot be written: in this format ids have no whitespace and no '#'")
    if (queries.sizes == 0).any():
        qid = str(queries.qids[np.argmin(queries.sizes)])
        raise ValueError(f"query {qid!r} has no documents, which this format cannot express: leave it out with take()")
    return " qid:" + texts


def _comment_texts(queries: Queries) -> pl.Series | None:
    """Return what follows the features of each document, or None if nothing does."""
    if queries.document_ids is None:
        return None
    frame = _texts(queries.document_ids).to_frame("id")
    has_blanks = pl.col("id").str.contains(_BLANKS)
    impossible = np.flatnonzero(frame.select(has_blanks & pl.col("id").str.contains(_AMBIGUOUS)).to_series())
    if len(impossible):
        bad = str(queries.document_ids[impossible[0]])
        raise ValueError(
            f"document id {bad!r} would not read back: it must have no line ends, no whitespace around it, and not "
            "begin like 'docid ='; pass comments=False to leave the ids out"
        )
    comment = pl.when(has_blanks).then(pl.format(" # {}", "id")).otherwise(pl.format(" #docid = {}", "id"))
    return frame.select(pl.when(pl.col("id") == "").then(pl.lit("")).otherwise(comment)).to_series()

"""Writing queries in the LETOR format, so that reading them gives the same bits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from podium.data.io.files import FilePath, writing

if TYPE_CHECKING:
    import polars

    from podium.data.queries import Queries

__all__ = ["write_letor"]

VALUES_AT_A_TIME = 2_000_000
_BLANKS = "[ \t\v\f\r\n]"
_TAKEN_FOR_SOMETHING_ELSE = f"^$|^{_BLANKS}|{_BLANKS}$|[\r\n]|^docid{_BLANKS}*="  # if written as a plain comment


def write_letor(queries: Queries, path: FilePath, *, comments: bool = True) -> None:
    """Write queries as lines ``grade qid:ID 1:0.5 2:0.1 … #docid = X``, in the grouped order.

    Numbers are written with the fewest digits that read back as the same float32 or float64. Sparse features write only
    what is not zero, so give ``n_features=`` when reading them if the last ones may be zero everywhere. The file
    appears whole or not at all; a name that ends in ``.gz`` makes it a gzip file.

    Parameters
    ----------
    queries : Queries
        With labels. The format has no types: query ids that look like integers are integers when read again, all
        document ids are strings.
    path : path
    comments : bool
        Write document ids, if there are any: ``#docid = X``, or ``# X`` where X contains white space.
    """
    import polars as pl

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


def _dense_texts(features: np.ndarray) -> polars.Series:
    import polars as pl

    frame = pl.DataFrame(features, schema=[f"{j}" for j in range(1, features.shape[1] + 1)])
    texts = [pl.format(" {}:{}", pl.lit(name), _as_text(pl.col(name))) for name in frame.columns]
    return frame.select(pl.concat_str(texts)).to_series() if texts else pl.repeat("", len(features), eager=True)


def _as_text(numbers: Any) -> Any:
    """The shortest texts that read back as these numbers (a polars series or expression)."""
    import polars as pl

    return numbers.cast(pl.String).str.strip_suffix(".0")


def _sparse_texts(features: Any) -> polars.Series:
    import polars as pl

    entries = features.tocoo()
    kept = entries.data != 0
    row = np.arange(features.shape[0])
    tokens = pl.DataFrame(
        {"row": entries.row[kept].astype(row.dtype), "index": entries.col[kept] + 1, "value": entries.data[kept]}
    ).select("row", token=pl.format(" {}:{}", "index", _as_text(pl.col("value"))))
    lines = tokens.group_by("row", maintain_order=True).agg(pl.col("token").str.join(""))
    lines = pl.DataFrame({"row": row}).join(lines, on="row", how="left", maintain_order="left")
    return lines["token"].fill_null("")


def _texts(values: np.ndarray) -> polars.Series:
    import polars as pl

    return pl.Series(values.astype(str).tolist(), dtype=pl.String)


def _qid_texts(queries: Queries) -> polars.Series:
    """``" qid:ID"`` of each query."""
    texts = _texts(queries.qids)
    impossible = np.flatnonzero(texts.str.contains(f"^$|#|{_BLANKS}"))
    if len(impossible):
        qid = str(queries.qids[impossible[0]])
        raise ValueError(f"query id {qid!r} cannot be written: in this format it must have no white space and no '#'")
    if (queries.sizes == 0).any():
        qid = str(queries.qids[np.argmin(queries.sizes)])
        raise ValueError(f"query {qid!r} has no documents; this format cannot say so: leave it out with take()")
    return " qid:" + texts


def _comment_texts(queries: Queries) -> polars.Series | None:
    """What stands after the features of each document, or None if nothing does."""
    if queries.document_ids is None:
        return None
    import polars as pl

    frame = _texts(queries.document_ids).to_frame("id")
    wordy = pl.col("id").str.contains(_BLANKS)
    impossible = np.flatnonzero(frame.select(wordy & pl.col("id").str.contains(_TAKEN_FOR_SOMETHING_ELSE)).to_series())
    if len(impossible):
        bad = str(queries.document_ids[impossible[0]])
        raise ValueError(
            f"document id {bad!r} would not read back: it must have no line ends, no white space around it, and not "
            "begin like 'docid ='; pass comments=False to leave the ids out"
        )
    comment = pl.when(wordy).then(pl.format(" # {}", "id")).otherwise(pl.format(" #docid = {}", "id"))
    return frame.select(pl.when(pl.col("id") == "").then(pl.lit("")).otherwise(comment)).to_series()

"""Documents found again by the ids of query and document, which are compared as text."""

from __future__ import annotations

import numpy as np

from podium.core.later import polars as pl
from podium.data.queries import Queries


def found_rows(queries: Queries, others: Queries, what: str = "features") -> np.ndarray:
    """Return the row of each document of ``queries`` among ``others``, -1 where it is not there.

    ``what`` the others are, for messages.
    """
    wanted, known = _pairs(queries, "log"), _pairs(others, what).with_row_index("row")
    again = known.filter(pl.struct("query", "document").is_duplicated())
    if again.height:
        query, document = again[0, "query"], again[0, "document"]
        raise ValueError(f"query {query!r} has document {document!r} more than once among the {what}")
    rows = wanted.join(known, on=["query", "document"], how="left", maintain_order="left")["row"]
    return rows.cast(pl.Int64).fill_null(-1).to_numpy()


def joined(queries: Queries, others: Queries) -> Queries:
    """Return ``queries`` with the features of the same documents among ``others``; raise if one is not there."""
    rows = found_rows(queries, others)
    missing = np.flatnonzero(rows < 0)
    if len(missing):
        first, *_ = _pairs(queries, "log")[missing[:1].tolist()].rows()
        raise ValueError(
            f"{len(missing)} of the {queries.n_documents} documents of the log have no features, the first of them "
            f"document {first[1]!r} of query {first[0]!r}; ids are compared as text. Clicks.with_features(…, "
            'missing="drop") leaves their rows out'
        )
    return queries.with_features(others.features[rows], others.feature_names)


def _pairs(queries: Queries, what: str) -> pl.DataFrame:
    if queries.document_ids is None:
        raise ValueError(f"the documents of the {what} have no ids, by which they are found")
    columns = (("query", queries.qids), ("document", queries.document_ids))
    query, document = (
        pl.Series(name, [str(value) for value in values.tolist()], dtype=pl.String) for name, values in columns
    )
    return pl.DataFrame([query.gather(queries.query_of_document), document])

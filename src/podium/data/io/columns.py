"""Columns of tables found by the names that they usually have."""

from collections.abc import Sequence
from typing import Any

from podium.data.frames import require_columns

QUERY_NAMES = ("query", "qid", "query_id", "queryid", "topic", "keywords")
DOCUMENT_NAMES = ("document", "document_id", "documentid", "docid", "doc_id", "doc", "id")


def usual_column(table: Any, names: Sequence[str], given: str | None = None) -> str | None:
    """Return the name of a column: the given one, which must be there, or the first of the usual names, or None."""
    if given is not None:
        require_columns(table, [given])
        return given
    lower = {name.lower(): name for name in reversed(table.columns)}
    return next((lower[name] for name in names if name in lower), None)


def without_column(table: Any, what: str, names: Sequence[str], hint: str) -> ValueError:
    """Return the error that a table has no such column."""
    listed = ", ".join(map(repr, table.columns))
    return ValueError(f"no column of the {what} (one named {', '.join(names[:4])} …) among {listed}. {hint}")

"""Reading logs of clicks from CSV and Parquet files and from frames."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from podium.core.later import polars as pl
from podium.core.parameters import require_choice
from podium.core.wording import advice
from podium.data.clicks import Clicks
from podium.data.frames import as_matrix, as_numbers, as_table, as_values, is_frame, kind_of, require_columns
from podium.data.grouping import number_by_first_appearance
from podium.data.io.columns import DOCUMENT_NAMES, QUERY_NAMES, usual_column, without_column
from podium.data.io.files import FilePath, first_bytes
from podium.data.io.formats import is_table, read_queries
from podium.data.io.parquet import MAGIC
from podium.data.io.tables import Table, csv_header, integers_if_plain, naming, open_table
from podium.data.queries import Queries

__all__ = ["read_clicks"]

NAMES = {
    "query": QUERY_NAMES,
    "document": DOCUMENT_NAMES,
    "position": ("position", "place", "rank", "pos"),
    "clicks": ("clicks", "click", "clicked", "n_clicks"),
    "impressions": ("impressions", "shown", "views", "n_impressions"),
    "session": ("session", "session_id", "sessionid", "search_id"),
}
_IDS, _REQUIRED = ("query", "document", "session"), ("query", "position", "clicks")


def read_clicks(
    source: Any,
    *,
    features: Any = None,
    missing: str = "error",
    qid: str | None = None,
    position: str | None = None,
    clicks: str | None = None,
    document: str | None = None,
    impressions: str | None = None,
    session: str | None = None,
) -> Clicks:
    """Read a log of clicks from a table: one row per impression, or per query, document and place with counts.

    Parameters
    ----------
    source : path or frame
        CSV (any usual separator, plain or gzipped) or Parquet, or a pandas, polars or pyarrow frame.
    features : list of str, path, Queries or None
        Columns of the log that are features; or a table, or LETOR file, in which they are found by query and document,
        ids compared as text; or None: no features, which is enough to estimate a bias.
    missing : {"error", "drop"}
        What to do with rows of the log whose documents are not in the other table.
    qid, position, clicks, document, impressions, session : str, optional
        Columns. By default those with a usual name, such as ``query``, ``position``, ``clicks``, ``document``,
        ``impressions`` and ``session``; the last two need not be there, and with columns of features neither need
        documents.

    Returns
    -------
    Clicks
        The log.

    Raises
    ------
    ValueError
        If a column is not there or has something wrong in it, with the name of the file and the row.

    Examples
    --------
    >>> import podium, tempfile
    >>> from pathlib import Path
    >>> path = Path(tempfile.mkdtemp(), "log.csv")
    >>> _ = path.write_text("query,document,position,clicked\\nshoes,b17,1,0\\nshoes,a4,2,1\\nshoes,a4,1,1\\n")
    >>> podium.read_clicks(path)
    Clicks(3 rows: 1 queries, 2 documents, 2 places, 3 impressions, 2 clicks)
    """
    require_choice("missing", missing, ("error", "drop"))
    given = {
        "query": qid,
        "position": position,
        "clicks": clicks,
        "document": document,
        "impressions": impressions,
        "session": session,
    }
    columns = list(features) if isinstance(features, list | tuple) else []
    if is_frame(source):
        log = _of_frame(source, given, columns)
    else:
        table = _open(source, given)
        with naming(source):
            names = _found(table, given, columns)
            log = _of_polars(table.read([*dict.fromkeys([*names.values(), *columns])]), names, columns)
    if features is None or columns:
        return log
    known = features if isinstance(features, Queries) else read_candidates(features)
    return log.with_features(known, missing=missing)


def feature_columns(path: FilePath, **given: str | None) -> list[str]:
    """Return the columns of numbers in a log that are none of those that make it a log; raise if there are none."""
    names = {what: given.get("qid" if what == "query" else what) for what in NAMES}
    table = _open(path, names)
    with naming(path):
        used = {usual_column(table, NAMES[what], names[what]) for what in NAMES}
        found = [name for name, kind in table.schema.items() if name not in used and kind.is_numeric()]
        if not found:
            raise ValueError(
                "no column of numbers is left for features; --features FILE looks them up by query and document"
            )
    return found


def columns_of(path: FilePath) -> list[str]:
    """Return the names of a log's columns without reading it."""
    if first_bytes(path).startswith(MAGIC):
        return open_table(path, []).columns
    return csv_header(path)[1]


def _open(path: FilePath, given: dict[str, str | None]) -> Table:
    """Return the table in a file, with ids as text if it is a CSV file."""
    if not is_table(path):
        raise ValueError(f"{path}: a log of clicks is a table with named columns, CSV or Parquet")
    texts: list[str | None] = []
    if not first_bytes(path).startswith(MAGIC):
        header = _Header(csv_header(path)[1])
        with naming(path):
            texts = [usual_column(header, NAMES[what], given[what]) for what in _IDS]
    return open_table(path, texts)


class _Header(NamedTuple):
    columns: list[str]


def _found(table: Any, given: dict[str, str | None], features: Sequence[str]) -> dict[str, str]:
    """Return the names of the columns that are there; raise if one is missing that is needed."""
    require_columns(table, features)
    found = {what: usual_column(table, NAMES[what], given[what]) for what in given}
    for what in _REQUIRED if features else (*_REQUIRED, "document"):
        if found[what] is None:
            options = "qid=, document=, position=, clicks=", "--qid-column, --document-column, --position-column, …"
            raise without_column(table, what, NAMES[what], f"Name the columns with {advice(*options)}")
    return {what: name for what, name in found.items() if name is not None}


def _of_polars(frame: pl.DataFrame, names: dict[str, str], features: Sequence[str]) -> Clicks:
    table = as_table(frame)
    counts = {
        what: as_numbers(table[names[what]]) if what in names else None
        for what in ("clicks", "position", "impressions")
    }
    ids = {what: _numbered(frame[names[what]]) for what in _IDS if what in names}
    made = Clicks.of_numbers(as_matrix(table, features) if features else None, ids, **counts)
    if features:
        made.queries = made.queries.with_features(made.queries.features, features)
    return made


def _of_frame(frame: Any, given: dict[str, str | None], features: Sequence[str]) -> Clicks:
    table = as_table(frame)
    names = _found(table, given, features)
    if kind_of(frame) == "polars":
        made = _of_polars(frame, names, features)
    else:
        arguments = {"query": "qid"}
        columns = {
            arguments.get(what, what): (as_values if what in ("query", "document", "session") else as_numbers)(
                table[name]
            )
            for what, name in names.items()
        }
        made = Clicks(as_matrix(table, features) if features else None, feature_names=features or None, **columns)
    made.queries.frame_kind = kind_of(frame)
    return made


def _numbered(column: pl.Series) -> tuple[np.ndarray, np.ndarray]:
    """Return each row's number, by first appearance, and the ids behind the numbers; raise if an id is missing."""
    if column.null_count():
        row = int(column.is_null().arg_max() or 0)
        raise ValueError(
            f"column {column.name!r}, row {row} (from 0): an id is missing ({column.null_count()} such rows)"
        )
    if column.dtype.is_integer():
        values = column.to_numpy()
        numbers, first = number_by_first_appearance(values)
        return numbers, values[first]
    # Texts by their hashes, and then whether any two different ones had the same.
    numbers, first = number_by_first_appearance(column.hash().to_numpy())
    known = column.gather(first)
    if not (known.gather(numbers) == column).all():
        values = as_values(as_table(column.to_frame())[column.name])
        numbers, first = number_by_first_appearance(values)
        return numbers, values[first]
    named = integers_if_plain(known).alias("id").to_frame()
    return numbers, as_values(as_table(named)["id"])


def read_candidates(path: FilePath, *, n_features: int | None = None) -> Queries:
    """Return the documents of a file with their ids; grades that it has are not read.

    ``n_features`` is how wide they are at least if the file is a LETOR file, which may not mention the last ones.
    """
    if not is_table(path):
        found = read_queries(path)
        narrow = n_features is not None and found.n_features < n_features
        return read_queries(path, n_features=n_features) if narrow else found
    texts = [*QUERY_NAMES, *DOCUMENT_NAMES]
    table = open_table(path, texts)
    columns = [usual_column(table, names) for names in (QUERY_NAMES, DOCUMENT_NAMES)]
    for what, names, name in zip(("query", "document"), (QUERY_NAMES, DOCUMENT_NAMES), columns, strict=True):
        if name is None:
            raise without_column(table, what, names, "Features are found by query and document")
    return read_queries(path, qid=columns[0], document_id=columns[1], label=None)

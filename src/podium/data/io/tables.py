"""Reading and writing queries as CSV, TSV and Parquet files."""

from __future__ import annotations

import csv
import io
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from podium.core.feature_names import feature_identifier
from podium.core.later import polars as pl
from podium.core.limits import limit
from podium.core.wording import LeftOutWarning, advice
from podium.data.frames import as_numbers, as_table, as_values, require_columns, require_numbers
from podium.data.io.files import (
    FilePath,
    decoded,
    first_bytes,
    first_line,
    flat_paths,
    read_bytes,
    require_line_ends,
    require_whole_quotes,
    writing,
)
from podium.data.io.parquet import MAGIC, ParquetFile, read_parquet
from podium.data.queries import Queries

__all__ = ["read_table", "write_table"]

SEPARATORS = ",\t;|"
TABLE_SUFFIXES = {".csv", ".tsv", ".tab", ".parquet", ".pq"}
DOCUMENT_ID, LABEL = "document_id", "label"
_COLUMNS_AT_A_TIME, _BYTES_AT_A_TIME = 4, 1 << 17
"""What is read of a Parquet file at a time: so many columns, or more if they are short."""


def read_table(
    *paths: FilePath | Sequence[FilePath],
    qid: str = "qid",
    label: str | None = "label",
    document_id: str | None = DOCUMENT_ID,
    features: Sequence[str] | None = None,
    ignore: Sequence[str] = (),
) -> Queries:
    """Read one or several tables with named columns, CSV (any usual separator, plain or gzipped) or Parquet.

    Parameters
    ----------
    *paths : path or sequence of paths
        Files, or lists of files, with the same columns.
    qid, label, document_id : str
        Names of the columns. ``label=None`` reads documents without labels, ``document_id=None`` without ids. A table
        without a column ``document_id`` has no ids unless another column is named.
    features : list of str, optional
        By default every other column that holds numbers; those without a single number, such as titles, are left out
        with a warning that names them; so is, with ``label=None``, a column called ``label``. Text among numbers is an
        error. Empty fields are read as NaN.
    ignore : list of str
        Columns that are no features although nothing else is read from them, such as times.

    Returns
    -------
    Queries
        With the columns' names as those of the features.

    Raises
    ------
    ValueError
        If a file cannot be read, with its name and line: a row of a CSV file with fewer or more fields than the header,
        for example.

    Examples
    --------
    >>> import podium, tempfile
    >>> from pathlib import Path
    >>> path = Path(tempfile.mkdtemp(), "train.csv")
    >>> _ = path.write_text("query,grade,bm25,age\\nq1,2,0.5,3\\nq1,0,0.25,\\n")
    >>> queries = podium.read_table(path, qid="query", label="grade")
    >>> queries.feature_names, queries.labels.tolist(), queries.features.tolist()
    (('bm25', 'age'), [2.0, 0.0], [[0.5, 3.0], [0.25, nan]])
    """
    tables = [open_table(path, [qid, document_id]) for path in flat_paths(paths)]
    return queries_of_tables(tables, qid=qid, label=label, document_id=document_id, features=features, ignore=ignore)


def queries_of_tables(
    tables: Sequence[Table],
    *,
    qid: str,
    label: str | None,
    document_id: str | None,
    features: Sequence[str] | None,
    ignore: Sequence[str] = (),
) -> Queries:
    """Return the queries in tables with the same columns; parameters are those of :func:`read_table`."""
    files = [table.path for table in tables]
    if document_id == DOCUMENT_ID and not all(DOCUMENT_ID in table.columns for table in tables):
        document_id = None
    if not any(table.height for table in tables):
        raise ValueError(f"no documents in {', '.join(map(str, files)) or 'no files'}")
    named = [name for name in (qid, label, document_id) if name is not None]
    for table in tables:
        different = set(table.columns) ^ set(tables[0].columns)
        if different:
            listed = ", ".join(map(repr, sorted(different)))
            raise ValueError(f"{table.path} and {files[0]} differ in their columns {listed}")
        with naming(table.path):
            require_columns(table, [*named, *(features or ())])
    if features is None:
        grades = [LABEL] if label is None and LABEL in tables[0].columns and LABEL not in named else []
        if grades:
            warnings.warn(f"{files[0]}: {_taken_for_grades()}", LeftOutWarning, stacklevel=2)
        features = _columns_with_numbers(tables, [*named, *ignore, *grades])
    if not features:
        raise ValueError(
            f"{', '.join(map(str, files))}: no column of numbers is left for features besides "
            + ", ".join(map(repr, named))
        )
    parts = [table.read(named) for table in tables]
    if label is not None:
        for table, part in zip(tables, parts, strict=True):
            with naming(table.path):
                require_numbers(as_table(part)[label])
    together = pl.concat(parts, how="vertical_relaxed")
    matrix = _matrix(tables, features)
    with naming(*files):
        return Queries.of_own_rows(
            matrix,
            None if label is None else as_numbers(as_table(together)[label]),
            qid=as_values(as_table(integers_if_plain(together[qid]).to_frame())[qid]),
            document_ids=None if document_id is None else as_values(as_table(together)[document_id]),
            feature_names=features,
        )


class Table:
    """A table, in memory or in a Parquet file of which columns are read when they are needed.

    ``path`` is its name, for messages.
    """

    def __init__(self, path: FilePath, source: pl.DataFrame | ParquetFile) -> None:
        self.path, self._source = path, source
        self.schema: Mapping[str, Any] = source.schema
        self.height = source.height

    @property
    def columns(self) -> list[str]:
        return list(self.schema)

    def read(self, names: Sequence[str]) -> pl.DataFrame:
        if isinstance(self._source, pl.DataFrame):  # names such as * are patterns in select
            return self._source.select(pl.selectors.by_name(*names) if names else [])
        return self._source.read(names)


def open_table(path: FilePath, id_columns: Sequence[str | None]) -> Table:
    """Return the table in a file; these columns of a CSV file are text whatever they look like."""
    is_parquet = first_bytes(path).startswith(MAGIC)
    return Table(path, ParquetFile(path) if is_parquet else read_frame(path, id_columns))


def _matrix(tables: Sequence[Table], features: Sequence[str]) -> np.ndarray:
    """Return the features as one matrix, float32 if every column is float32, else float64.

    A Parquet file is read some columns at a time, so that there is little beyond the matrix itself.
    """
    single = all(table.schema[name] == pl.Float32 for table in tables for name in features)
    ends = np.cumsum([table.height for table in tables])
    matrix = np.empty((int(ends[-1]), len(features)), np.float32 if single else np.float64)
    for table, end in zip(tables, ends.tolist(), strict=True):
        rows = matrix[end - table.height : end]
        step = max(_COLUMNS_AT_A_TIME, _BYTES_AT_A_TIME // (8 * max(1, table.height)))
        for start in range(0, len(features), step):
            chosen = features[start : start + step]
            columns = as_table(table.read(chosen))
            for j, name in enumerate(chosen, start):
                with naming(table.path):
                    require_numbers(columns[name], _hint())
                rows[:, j] = as_numbers(columns[name])
    return matrix


def _taken_for_grades() -> str:
    option = advice("features=", "--features")
    return f"the column {LABEL!r} is taken for grades and left out; if it is a feature, name all of them with {option}"


def _hint() -> str:
    return advice(
        "; name the feature columns with features=, or the column of document ids with document_id=",
        "; name the feature columns with --features, or the column of document ids with --document-column",
    )


def _columns_with_numbers(tables: Sequence[Table], named: Sequence[str]) -> list[str]:
    """Return the columns to take as features: all others that hold a number; warn of those that do not."""
    others = [name for name in tables[0].columns if name not in named]
    features = [name for name in others if any(_has_numbers(table, name) for table in tables)]
    left_out = [name for name in others if name not in features]
    if left_out:
        listed = ", ".join(map(repr, left_out))
        where = ", ".join(str(table.path) for table in tables)
        warnings.warn(f"{where}: columns without numbers are left out: {listed}", LeftOutWarning, stacklevel=3)
    return features


def _has_numbers(table: Table, name: str) -> bool:
    if table.schema[name] != pl.String:
        return True  # or an error: dates, say, are neither numbers nor text
    return bool(table.read([name])[name].str.strip_chars().cast(pl.Float64, strict=False).is_not_null().any())


def write_table(queries: Queries, path: FilePath) -> None:
    """Write queries as a table for :func:`podium.read_table`: CSV, TSV (``.tsv``) or Parquet, by the file's name.

    The columns are ``qid``, ``document_id`` and ``label`` where there are any, and the features by their names, else
    ``feature_1``, ``feature_2``, … Rows are in the grouped order. The file is written completely or not at all, as a
    gzip file if its name ends in ``.gz``.

    Parameters
    ----------
    queries : Queries
        What to write.
    path : path
        The file.

    Examples
    --------
    >>> import podium, tempfile
    >>> from pathlib import Path
    >>> path = Path(tempfile.mkdtemp(), "train.csv")
    >>> podium.write_table(podium.Queries([[0.5, 3.0]], labels=[2], qid=["q1"], feature_names=["bm25", "age"]), path)
    >>> print(path.read_text(), end="")
    qid,label,bm25,age
    q1,2,0.5,3.0
    """
    features = queries.features if isinstance(queries.features, np.ndarray) else queries.features.toarray()
    names = [feature_identifier(j, queries.feature_names) for j in range(queries.n_features)]
    columns: dict[str, Any] = {"qid": queries.qids[queries.query_of_document]}
    if queries.document_ids is not None:
        columns[DOCUMENT_ID] = queries.document_ids
    if queries.has_labels:
        whole = bool((queries.labels == np.floor(queries.labels)).all())
        columns["label"] = queries.labels.astype(np.int64) if whole else queries.labels
    clash = next((name for name in names if name in columns), None)
    if clash is not None:
        raise ValueError(f"a feature is named {clash!r}, like the table's column of that name: rename the feature")
    columns = {name: pl.Series(name, values.tolist()) for name, values in columns.items()}
    frame = pl.DataFrame(columns | {name: features[:, j] for j, name in enumerate(names)})
    with writing(path) as file:
        if suffix_of(path) in (".parquet", ".pq"):
            frame.write_parquet(file)
        else:
            frame.write_csv(file, separator="," if suffix_of(path) == ".csv" else "\t")


def suffix_of(path: FilePath) -> str:
    """Return the last suffix of a file's name, in lower case, apart from ``.gz``."""
    suffixes = [suffix.lower() for suffix in Path(path).suffixes if suffix.lower() != ".gz"]
    return suffixes[-1] if suffixes else ""


def read_times(path: FilePath, column: str, qid: str = "qid") -> dict[str, int]:
    """Return each query's rank in time, by query id.

    The column may hold numbers, dates or text that sorts by time (ISO 8601). A query's time is that of its latest row.
    """
    frame = read_frame(path, [qid])
    with naming(path):
        require_columns(frame, [qid, column])
        if frame[column].null_count():
            row = int(frame[column].is_null().arg_max() or 0)
            raise ValueError(f"column {column!r}, row {row} (from 0): a time is missing")
    latest = frame.group_by(pl.col(qid).cast(pl.String)).agg(pl.col(column).max())
    ranks = latest[column].rank("dense").cast(pl.Int64)
    return dict(zip(latest[qid], ranks, strict=True))


@contextmanager
def naming(*paths: FilePath) -> Iterator[None]:
    """Prefix errors raised within the context with the names of these files."""
    try:
        yield
    except ValueError as error:
        raise ValueError(f"{', '.join(map(str, paths))}: {error}") from None


def read_frame(path: FilePath, id_columns: Sequence[str | None] | None) -> pl.DataFrame:
    """Read a CSV or Parquet file; these columns of a CSV file, or all if None, are text whatever they look like."""
    if first_bytes(path).startswith(MAGIC):
        return read_parquet(path)
    # Not mapped into memory: a file that shrinks then would end the process.
    return read_csv(path, read_bytes(path), csv_header(path), id_columns)


def read_csv(
    path: FilePath,
    content: bytes,
    header: tuple[str, list[str]],
    id_columns: Sequence[str | None] | None,
    lines_before: int = 0,
) -> pl.DataFrame:
    """Return the table in the content of a CSV file, header included, which may begin after so many lines of it."""
    separator, names = header
    require_line_ends(path, content, lines_before)
    require_whole_quotes(path, content, separator, lines_before)
    # Ids are text: read as numbers, "007" and "7" would be one.
    overrides = {name: pl.String for name in names if id_columns is None or name in id_columns}
    try:
        frame = pl.read_csv(content, separator=separator, schema_overrides=overrides, infer_schema_length=None)
    except BaseException as error:
        if not isinstance(error, pl.exceptions.PolarsError) and type(error).__name__ != "PanicException":
            raise
        problem = _describe_bad_line(path, decoded(path, content, lines_before), separator, len(names), lines_before)
        raise ValueError(problem or f"{path}: {error}"[:1000]) from None
    if frame.columns != names:
        raise ValueError(f"{path}:1: the header cannot be read for certain: {', '.join(names)[:200]}")
    # Fields that are missing at the end of a line are read like empty ones: a short line lacks the last.
    if frame.width and frame.to_series(-1).null_count():
        problem = _describe_bad_line(path, decoded(path, content, lines_before), separator, len(names), lines_before)
        if problem:
            raise ValueError(problem)
    return frame


def csv_header(path: FilePath) -> tuple[str, list[str]]:
    """Return the separator and the names of the columns of a CSV file."""
    line = decoded(path, first_line(path))
    if not line.strip():
        raise ValueError(f"{path}:1: the first line must name the columns, but it is empty")
    if line.count('"') % 2:  # where the header ends would depend on the reader
        raise ValueError(f"{path}:1: the line that names the columns has a quotation mark that is not closed in it")
    separator = _separator(line)
    _, names = next(_csv_lines(path, [line], separator))
    if len(set(names)) < len(names):
        repeated = Counter(names).most_common(1)[0][0]
        raise ValueError(f"{path}:1: two columns are named {repeated!r}; rename or remove one of them")
    return separator, names


def _csv_lines(path: FilePath, lines: Iterable[str], separator: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the number of the line that each row ends in, and its fields."""
    longest = csv.field_size_limit(limit("PODIUM_MAX_LINE_MB") << 20)
    rows = csv.reader(lines, delimiter=separator)
    try:
        for fields in rows:
            yield rows.line_num, fields
    except csv.Error as error:
        raise ValueError(f"{path}:{rows.line_num}: {error}") from None
    finally:
        csv.field_size_limit(longest)


def separator_of(path: FilePath) -> str:
    """Return the character that separates the columns of a CSV file, by its first line."""
    return _separator(decoded(path, first_line(path)))


def _separator(header: str) -> str:
    return max(SEPARATORS, key=header.count)


def _describe_bad_line(path: FilePath, text: str, separator: str, n_columns: int, lines_before: int) -> str:
    """Name the first line of a CSV file that has more or fewer fields than the header; return "" if there is none."""
    for number, fields in _csv_lines(path, io.StringIO(text, newline=""), separator):
        if fields and len(fields) != n_columns:
            return f"{path}:{lines_before + number}: {len(fields)} fields, but the header has {n_columns}"
    return ""


def integers_if_plain(ids: pl.Series) -> pl.Series:
    """Convert text ids to integers if all of them are written as those integers would be."""
    if ids.dtype != pl.String:
        return ids
    integers = ids.cast(pl.Int64, strict=False)
    plain = bool((integers.cast(pl.String) == ids).fill_null(False).all())
    return integers if plain else ids

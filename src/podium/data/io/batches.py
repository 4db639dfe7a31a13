"""Reading the documents of a file of any size, some at a time, for scoring them."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from podium.core.later import polars as pl
from podium.core.limits import limit
from podium.core.texts import as_texts
from podium.data.io.files import NEWLINE, FilePath, TextSource, first_bytes, text_pieces, too_long_a_line
from podium.data.io.formats import is_table, read_file
from podium.data.io.letor.reader import read_letor_part
from podium.data.io.parquet import MAGIC, ParquetFile
from podium.data.io.tables import DOCUMENT_ID, Table, csv_header, queries_of_tables, read_csv
from podium.data.queries import Queries

PIECE = 32 << 20
"""Bytes of text, or of the matrix of a Parquet file, that are read at a time."""


class Batch(NamedTuple):
    """Some consecutive rows of a file."""

    queries: Queries
    """In :attr:`Queries.order` of the file's rows; documents without ids have numbers, from 1 on over the file."""
    read: int
    """Bytes of the file read so far."""


def read_batches(
    path: FilePath,
    columns: Mapping[str, Any],
    *,
    n_features: int,
    features: Sequence[str] | None = None,
    whole_queries: bool,
) -> Iterator[Batch]:
    """Yield the documents of a file, without grades, in batches whose rows come one after another in the file.

    Parameters
    ----------
    columns : names of a table's columns, as :func:`podium.read_table` takes them
    n_features : the number of features in a LETOR file
    features : the feature columns of a table; by default all that hold numbers in its first rows
    whole_queries : bool
        Every batch has whole queries; a file in which rows of a query are too far apart for that is an error. A file
        that is read at once may have them in any order.
    """
    table = is_table(path)
    if columns and not table:
        read_file(path, columns)  # raises: columns are for tables
    pieces = _table_pieces(path, columns, features) if table else _letor_pieces(path, n_features)
    n_rows = 0
    for queries, read in _with_whole_queries(path, pieces) if whole_queries else pieces:
        if queries.document_ids is None:
            numbers = np.arange(n_rows + 1, n_rows + 1 + queries.n_documents)
            queries = queries.with_document_ids(queries.group(numbers))
        n_rows += queries.n_documents
        yield Batch(queries, read)
    if n_rows == 0:
        raise ValueError(f"no documents in {path}")


def _letor_pieces(path: FilePath, n_features: int) -> Iterator[tuple[Queries, int]]:
    for content, lines_before, read in _whole_lines(path, quotes=False):
        queries = read_letor_part(TextSource(path, content, lines_before), n_features)
        if queries is not None:
            yield queries, read


def _table_pieces(
    path: FilePath, columns: Mapping[str, Any], features: Sequence[str] | None
) -> Iterator[tuple[Queries, int]]:
    names = {"qid": "qid", "label": None, "document_id": DOCUMENT_ID, "features": features, **columns}
    frames = _parquet_frames if first_bytes(path).startswith(MAGIC) else _csv_frames
    first_row = 0
    for frame, read in frames(path, names):
        where = f"{path} (rows from {first_row} on)" if first_row else path
        first_row += frame.height
        if frame.height:
            queries = queries_of_tables([Table(where, frame)], **names)
            names["features"] = queries.feature_names
            yield queries, read


def _csv_frames(path: FilePath, names: Mapping[str, Any]) -> Iterator[tuple[Any, int]]:
    header, top = csv_header(path), b""
    for content, lines_before, read in _whole_lines(path, quotes=True):
        top = top or content.partition(NEWLINE)[0] + NEWLINE
        content = top + content if lines_before else content
        lines_before = max(lines_before - 1, 0)  # the header stands before each piece
        frame = read_csv(path, content, header, [names["qid"], names["document_id"]], lines_before)
        # A column without a single value in these rows looks like text.
        empty = [name for name in names["features"] or () if name in frame.columns and _is_empty(frame[name])]
        yield frame.with_columns(pl.col(empty).cast(pl.Float64)), read


def _is_empty(column: Any) -> bool:
    return bool(column.null_count() == len(column))


def _parquet_frames(path: FilePath, names: Mapping[str, Any]) -> Iterator[tuple[Any, int]]:
    size, file = Path(path).stat().st_size, ParquetFile(path)
    wanted = [names["qid"], names["document_id"], names["label"], *(names["features"] or file.schema)]
    chosen = [name for name in file.schema if name in wanted]
    step = max(1, PIECE // (8 * max(1, len(chosen))))
    for start in range(0, file.height, step):
        yield file.read(chosen, start, step), size * min(start + step, file.height) // file.height


def _whole_lines(path: FilePath, *, quotes: bool) -> Iterator[tuple[bytes, int, int]]:
    """Yield pieces of whole lines, the number of lines before them, and how much of the file was read.

    A line end between quotes, in a CSV file, ends no line.
    """
    rest, lines_before, read, longest = b"", 0, 0, limit("PODIUM_MAX_LINE_MB") << 20
    for block, read in text_pieces(path, PIECE):
        text = rest + block
        end = _end_of_whole_lines(text, quotes)
        if len(text) - end > longest:
            line = lines_before + text.count(NEWLINE, 0, end) + 1
            raise ValueError(f"{path}:{line}: {too_long_a_line(len(text) - end)}")
        if end:
            yield text[:end], lines_before, read
            lines_before += text.count(NEWLINE, 0, end)
        rest = text[end:]
    if rest.strip():
        yield rest, lines_before, read


def _end_of_whole_lines(text: bytes, quotes: bool) -> int:
    """Return where the last line that is complete ends."""
    end = text.rfind(NEWLINE) + 1
    odd = text.count(b'"', 0, end) % 2 if quotes else 0
    while odd and end:
        before = text.rfind(NEWLINE, 0, end - 1) + 1
        odd ^= text.count(b'"', before, end) % 2
        end = before
    return end


def _with_whole_queries(path: FilePath, pieces: Iterator[tuple[Queries, int]]) -> Iterator[tuple[Queries, int]]:
    """Hold back the query at the end of each piece but the last, since it may go on in the next."""
    seen: set[str] = set()
    held: _Rows | None = None
    n_rows, held_read = 0, 0
    for queries, read in pieces:
        if held is None:
            held, held_read = _Rows.of(queries), read
            continue
        same = held.qid == held.qid[-1]
        cut = 0 if same.all() else len(same) - int(np.argmin(same[::-1]))
        if cut:
            yield _new(path, held.part(0, cut), seen, n_rows), held_read
            n_rows += cut
        held, held_read = held.part(cut, len(same)).followed_by(_Rows.of(queries)), read
    if held is not None:
        yield _new(path, held, seen, n_rows), held_read


def _new(path: FilePath, rows: _Rows, seen: set[str], n_rows: int) -> Queries:
    """Return rows as queries; raise, naming the line, if one of them has been seen."""
    queries = rows.queries()
    texts = as_texts(queries.qids)
    again = [number for number, qid in enumerate(texts) if qid in seen]
    if again:
        place = queries.offsets[again[0]]
        row = n_rows + int(place if queries.order is None else queries.order[place])
        raise ValueError(
            f"{_place_of_row(path, row)}: query {texts[again[0]]} goes on here, far from its other documents, but a "
            "whole list is needed: sort the rows by query"
        )
    seen.update(texts)
    return queries


class _Rows(NamedTuple):
    """Rows in the order of the file."""

    features: np.ndarray
    qid: np.ndarray
    document_ids: np.ndarray | None
    feature_names: tuple[str, ...] | None

    @classmethod
    def of(cls, queries: Queries) -> _Rows:
        ids = None if queries.document_ids is None else queries.restore(queries.document_ids)
        qid = queries.restore(queries.qids[queries.query_of_document])
        features: Any = queries.restore(queries.features)
        return cls(features, qid, ids, queries.feature_names)

    def part(self, first: int, stop: int) -> _Rows:
        ids = None if self.document_ids is None else self.document_ids[first:stop]
        return _Rows(self.features[first:stop], self.qid[first:stop], ids, self.feature_names)

    def followed_by(self, others: _Rows) -> _Rows:
        ids = None
        if self.document_ids is not None or others.document_ids is not None:
            ids = np.concatenate([_ids(self), _ids(others)])
        qids = [rows.qid for rows in (self, others)]
        if qids[0].dtype.kind != qids[1].dtype.kind:  # plain integers in one piece, texts in the other
            qids = [np.array(as_texts(qid), dtype=object) for qid in qids]
        return _Rows(np.concatenate([self.features, others.features]), np.concatenate(qids), ids, self.feature_names)

    def queries(self) -> Queries:
        return Queries(self.features, qid=self.qid, document_ids=self.document_ids, feature_names=self.feature_names)


def _ids(rows: _Rows) -> np.ndarray:
    if rows.document_ids is None:
        return np.full(len(rows.qid), "", dtype=object)
    return rows.document_ids.astype(object)


def _place_of_row(path: FilePath, row: int) -> str:
    """Return the file and the line of a row, found by going through the file once more."""
    if first_bytes(path).startswith(MAGIC):
        return f"{path}, row {row} (from 0)"
    table = is_table(path)
    count = -1 if table else 0  # of rows so far; the header is none
    for content, lines_before, _ in _whole_lines(path, quotes=table):
        lines = content.decode("utf-8", "replace").split("\n")
        reader = csv.reader(lines) if table else None
        for number, line in enumerate(lines) if reader is None else ((reader.line_num - 1, row) for row in reader):
            counted = bool(line) if table else bool(str(line).strip()) and not str(line).lstrip().startswith("#")
            if counted and count == row:
                return f"{path}:{lines_before + number + 1}"
            count += counted
    return f"{path}, row {row} (from 0)"

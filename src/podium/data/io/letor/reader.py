"""Reading files in the LETOR / SVMlight format: ``grade qid:ID 1:0.5 2:0.1 … #docid = X``."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse as scipy_sparse

from podium.data.io.files import FilePath, error_at, flat_paths, open_text, token_at
from podium.data.io.letor import kernels
from podium.data.io.parsing.lines import chunks_of_lines, end_of_line, strings
from podium.data.queries import Queries
from podium.numerics.pool import each

__all__ = ["read_letor"]


def read_letor(
    *paths: FilePath | Sequence[FilePath],
    n_features: int | None = None,
    dtype: Any = np.float32,
    sparse: bool = False,
    zero_based: bool = False,
    group: Any = None,
) -> Queries:
    """Read one or several files, plain or gzipped, as one set of queries.

    Parameters
    ----------
    *paths
        Files, or lists of files. The documents of a query need not be consecutive, nor even in one file.
    n_features : int, optional
        Number of features, by default the largest index found. If given, larger indices are errors.
    dtype : numpy.float32 or numpy.float64
        Type of the features. Each value is what ``float(text)`` gives, cast to this type.
    sparse : bool
        Return the features as a SciPy CSR matrix instead of an array. Zeros written in the file are stored.
    zero_based : bool
        The first feature has index 0. By default it has index 1 as in LETOR, and an index 0 is an error.
    group : path, list of paths, or sequence of int, optional
        For files without ``qid:``: the number of documents of each query, in order, as an array or as a file with one
        number per line (one file for each data file). By default, the file ``data.txt.query`` next to ``data.txt``.

    Returns
    -------
    Queries
        ``qids`` are int64 if all ids are plain integers, else strings. ``document_ids`` are strings from the comments:
        the id in ``#docid = ID …``, else the whole comment; empty where a line has none, and None if no line has one.

    Notes
    -----
    The indices of a line may come in any order, but none twice. Features may be ``nan`` and ``inf``, grades must be
    finite. Blank lines and lines that hold only a comment are skipped; lines may end in ``\\n`` or ``\\r\\n``. A file
    must not change while it is read. Errors name file and line.
    """
    if np.dtype(dtype) not in (np.float32, np.float64):
        raise ValueError(f"dtype must be numpy.float32 or numpy.float64; got {dtype!r}")
    if n_features is not None and n_features < 1:
        raise ValueError(f"n_features must be positive; got {n_features}")
    files = _survey(list(flat_paths(paths)))
    rows = _make_rows(sum(file.n_documents for file in files))
    first = 0 if zero_based else 1
    read = _read_sparse if sparse else _read_dense
    features = read(files, rows, n_features, np.dtype(dtype), first)
    ids: dict[str, Any] = {"document_ids": _document_ids(files, rows)}
    if _have_qids(files, rows):
        if group is not None:
            raise ValueError(f"{files[0].path} has query ids (qid:…); group= is for files without them")
        ids["qid"] = _qids(files, rows)
    else:
        ids["sizes"] = _sizes(files, group)
    return Queries(features, rows.labels, **ids)


@dataclass(slots=True)
class _File:
    """A file and what the first pass counted in it."""

    path: FilePath
    buffer: np.ndarray
    chunks: list[tuple[int, int]]
    counts: np.ndarray
    """(n_chunks, 3): documents, features, largest last index of a line."""
    first_row: int
    first_slot: int
    plain_qids: bool = True

    @property
    def n_documents(self) -> int:
        return int(self.counts[:, 0].sum())

    @property
    def rows(self) -> slice:
        return slice(self.first_row, self.first_row + self.n_documents)


def _survey(paths: list[FilePath]) -> list[_File]:
    files: list[_File] = []
    row = slot = 0
    for path in paths:
        buffer = open_text(path)
        chunks = chunks_of_lines(buffer)
        counts = each(kernels.survey, [(buffer, *chunk) for chunk in chunks])
        files.append(_File(path, buffer, chunks, np.array(counts, np.int64).reshape(-1, 3), row, slot))
        row += files[-1].n_documents
        slot += int(files[-1].counts[:, 1].sum())
    if row == 0:
        raise ValueError(f"no documents in {', '.join(map(str, paths)) or 'no files'}")
    return files


def _make_rows(n: int) -> kernels.Rows:
    integers = [np.empty(n, np.int64) for _ in range(6)]
    return kernels.Rows._make([np.empty(n), *integers, np.empty(n, bool)])


def _read_dense(
    files: list[_File], rows: kernels.Rows, n_features: int | None, dtype: np.dtype, first: int
) -> np.ndarray:
    n = len(rows.labels)
    width = n_features
    if width is None:
        width = max(0, *(int(file.counts[:, 2].max(initial=-1)) + 1 - first for file in files))
    while True:
        _require_memory(n, width, dtype)
        matrix = np.zeros((n, width), dtype)
        nothing = np.empty(0, np.int32)
        values = kernels.Values(matrix.reshape(-1), nothing, nothing, width)
        needed = _parse(files, rows, values, n_features, first)
        if needed <= width:
            break
        width = needed  # the last index of a line was not its largest
    for row, indices, numbers in _parsed_by_python(files, rows):
        with np.errstate(over="ignore"):  # values beyond float32 become infinite, as in the compiled parser
            matrix[row, indices - first] = numbers
    return matrix


def _read_sparse(
    files: list[_File], rows: kernels.Rows, n_features: int | None, dtype: np.dtype, first: int
) -> scipy_sparse.csr_matrix:
    n = len(rows.labels)
    n_values = sum(int(file.counts[:, 1].sum()) for file in files)
    indptr = np.zeros(n + 1, np.int32 if n_values <= np.iinfo(np.int32).max else np.int64)
    data, indices = np.empty(n_values, dtype), np.empty(n_values, np.int32)
    needed = _parse(files, rows, kernels.Values(data, indices, indptr[1:], -1), n_features, first)
    for row, _, numbers in _parsed_by_python(files, rows):
        with np.errstate(over="ignore"):
            data[indptr[row] : indptr[row + 1]] = numbers
    matrix = scipy_sparse.csr_matrix((data, indices, indptr), shape=(n, n_features or needed))
    matrix.sort_indices()
    return matrix


def _require_memory(n: int, width: int, dtype: np.dtype) -> None:
    """Refuse a matrix that cannot fit: one stray large index asks for more memory than any machine has."""
    size = n * width * dtype.itemsize
    if hasattr(os, "sysconf") and size > os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"):
        raise ValueError(
            f"{n} documents × {width} features would take {size / 2**30:.0f} GB, more than this machine has; "
            "pass sparse=True, or n_features= to find indices that are too large"
        )


def _parse(files: list[_File], rows: kernels.Rows, values: kernels.Values, n_features: int | None, first: int) -> int:
    """Parse all files into the arrays; return the number of columns that were needed."""
    limit = n_features or kernels.LARGEST_INDEX + 1
    needed = 0
    for file in files:
        row = file.first_row + np.cumsum(file.counts[:, 0]) - file.counts[:, 0]
        slot = file.first_slot + np.cumsum(file.counts[:, 1]) - file.counts[:, 1]
        starts = zip(file.chunks, row.tolist(), slot.tolist(), strict=True)
        tasks = [(file.buffer, *chunk, r, s, first, limit, rows, values) for chunk, r, s in starts]
        for problem, position, plain_qids, n_columns in each(kernels.parse, tasks):
            if problem != kernels.NO_PROBLEM:
                raise _problem(file, problem, position, n_features)
            file.plain_qids &= plain_qids
            needed = max(needed, n_columns)
    return needed


def _problem(file: _File, problem: int, position: int, n_features: int | None) -> ValueError:
    token = repr(token_at(file.buffer, position))
    messages = {
        kernels.BAD_LABEL: f"the grade {token} is not a number; a line reads 'grade qid:ID index:value …'",
        kernels.LABEL_NOT_FINITE: f"the grade is {token}; grades must be finite",
        kernels.EMPTY_QID: "the query id after 'qid:' is missing",
        kernels.MISPLACED_QID: f"{token} must come once, right after the grade",
        kernels.BAD_INDEX: f"{token} is not a feature of the form index:value",
        kernels.INDEX_ZERO: f"{token} has index 0; pass zero_based=True if the first feature has index 0",
        kernels.INDEX_TOO_LARGE: f"the index of {token} is larger than {kernels.LARGEST_INDEX}",
        kernels.INDEX_BEYOND: f"the index of {token} is beyond n_features={n_features}",
        kernels.REPEATED_INDEX: f"the index of {token} occurs twice in this line",
        kernels.BAD_VALUE: f"the value of {token} is not a number",
    }
    return error_at(file.path, file.buffer, position, messages[problem])


def _parsed_by_python(files: list[_File], rows: kernels.Rows) -> Iterator[tuple[int, np.ndarray, list[float]]]:
    """Yield row, indices and values of the few lines with a number of which the compiled parser was not sure."""
    for file in files:
        for row in (file.first_row + np.flatnonzero(rows.unsure[file.rows])).tolist():
            start = int(rows.line_start[row])
            line = file.buffer[start : end_of_line(file.buffer, start)].tobytes()
            label, *features = line.partition(b"#")[0].split()
            rows.labels[row] = float(label)
            if not np.isfinite(rows.labels[row]):
                raise _problem(file, kernels.LABEL_NOT_FINITE, start + line.index(label), None)
            pairs = [feature.split(b":") for feature in features if not feature.startswith(b"qid:")]
            yield row, np.array([int(index) for index, _ in pairs], np.int64), [float(value) for _, value in pairs]


def _have_qids(files: list[_File], rows: kernels.Rows) -> bool:
    """Return whether the lines have query ids; raise if only some of them do."""
    missing = rows.qid_start < 0
    if missing.all():
        return False
    for file in files:
        lines = rows.line_start[file.rows][missing[file.rows]]
        if len(lines):
            raise error_at(
                file.path, file.buffer, int(lines[0]), "no 'qid:…' after the grade, though other lines have it"
            )
    return True


def _qids(files: list[_File], rows: kernels.Rows) -> np.ndarray:
    if all(file.plain_qids for file in files):
        return rows.qid
    return np.concatenate([strings(f.buffer, rows.qid_start[f.rows], rows.qid_stop[f.rows]) for f in files])


def _document_ids(files: list[_File], rows: kernels.Rows) -> np.ndarray | None:
    if (rows.comment_start == rows.comment_stop).all():
        return None
    return np.concatenate([strings(f.buffer, rows.comment_start[f.rows], rows.comment_stop[f.rows]) for f in files])


def _sizes(files: list[_File], group: Any) -> np.ndarray:
    """Return the number of documents of each query, from the caller or from side files."""
    if group is None:
        group = [_side_file(file.path) for file in files]
        missing = [str(path) for path in group if not path.exists()]
        if missing:
            raise ValueError(
                f"{files[0].path} has no query ids (qid:…), and there is no {' or '.join(missing)}; "
                "pass group= with the number of documents of each query, or a file that lists them"
            )
    if isinstance(group, (str, os.PathLike)):
        group = [group]
    if not all(isinstance(path, (str, os.PathLike)) for path in group):
        return np.asarray(group)
    if len(group) != len(files):
        raise ValueError(f"group= names {len(group)} files for {len(files)} data files; give one for each")
    return np.concatenate([_read_sizes(path, file) for path, file in zip(group, files, strict=True)])


def _side_file(path: FilePath) -> Path:
    """Return ``rank.train.query`` for ``rank.train`` and ``rank.train.gz``."""
    path = Path(path)
    return Path(f"{path.with_suffix('') if path.suffix.lower() == '.gz' else path}.query")


def _read_sizes(path: FilePath, file: _File) -> np.ndarray:
    lines = open_text(path).tobytes().split(b"\n")
    sizes = []
    for number, line in enumerate(lines, 1):
        if text := line.strip():
            if not text.isdigit():
                raise ValueError(f"{path}:{number}: {text.decode('utf-8', 'replace')!r} is not a number of documents")
            sizes.append(int(text))
    if sum(sizes) != file.n_documents:
        raise ValueError(f"{path}: the sizes add up to {sum(sizes)}, but {file.path} has {file.n_documents} documents")
    return np.array(sizes, np.int64)

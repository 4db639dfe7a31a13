"""Reading files in the LETOR / SVMlight format: ``grade qid:ID 1:0.5 2:0.1 … #docid = X``."""

import os
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse as scipy_sparse

from podium.core.limits import allowed_bytes, limit, raise_limit
from podium.core.wording import advice
from podium.data.io.files import FilePath, TextSource, changed, flat_paths, not_utf8, read_bytes
from podium.data.io.letor import kernels
from podium.data.io.parsing.lines import chunks_of_lines, strings
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
    labeled: bool = True,
) -> Queries:
    """Read one or several files, plain or gzipped, as one set of queries.

    Parameters
    ----------
    *paths : path or sequence of paths
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
    labeled : bool
        False reads documents without their grades, and also takes lines that have none: ``qid:ID 1:0.5 …``.

    Returns
    -------
    Queries
        ``qids`` are int64 if all ids are plain integers, else strings. ``document_ids`` are strings from the comments:
        the id in ``#docid = ID …``, else the whole comment; empty where a line has none, and None if no line has one.

    Notes
    -----
    The indices of a line may come in any order, but none twice. Features may be ``nan`` and ``inf``, grades must be
    finite. Blank lines and lines that hold only a comment are skipped; lines may end in ``\\n`` or ``\\r\\n``. Errors
    name file and line. How much a file may ask for is limited: see the page on files.

    Examples
    --------
    >>> import podium, tempfile
    >>> from pathlib import Path
    >>> path = Path(tempfile.mkdtemp(), "train.txt")
    >>> _ = path.write_text("2 qid:10 1:0.5 2:1 #docid = a\\n0 qid:10 1:0.25 #docid = b\\n")
    >>> queries = podium.read_letor(path)
    >>> queries.qids.tolist(), queries.labels.tolist(), queries.features.tolist(), queries.document_ids.tolist()
    ([10], [2.0, 0.0], [[0.5, 1.0], [0.25, 0.0]], ['a', 'b'])
    """
    if np.dtype(dtype) not in (np.float32, np.float64):
        raise ValueError(f"dtype must be numpy.float32 or numpy.float64; got {dtype!r}")
    if n_features is not None and n_features < 1:
        raise ValueError(f"n_features must be positive; got {n_features}")
    sources = [TextSource(path) for path in flat_paths(paths)]
    reader = _Reader(sources, n_features, index_base=0 if zero_based else 1, labeled=labeled)
    features = reader.read_sparse(dtype) if sparse else reader.read_dense(dtype)
    labels, ids = reader.rows.labels if labeled else None, reader.document_ids()
    if not reader.have_qids():
        sizes = _sizes(reader.paths, np.diff(reader.row_starts).tolist(), group)
        return Queries(features, labels, sizes=sizes, document_ids=ids)
    if group is not None:
        raise ValueError(f"{reader.paths[0]} has query ids (qid:…); group= is for files without them")
    make = Queries if sparse else Queries.of_own_rows
    return make(features, labels, qid=reader.qids(), document_ids=ids)


def read_letor_part(source: TextSource, n_features: int) -> Queries | None:
    """Read documents without their grades from a part of a file; None if there are none in it.

    Where lines have no query ids, all documents are one query.
    """
    if not kernels.survey(source.span(source.start, source.stop), source.start, source.stop)[0]:
        return None
    reader = _Reader([source], n_features, index_base=1, labeled=False)
    features = reader.read_dense(np.float32)
    if not reader.have_qids():
        return Queries(features, sizes=[len(features)], document_ids=reader.document_ids())
    return Queries.of_own_rows(features, qid=reader.qids(), document_ids=reader.document_ids())


class _Reader:
    """The files, what the first pass counts in them, and what the second pass finds besides features."""

    def __init__(self, sources: list[TextSource], n_features: int | None, index_base: int, labeled: bool) -> None:
        self.sources, self.n_features, self.index_base, self.labeled = sources, n_features, index_base, labeled
        self.paths = paths = [source.path for source in sources]
        self.chunks = [(file, *span) for file, source in enumerate(self.sources) for span in chunks_of_lines(source)]
        counts = each(self._survey, self.chunks)
        self.counts = np.array(counts, np.int64).reshape(-1, 3)  # documents, features, largest last index of a line
        self.n_documents, self.n_values = self.counts[:, :2].sum(axis=0).tolist()
        if self.n_documents == 0:
            raise ValueError(f"no documents in {', '.join(map(str, paths)) or 'no files'}")
        chunk_starts = np.searchsorted([file for file, *_ in self.chunks], range(len(paths) + 1))
        self.row_starts = np.append(0, np.cumsum(self.counts[:, 0]))[chunk_starts]
        integers = [np.empty(self.n_documents, np.int64) for _ in range(6)]
        self.rows = kernels.Rows._make([np.empty(self.n_documents), *integers, np.empty(self.n_documents, bool)])

    def _survey(self, file: int, start: int, stop: int) -> tuple[int, int, int]:
        return kernels.survey(self.sources[file].passing(start, stop), 0, stop - start)

    def read_dense(self, dtype: Any) -> np.ndarray:
        width = self.n_features or max(0, int(self.counts[:, 2].max()) + 1 - self.index_base)
        while True:
            self._require_memory(width, np.dtype(dtype).itemsize)
            matrix = np.zeros((self.n_documents, width), dtype)
            nothing = np.empty(0, np.int32)
            needed = self._parse(matrix.reshape(-1), nothing, nothing, width)
            if needed <= width:
                break
            width = needed  # the last index of a line was not its largest
        for row, indices, numbers in self._parsed_by_python():
            with np.errstate(over="ignore"):  # values beyond float32 become infinite, as in the compiled parser
                matrix[row, indices - self.index_base] = numbers
        return matrix

    def read_sparse(self, dtype: Any) -> scipy_sparse.csr_matrix:
        indptr = np.zeros(self.n_documents + 1, np.int32 if self.n_values <= np.iinfo(np.int32).max else np.int64)
        data, indices = np.empty(self.n_values, dtype), np.empty(self.n_values, np.int32)
        needed = self._parse(data, indices, indptr[1:], -1)
        for row, _, numbers in self._parsed_by_python():
            with np.errstate(over="ignore"):
                data[indptr[row] : indptr[row + 1]] = numbers
        shape = (self.n_documents, self.n_features or needed)
        matrix = scipy_sparse.csr_matrix((data, indices, indptr), shape=shape)
        matrix.sort_indices()
        return matrix

    def _require_memory(self, width: int, itemsize: int) -> None:
        """Refuse a matrix that cannot fit, or that the files do not justify: one stray large index is enough for it."""
        size = self.n_documents * width * itemsize
        what = f"{', '.join(map(str, self.paths))}: {self.n_documents} documents × {width} features would take"
        if self.n_features is None and size > allowed_bytes(sum(source.stop for source in self.sources)):
            raise ValueError(
                f"{what} {size / 2**30:.1f} GB, many times the size of the text; "
                + advice("pass sparse=True, or n_features=, if the indices are right; or ", "")
                + raise_limit("PODIUM_MAX_MB", (size >> 20) + 1)
            )
        if hasattr(os, "sysconf") and size > os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"):
            raise ValueError(
                f"{what} {size / 2**30:.0f} GB, more than this machine has; "
                + advice("pass sparse=True, or n_features= to find indices that are too large", "an index is too large")
            )

    def _parse(self, data: np.ndarray, indices: np.ndarray, row_stop: np.ndarray, width: int) -> int:
        """Parse all files into the arrays; return the number of columns that were needed."""
        limit = self.n_features or kernels.LARGEST_INDEX + 1
        values = kernels.Values(data, indices, row_stop, width, self.index_base, limit, self.labeled)
        results = each(self._parse_chunk, [(number, values) for number in range(len(self.chunks))])
        for (file, start, _), (problem, position, *_) in zip(self.chunks, results, strict=True):
            if problem != kernels.NO_PROBLEM:
                raise self._problem(file, problem, start + position)
        self.plain_qids = all(plain for _, _, plain, _ in results)
        return max(n_columns for *_, n_columns in results)

    def _parse_chunk(self, number: int, values: kernels.Values) -> tuple[int, int, bool, int]:
        """Parse one chunk; in ``self.rows``, positions are those in its file."""
        file, start, stop = self.chunks[number]
        content = self.sources[file].passing(start, stop)
        n_documents, n_values, _ = self.counts[number].tolist()
        if kernels.survey(content, 0, len(content))[:2] != (n_documents, n_values):  # the arrays are made for so many
            raise changed(self.paths[file])
        row, slot = self.counts[:number, :2].sum(axis=0).tolist()
        result = kernels.parse(content, 0, len(content), row, slot, self.rows, values)
        own = slice(row, row + n_documents)
        for positions in (self.rows.line_start, self.rows.qid_stop, self.rows.comment_start, self.rows.comment_stop):
            positions[own] += start
        self.rows.qid_start[own] += np.where(self.rows.qid_start[own] >= 0, start, 0)
        return result

    def _problem(self, file: int, problem: int, position: int) -> ValueError:
        token = repr(self.sources[file].token_at(position))
        messages = {
            kernels.BAD_LABEL: f"the grade {token} is not a number; a line reads 'grade qid:ID index:value …'",
            kernels.LABEL_NOT_FINITE: f"the grade is {token}; grades must be finite",
            kernels.NO_QID: "no 'qid:…' after the grade, though other lines have it",
            kernels.EMPTY_QID: "the query id after 'qid:' is missing",
            kernels.MISPLACED_QID: f"{token} must come once, right after the grade",
            kernels.BAD_INDEX: f"{token} is not a feature of the form index:value",
            kernels.INDEX_ZERO: f"{token} has index 0; "
            + advice("pass zero_based=True if the first feature has index 0", "features are numbered from 1"),
            kernels.INDEX_TOO_LARGE: f"the index of {token} is larger than {kernels.LARGEST_INDEX}",
            kernels.INDEX_BEYOND: f"the index of {token} is beyond "
            + advice(f"n_features={self.n_features}", f"the last feature, {self.n_features}"),
            kernels.REPEATED_INDEX: f"the index of {token} occurs twice in this line",
            kernels.BAD_VALUE: f"the value of {token} is not a number",
        }
        return self.sources[file].error_at(position, messages[problem])

    def _file_of(self, row: int) -> int:
        return int(np.searchsorted(self.row_starts, row, side="right")) - 1

    def _parsed_by_python(self) -> Iterator[tuple[int, np.ndarray, list[float]]]:
        """Yield row, indices and values of the few lines with a number of which the compiled parser was not sure."""
        for row in np.flatnonzero(self.rows.unsure).tolist():
            source, start = self.sources[self._file_of(row)], int(self.rows.line_start[row])
            line = source.span(start, source.end_of_line(start)).tobytes()
            features = line.partition(b"#")[0].split()
            if self.labeled or b":" not in features[0]:
                label = features.pop(0)
                self.rows.labels[row] = float(label)
                if not np.isfinite(self.rows.labels[row]):
                    raise self._problem(self._file_of(row), kernels.LABEL_NOT_FINITE, start + line.index(label))
            pairs = [feature.split(b":") for feature in features if not feature.startswith(b"qid:")]
            yield row, np.array([int(index) for index, _ in pairs], np.int64), [float(value) for _, value in pairs]

    def have_qids(self) -> bool:
        """Return whether the lines have query ids; raise if only some of them do."""
        missing = np.flatnonzero(self.rows.qid_start < 0)
        if 0 < len(missing) < self.n_documents:
            raise self._problem(self._file_of(missing[0]), kernels.NO_QID, int(self.rows.line_start[missing[0]]))
        return len(missing) == 0

    def qids(self) -> np.ndarray:
        return self.rows.qid if self.plain_qids else self._strings(self.rows.qid_start, self.rows.qid_stop)

    def document_ids(self) -> np.ndarray | None:
        starts, stops = self.rows.comment_start, self.rows.comment_stop
        return None if (starts == stops).all() else self._strings(starts, stops)

    def _strings(self, starts: np.ndarray, stops: np.ndarray) -> np.ndarray:
        lengths, longest = stops - starts, limit("PODIUM_MAX_ID")
        if lengths.max() > longest:
            row = int(lengths.argmax())
            problem = f"an id of {lengths[row]} bytes; {raise_limit('PODIUM_MAX_ID', int(lengths[row]))}"
            raise self.sources[self._file_of(row)].error_at(int(starts[row]), problem)
        rows = pairwise(np.append(0, np.cumsum(self.counts[:, 0])).tolist())
        spans = zip(self.chunks, rows, strict=True)
        parts = [self._strings_of(chunk, starts[a:b], stops[a:b]) for chunk, (a, b) in spans]
        even = len({part.dtype.kind for part in parts}) == 1  # else NumPy would make fixed widths of Python's strings
        return np.concatenate(parts if even else [part.astype(object) for part in parts])

    def _strings_of(self, chunk: tuple[int, int, int], starts: np.ndarray, stops: np.ndarray) -> np.ndarray:
        file, start, stop = chunk
        content = self.sources[file].passing(start, stop)
        try:
            return strings(content, starts - start, stops - start)
        except UnicodeDecodeError as error:
            position = start + content.tobytes().find(error.object)  # the piece itself or the same one before it
            where = str(self.sources[file].error_at(position, "")).removesuffix(": ")
            raise not_utf8(where, error.object[error.start]) from None


def _sizes(paths: list[FilePath], n_documents: list[int], group: Any) -> np.ndarray:
    """Return the number of documents of each query, from the caller or from side files."""
    if group is None:
        group = [_side_file(path) for path in paths]
        missing = [str(path) for path in group if not path.exists()]
        if missing:
            raise ValueError(
                f"{paths[0]} has no query ids (qid:…), and there is no {' or '.join(missing)}; "
                + advice(
                    "pass group= with the number of documents of each query, or a file that lists them",
                    "it lists the number of documents of each query, one per line",
                )
            )
    if isinstance(group, (str, os.PathLike)):
        group = [group]
    if not all(isinstance(path, (str, os.PathLike)) for path in group):
        return np.asarray(group)
    if len(group) != len(paths):
        raise ValueError(f"group= names {len(group)} files for {len(paths)} data files; give one for each")
    return np.concatenate([_read_sizes(*files) for files in zip(group, paths, n_documents, strict=True)])


def _side_file(path: FilePath) -> Path:
    """Return ``rank.train.query`` for ``rank.train`` and ``rank.train.gz``."""
    path = Path(path)
    return Path(f"{path.with_suffix('') if path.suffix.lower() == '.gz' else path}.query")


def _read_sizes(path: FilePath, data: FilePath, n_documents: int) -> np.ndarray:
    sizes = []
    for number, line in enumerate(read_bytes(path).split(b"\n"), 1):
        if text := line.strip():
            if not text.isdigit():
                raise ValueError(f"{path}:{number}: {text.decode('utf-8', 'replace')!r} is not a number of documents")
            sizes.append(int(text))
    if sum(sizes) != n_documents:
        raise ValueError(f"{path}: the sizes add up to {sum(sizes)}, but {data} has {n_documents} documents")
    return np.array(sizes, np.int64)

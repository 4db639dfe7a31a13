"""Some queries of a data set, whose rows stay where they are: folds of large data are numbers of rows, not copies."""

from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any, Self
from uuid import uuid4

import numpy as np

from podium.data.features import Features, first_not_finite
from podium.data.queries import Queries

LARGE = 64 * 2**20
"""Bytes of features from which on parts of a data set are rows of its matrix; smaller parts are copies."""
_ROWS = 2**13


class SharedMatrix:
    """The features of all documents of a data set, in memory or in a file that any process maps into its own."""

    def __init__(self, rows: np.ndarray | None, path: Path | None = None) -> None:
        self._rows, self.path = rows, path

    @property
    def rows(self) -> np.ndarray:
        """(n_documents, n_features)"""
        if self._rows is None:
            assert self.path is not None
            self._rows = mapped_array(self.path)
        return self._rows

    def move_to(self, path: Path) -> None:
        """Write the matrix to a file and map that, unless it is in one; what it took of memory is free then."""
        if self.path is None or not self.path.exists():
            write_rows(path, self.rows.shape, self.rows.dtype, _slices(self.rows))
            self._rows, self.path = mapped_array(path), path  # mapped at once: the file may be removed meanwhile


class IndexedQueries(Queries):
    """Queries that read the rows of a shared matrix.

    Linear models and trees read the rows a few at a time. For everything else :attr:`features` is a matrix of these
    queries alone, made when it is first read.
    """

    matrix: SharedMatrix
    rows: np.ndarray
    """(n_documents,) the row of each document in the matrix; a query has consecutive ones."""
    own_file: Path | None
    """Where to put the matrix of these queries alone if it is asked for; in memory if None."""

    @classmethod
    def made(cls, queries: Queries, matrix: SharedMatrix, rows: np.ndarray, own_file: Path | None = None) -> Self:
        """Return the same queries with rows of the matrix as their features."""
        made = object.__new__(cls)
        made.__dict__.update({name: value for name, value in queries.__dict__.items() if name != "features"})
        made.matrix, made.rows, made.own_file = matrix, rows, own_file
        return made

    @cached_property
    def features(self) -> Features:  # type: ignore[override]
        if self.own_file is None:
            return self.read(0, self.n_documents)
        if not self.own_file.exists():
            shape = self.n_documents, self.n_features
            write_rows(self.own_file, shape, self.dtype, self.blocks())
        return mapped_array(self.own_file)

    def read(self, start: int, stop: int) -> np.ndarray:
        """Return a copy of the features of the documents ``start:stop``."""
        return self.matrix.rows[self.rows[start:stop]]

    def blocks(self) -> Iterator[np.ndarray]:
        """Yield copies of the features of all documents, some at a time."""
        for start in range(0, self.n_documents, _ROWS):
            yield self.read(start, start + _ROWS)

    @property
    def n_features(self) -> int:
        return int(self.matrix.rows.shape[1])

    @property
    def n_values(self) -> int:
        return self.n_documents * self.n_features

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.matrix.rows.dtype

    @property
    def is_sparse(self) -> bool:
        return False

    def _first_not_finite(self) -> tuple[int, int, float] | None:
        start = 0
        for block in self.blocks():
            found = first_not_finite(block)
            if found is not None:
                return start + found[0], *found[1:]
            start += len(block)
        return None

    def _selected_features(self, rows: Any) -> dict[str, Any]:
        return {"rows": self.rows[rows], "own_file": None}

    def _replace(self, **changes: Any) -> Self:
        copy = super()._replace(**changes)
        if "features" in changes:
            plain: Any = object.__new__(Queries)
            own = ("matrix", "rows", "own_file")
            plain.__dict__.update({name: value for name, value in copy.__dict__.items() if name not in own})
            return plain
        if "rows" in changes:
            copy.__dict__.pop("features", None)
        return copy


def indexed(queries: Queries) -> Queries:
    """Return the queries as rows of a shared matrix if they are large, so that parts of them are not copies."""
    if not isinstance(queries.features, np.ndarray) or queries.features.nbytes < LARGE:
        return queries
    return IndexedQueries.made(queries, SharedMatrix(queries.features), np.arange(queries.n_documents))


def mapped_array(path: Path) -> np.ndarray:
    """Return the array in a file, read when touched. Copy-on-write: kernels are compiled anew for read-only arrays."""
    return np.load(path, mmap_mode="c").view(np.ndarray)


def write_rows(path: Path, shape: tuple[int, ...], dtype: Any, blocks: Iterator[np.ndarray]) -> None:
    """Write an array to a file, some rows at a time. It is there at once or not at all: several processes may try."""
    unfinished = path.with_name(f"{path.name}.{uuid4().hex}")
    try:
        with unfinished.open("wb") as file:
            header = {"descr": np.lib.format.dtype_to_descr(np.dtype(dtype)), "fortran_order": False, "shape": shape}
            np.lib.format.write_array_header_1_0(file, header)
            for block in blocks:
                file.write(np.ascontiguousarray(block).data)
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)


def _slices(rows: np.ndarray) -> Iterator[np.ndarray]:
    for start in range(0, len(rows), _ROWS):
        yield rows[start : start + _ROWS]

"""Folds on disk, as plain arrays that any number of worker processes map into memory at no cost.

Passing a fold through a pipe would copy it into each worker; mapped files are shared by all of them. Parts of large
data are numbers of rows in one matrix that all folds share. What is written is what a worker may see: the test part
goes without its labels.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from podium.data.clicked import ClickedQueries
from podium.data.indexed import IndexedQueries, SharedMatrix, mapped_array
from podium.data.queries import Queries
from podium.experiments.run.seal import VisibleFold

_PARTS = ("train", "validation", "test")
_CSR = ("data", "indices", "indptr")
_LOG = "log"


@dataclass(frozen=True, slots=True)
class SharedFold:
    """Where the arrays of a fold are."""

    name: str
    folder: Path
    top_grade: float
    matrix: Path | None = None
    """The features of all folds, if the parts of this one are rows of them."""

    @classmethod
    def write(cls, fold: VisibleFold, folder: Path) -> SharedFold:
        for part in _PARTS:
            if (queries := getattr(fold, part)) is not None:
                _write(queries, folder / part)
        if not isinstance(fold.train, IndexedQueries):
            return cls(fold.name, folder, fold.top_grade)
        fold.train.matrix.move_to(folder.parent / "matrix.npy")
        return cls(fold.name, folder, fold.top_grade, fold.train.matrix.path)

    def view(self) -> VisibleFold:
        train, validation = self._part("train"), self._part("validation")
        test = self._part("test") if (self.folder / "test").exists() else None
        return VisibleFold(self.name, train, validation, test, self.top_grade)

    def _part(self, name: str) -> Queries:
        return _read(self.folder / name, self.matrix)


def with_matrix(fold: VisibleFold, matrix: SharedMatrix) -> VisibleFold:
    """Return a fold of rows of a matrix with this matrix; any other as it is."""
    changed: dict[str, Any] = {}
    for name in _PARTS:
        if isinstance(part := getattr(fold, name), IndexedQueries):
            changed[name] = IndexedQueries.made(part, matrix, part.rows)
    return replace(fold, **changed)


def without_matrix(fold: VisibleFold) -> VisibleFold:
    """Return the fold as it can be sent to where the matrix is sent once for all folds."""
    return with_matrix(fold, SharedMatrix(None))


def _write(queries: Queries, where: Path) -> None:
    where.mkdir(parents=True, exist_ok=True)
    np.save(where / "sizes.npy", queries.sizes)
    if queries.has_labels:
        np.save(where / "labels.npy", queries.labels)
    if isinstance(queries, ClickedQueries):
        (where / _LOG).mkdir()
        for name, column in queries.columns.items():
            np.save(where / _LOG / f"{name}.npy", column)
    if isinstance(queries, IndexedQueries):
        np.save(where / "rows.npy", queries.rows)
    elif queries.is_sparse:
        for name in _CSR:
            np.save(where / f"{name}.npy", getattr(queries.features, name))
        np.save(where / "shape.npy", np.asarray(queries.features.shape))
    else:
        np.save(where / "features.npy", queries.features)


def _read(where: Path, matrix: Path | None) -> Queries:
    labels = np.load(where / "labels.npy") if (where / "labels.npy").exists() else None
    sizes = np.load(where / "sizes.npy")
    if (where / "rows.npy").exists():
        rows = mapped_array(where / "rows.npy")
        listed = Queries(np.empty((len(rows), 0)), labels, sizes=sizes)
        return IndexedQueries.made(listed, SharedMatrix(None, matrix), rows, own_file=where / "features.npy")
    features: Any
    if (where / "features.npy").exists():
        features = mapped_array(where / "features.npy")
    else:
        arrays = tuple(mapped_array(where / f"{name}.npy") for name in _CSR)
        features = sparse.csr_matrix(arrays, shape=tuple(np.load(where / "shape.npy").tolist()))
    queries = Queries(features, labels, sizes=sizes)
    if not (where / _LOG).exists():
        return queries
    return ClickedQueries.made(queries, {path.stem: mapped_array(path) for path in sorted((where / _LOG).iterdir())})

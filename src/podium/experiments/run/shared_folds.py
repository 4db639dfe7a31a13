"""Folds on disk, as plain arrays that any number of worker processes map into memory at no cost.

Passing a fold through a pipe would copy it into each worker; mapped files are shared by all of them. What is written
is what a worker may see: the test part goes without its labels.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from podium.data.queries import Queries
from podium.experiments.run.seal import VisibleFold

_PARTS = ("train", "validation", "test")
_CSR = ("data", "indices", "indptr")


@dataclass(frozen=True, slots=True)
class SharedFold:
    """Where the arrays of a fold are."""

    name: str
    folder: Path
    top_grade: float

    @classmethod
    def write(cls, fold: VisibleFold, folder: Path) -> SharedFold:
        for part in _PARTS:
            if (queries := getattr(fold, part)) is not None:
                _write(queries, folder / part)
        return cls(fold.name, folder, fold.top_grade)

    def view(self) -> VisibleFold:
        train, validation = _read(self.folder / "train"), _read(self.folder / "validation")
        test = _read(self.folder / "test") if (self.folder / "test").exists() else None
        return VisibleFold(self.name, train, validation, test, self.top_grade)


def _write(queries: Queries, where: Path) -> None:
    where.mkdir(parents=True, exist_ok=True)
    np.save(where / "sizes.npy", queries.sizes)
    if queries.has_labels:
        np.save(where / "labels.npy", queries.labels)
    if queries.is_sparse:
        for name in _CSR:
            np.save(where / f"{name}.npy", getattr(queries.features, name))
        np.save(where / "shape.npy", np.asarray(queries.features.shape))
    else:
        np.save(where / "features.npy", queries.features)


def _read(where: Path) -> Queries:
    features: Any
    if (where / "features.npy").exists():
        features = _mapped(where / "features.npy")
    else:
        arrays = tuple(_mapped(where / f"{name}.npy") for name in _CSR)
        features = sparse.csr_matrix(arrays, shape=tuple(np.load(where / "shape.npy").tolist()))
    labels = np.load(where / "labels.npy") if (where / "labels.npy").exists() else None
    return Queries(features, labels, sizes=np.load(where / "sizes.npy"))


def _mapped(path: Path) -> np.ndarray:
    """Return the array in a file, read when touched. Copy-on-write: kernels are compiled anew for read-only arrays."""
    array = np.load(path, mmap_mode="c")
    return array.view(np.ndarray)

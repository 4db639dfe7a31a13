"""Folders of folds, as LETOR, MSLR and others publish them: ``Fold1/trainingset.txt``, ``Fold1/testset.txt``, …"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from podium.data.io.files import FilePath
from podium.data.io.letor.reader import read_letor
from podium.data.queries import Queries

_NAMES = {
    "train": ("trainingset", "train", "training"),
    "validation": ("validationset", "vali", "valid", "validation"),
    "test": ("testset", "test"),
}


@dataclass(frozen=True, slots=True)
class FoldPaths:
    """The files of one fold."""

    name: str
    train: Path
    validation: Path
    test: Path


@dataclass(frozen=True, slots=True)
class Fold:
    """The queries of one fold, all with the same number of features."""

    name: str
    train: Queries
    validation: Queries
    test: Queries


def find_folds(folder: FilePath) -> list[FoldPaths]:
    """Return the folds in a folder, ``Fold1``, ``Fold2``, …, in the order of their numbers.

    Names may be in any case, files plain or ``.gz``. A folder without such folders that holds the three files itself
    is a single fold.

    Raises
    ------
    ValueError
        If there are no folds, or one lacks a file or has several candidates for it.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise ValueError(f"{folder} is not a folder")
    numbered = [(int(found[1]), path) for path in folder.iterdir() if (found := _fold_number(path))]
    if numbered:
        return [_fold(path) for _, path in sorted(numbered)]
    if any(_candidates(folder, part) for part in _NAMES):
        return [_fold(folder)]
    raise ValueError(f"no folds in {folder}: looked for folders Fold1, Fold2, … and for files {_looked_for('train')}")


def read_fold(paths: FoldPaths, **options: Any) -> Fold:
    """Read the three files of a fold; options go to :func:`podium.read_letor`.

    Files of one fold may differ in their largest index: all get as many features as the widest one.
    """
    parts = {part: read_letor(getattr(paths, part), **options) for part in _NAMES}
    width = max(queries.n_features for queries in parts.values())
    return Fold(paths.name, **{part: _widened(queries, width) for part, queries in parts.items()})


def _fold_number(path: Path) -> re.Match[str] | None:
    return re.fullmatch(r"fold[ _-]?(\d+)", path.name, re.IGNORECASE) if path.is_dir() else None


def _fold(folder: Path) -> FoldPaths:
    return FoldPaths(folder.name, **{part: _one_file(folder, part) for part in _NAMES})


def _one_file(folder: Path, part: str) -> Path:
    found = _candidates(folder, part)
    if not found:
        raise ValueError(f"{folder} has no {part} file: looked for {_looked_for(part)} (in any case, .gz or not)")
    if len({path.name.lower().removesuffix(".gz") for path in found}) > 1:
        raise ValueError(f"{folder} has several {part} files: {', '.join(path.name for path in found)}; keep one")
    return found[0]


def _candidates(folder: Path, part: str) -> list[Path]:
    """Return the files that may be this part; a plain file comes before the same one gzipped."""
    names = {f"{name}.txt{packed}" for name in _NAMES[part] for packed in ("", ".gz")}
    return sorted((path for path in folder.iterdir() if path.name.lower() in names), key=lambda path: len(path.name))


def _looked_for(part: str) -> str:
    return ", ".join(f"{name}.txt" for name in _NAMES[part])


def _widened(queries: Queries, width: int) -> Queries:
    """Return the same queries with features of zero added up to ``width``."""
    missing = width - queries.n_features
    if missing == 0:
        return queries
    features = queries.features
    if isinstance(features, np.ndarray):
        return queries.with_features(np.pad(features, ((0, 0), (0, missing))))
    features = features.copy()
    features.resize(queries.n_documents, width)
    return queries.with_features(features)

"""Folders of folds, as LETOR, MSLR and others publish them: ``Fold1/trainingset.txt``, ``Fold1/testset.txt``, …"""

import re
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar

from podium.data.io.files import FilePath
from podium.data.io.letor.reader import read_letor
from podium.data.queries import Queries

_NAMES = {
    "train": ("trainingset", "train", "training"),
    "validation": ("validationset", "vali", "valid", "validation"),
    "test": ("testset", "test"),
}


Part = TypeVar("Part")


class Fold(NamedTuple, Generic[Part]):
    """The files of one fold, or its queries, all with the same number of features."""

    name: str
    train: Part
    validation: Part
    test: Part


def find_folds(folder: FilePath) -> list[Fold[Path]]:
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
    found = {path: re.fullmatch(r"fold[ _-]?(\d+)", path.name, re.IGNORECASE) for path in folder.iterdir()}
    numbered = [(int(match[1]), path) for path, match in found.items() if match and path.is_dir()]
    if numbered:
        return [_fold(path) for _, path in sorted(numbered)]
    if any(_candidates(folder, part) for part in _NAMES):
        return [_fold(folder)]
    raise ValueError(f"no folds in {folder}: looked for folders Fold1, Fold2, … and for files {_looked_for('train')}")


def read_fold(paths: Fold[Path], **options: Any) -> Fold[Queries]:
    """Read the three files of a fold; options go to :func:`podium.read_letor`.

    Files of one fold may differ in their largest index: all get as many features as the widest one.
    """
    name, *files = paths
    parts = [read_letor(path, **options) for path in files]
    options["n_features"] = width = max(queries.n_features for queries in parts)
    alike = [
        queries if queries.n_features == width else read_letor(path, **options)
        for queries, path in zip(parts, files, strict=True)
    ]
    return Fold(name, *alike)


def _fold(folder: Path) -> Fold[Path]:
    return Fold(folder.name, *(_one_file(folder, part) for part in _NAMES))


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

"""Folders of folds."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

from podium.data.io.folds import Fold, find_folds, read_fold

LETOR = ("trainingset.txt", "validationset.txt", "testset.txt")


def make_fold(folder: Path, names=LETOR, texts=("1 qid:1 1:1\n", "2 qid:2 3:1\n", "0 qid:3 2:1\n")) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in zip(names, texts, strict=True):
        (folder / name).write_bytes(gzip.compress(text.encode()) if name.lower().endswith(".gz") else text.encode())
    return folder


@pytest.mark.parametrize(
    "names",
    [
        LETOR,
        ("train.txt", "vali.txt", "test.txt"),
        ("train.txt.gz", "valid.txt.GZ", "Test.TXT"),
        ("TRAININGSET.TXT", "validation.txt", "testset.txt.gz"),
    ],
)
def test_names(tmp_path: Path, names: tuple[str, str, str]) -> None:
    make_fold(tmp_path / "Fold1", names)
    (tmp_path / "Fold1" / "README.txt").write_text("not data")
    (tmp_path / "Foldings").mkdir()
    assert find_folds(tmp_path) == [Fold("Fold1", *(tmp_path / "Fold1" / name for name in names))]


def test_folds_come_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    for name in ("Fold10", "fold2", "FOLD1", "fold_3"):
        make_fold(tmp_path / name)
    assert [fold.name for fold in find_folds(str(tmp_path))] == ["FOLD1", "fold2", "fold_3", "Fold10"]


def test_a_fold_by_itself(tmp_path: Path) -> None:
    assert [fold.name for fold in find_folds(make_fold(tmp_path / "mine"))] == ["mine"]


def test_a_plain_file_comes_before_its_packed_copy(tmp_path: Path) -> None:
    make_fold(tmp_path / "Fold1")
    make_fold(tmp_path / "Fold1", [f"{name}.gz" for name in LETOR])
    assert find_folds(tmp_path)[0].train.name == "trainingset.txt"


def test_errors(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="nowhere is not a folder"):
        find_folds(tmp_path / "nowhere")
    with pytest.raises(ValueError, match=r"no folds in .*: looked for folders Fold1, .* trainingset\.txt, train\.txt"):
        find_folds(tmp_path)
    fold = make_fold(tmp_path / "Fold1")
    (fold / "validationset.txt").unlink()
    with pytest.raises(ValueError, match=r"Fold1 has no validation file: looked for validationset\.txt, vali\.txt"):
        find_folds(tmp_path)
    make_fold(tmp_path / "Fold1")
    (fold / "train.txt").write_text("")
    with pytest.raises(ValueError, match=r"Fold1 has several train files: .*; keep one"):
        find_folds(tmp_path)


@pytest.mark.parametrize("sparse", [False, True])
def test_reading_gives_all_parts_the_same_width(tmp_path: Path, sparse: bool) -> None:
    make_fold(tmp_path / "Fold1")
    fold = read_fold(find_folds(tmp_path)[0], sparse=sparse, dtype=np.float64)
    assert fold.name == "Fold1"
    parts = [fold.train, fold.validation, fold.test]
    assert [part.n_features for part in parts] == [3, 3, 3]
    assert [part.features.dtype for part in parts] == [np.float64] * 3
    rows = [part.features.toarray() if sparse else part.features for part in parts]
    assert np.concatenate(rows).tolist() == [[1, 0, 0], [0, 0, 1], [0, 1, 0]]
    assert [part.labels.tolist() for part in parts] == [[1], [2], [0]]


def test_ohsumed(shared_data: Path) -> None:
    folds = find_folds(shared_data / "ohsumed")
    assert [fold.name for fold in folds] == ["Fold1", "Fold2", "Fold3", "Fold4", "Fold5"]
    fold = read_fold(folds[0])
    assert len(fold.train) + len(fold.validation) + len(fold.test) == 106  # the data set's number of queries
    assert {part.n_features for part in (fold.train, fold.validation, fold.test)} == {25}

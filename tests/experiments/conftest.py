"""Small data for experiments."""

from __future__ import annotations

from pathlib import Path

import pytest

from podium import k_folds, make_queries, write_letor


@pytest.fixture(scope="module", autouse=True)
def one_thread():
    """On data this small, threads only wait for each other; and results do not depend on their number."""
    import numba

    before = numba.get_num_threads()
    numba.set_num_threads(1)
    yield
    numba.set_num_threads(before)


@pytest.fixture(scope="session")
def queries():
    return make_queries(n_queries=30, n_documents=8, n_features=5, random_state=3)


@pytest.fixture(scope="session")
def folder_of_folds(queries, tmp_path_factory) -> Path:
    """Three folds as files, under some of the names that collections use for them."""
    folder = tmp_path_factory.mktemp("data") / "toy"
    names = [
        ("Fold1", "train.txt", "vali.txt", "test.txt"),
        ("Fold2", "trainingset.txt", "validationset.txt", "testset.txt"),
        ("fold3", "train.txt.gz", "valid.txt.gz", "test.txt.gz"),
    ]
    for (fold, *files), parts in zip(names, k_folds(len(queries), 3, random_state=0), strict=True):
        (folder / fold).mkdir(parents=True)
        for name, numbers in zip(files, parts, strict=True):
            write_letor(queries.take(numbers), folder / fold / name)
    return folder

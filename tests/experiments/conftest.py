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


@pytest.fixture
def make_comparison(tmp_path):
    """A comparison made by hand, with rankings, curves, weights and histories on disk as a run leaves them."""
    import numpy as np

    from podium.experiments import Comparison
    from podium.experiments.run.details import ModelSummary, TestQueries, keep
    from podium.experiments.run.store import Result

    def make(
        *,
        methods=("plain", "listnet", "pmop"),
        broken=(),
        sizes=(4, 3),
        n_documents=6,
        details=True,
        seeds=(0,),
        repeat=False,
        feature_names=("length", "age", "links"),
        **configuration,
    ):
        rng = np.random.default_rng(0)
        metrics = ["ndcg@1", "ndcg@5", "map"]
        configuration = {
            "podium": "0",
            "data": {"name": "toy", "description": "by hand", "fingerprint": "f", "folds": ["Fold1", "Fold2"]},
            "average": "folds",
            "methods": {name: {"grid": {"l2": [0.1, 1.0]}, "fixed": {}} for name in (*methods, *broken)},
            "metrics": metrics,
            "primary": "map",
            "convention": "letor",
            "normalize": "minmax",
            "seed": 0,
            "seeds": list(seeds),
            "stochastic": list(methods) if len(seeds) > 1 else [],
        } | configuration
        results = []
        for number, (fold, n) in enumerate(zip(configuration["data"]["folds"], sizes, strict=True)):
            qids = [f"q{i if repeat else number * 1000 + i}" for i in range(n)]
            queries = TestQueries(
                np.array(qids),
                np.arange(n + 1) * n_documents,
                rng.integers(0, 3, n * n_documents).astype(float),
                np.array([f"doc {i}" for i in range(n * n_documents)]),
                np.array(feature_names),
            )
            for place, method in enumerate(methods):
                for seed in seeds:
                    model = ModelSummary(np.array([1.0, -3.0, 0.0]), True, np.array([0.1, 0.3, 0.2]), "trees", 2)
                    scores, curve = rng.random(n * n_documents), rng.random((n, 10))
                    name = keep(tmp_path, queries, scores, curve, model) if details else None
                    tried = [{"parameters": {"l2": l2}, "validation": l2, "seconds": 0.5} for l2 in (0.1, 1.0)]
                    values = {metric: (rng.random(n) * (1 - place / 100)).tolist() for metric in metrics}
                    result = Result(
                        method,
                        fold,
                        seed,
                        parameters={"l2": 1.0},
                        validation=1.0,
                        trials=tried,
                        seconds=0.1 * (place + 1),
                        search_seconds=1.0,
                        qids=qids,
                        per_query=values,
                        details=name,
                    )
                    results.append(result)
            results += [Result(name, fold, error="ValueError: <b>", traceback="Traceback <i>") for name in broken]
        return Comparison(configuration, results, folder=tmp_path)

    return make


@pytest.fixture
def small_comparison(make_comparison):
    return make_comparison()

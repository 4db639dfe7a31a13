"""Small data for experiments."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from podium import Queries, k_folds, make_queries, write_letor


@pytest.fixture(scope="module", autouse=True)
def one_thread() -> Iterator[None]:
    """On data this small, threads only wait for each other; and results do not depend on their number."""
    import numba

    before = numba.get_num_threads()
    numba.set_num_threads(1)
    yield
    numba.set_num_threads(before)


@pytest.fixture(scope="session")
def queries() -> Queries:
    return make_queries(n_queries=30, n_documents=8, n_features=5, random_state=3)


@pytest.fixture(scope="session")
def folder_of_folds(queries: Queries, tmp_path_factory: pytest.TempPathFactory) -> Path:
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
def make_comparison(tmp_path: Path) -> Callable[..., Any]:
    """A comparison made by hand, with rankings, curves, weights and histories on disk as a run leaves them."""
    import numpy as np

    from podium.experiments import Comparison
    from podium.experiments.plan.configuration import Configuration
    from podium.experiments.plan.methods import Setting
    from podium.experiments.run.outcomes import ModelSummary, Result, TestPart, Trial
    from podium.experiments.run.store import FILE, Store
    from podium.rankers.methods import METHODS

    def make(
        *,
        methods: Sequence[str] = ("plain", "listnet", "pmop"),
        broken: Sequence[str] = (),
        sizes: Sequence[int] = (4, 3),
        n_documents: int = 6,
        stored: bool = True,
        seeds: Sequence[int] = (0,),
        repeat: bool = False,
        feature_names: Sequence[str] = ("length", "age", "links"),
        facts: dict[str, Any] | None = None,
        constant: Sequence[str] = (),
        model: ModelSummary | None = None,
        **configuration: Any,
    ) -> Comparison:
        rng = np.random.default_rng(0)
        metrics = ["ndcg@1", "ndcg@5", "map"]
        configuration = {
            "podium": "0",
            "data": {"name": "toy", "description": "by hand", "fingerprint": "f", "folds": ["Fold1", "Fold2"]},
            "average": "folds",
            "protocol": {},
            "methods": {
                name: {
                    "grid": {"l2": [0.1, 1.0]},
                    "stochastic": len(seeds) > 1,
                    "family": METHODS[name].family if name in METHODS else "own",
                    **(facts or {}).get(name, {}),
                }
                for name in (*methods, *broken)
            },
            "metrics": metrics,
            "primary": "map",
            "convention": "letor",
            "options": {"normalize": "minmax"},
            "seeds": list(seeds),
        } | configuration
        study = Configuration.from_dict(configuration)
        (tmp_path / FILE).unlink(missing_ok=True)
        store = Store(tmp_path / FILE, study, create=True)
        store.describe(status="complete")
        results = []
        for number, (fold, n) in enumerate(zip(study.data.folds, sizes, strict=True)):
            qids = [f"q{i if repeat else number * 1000 + i}" for i in range(n)]
            part = TestPart(
                np.array(qids),
                np.arange(n + 1) * n_documents,
                rng.integers(0, 3, n * n_documents).astype(float),
                np.array([f"doc {i}" for i in range(n * n_documents)]),
                np.array(feature_names),
            )
            for place, method in enumerate(methods):
                for seed in seeds:
                    learned = model or ModelSummary(
                        np.array([1.0, -3.0, 0.0]), True, np.array([0.1, 0.3, 0.2]), "trees", 2
                    )
                    scores, curve = rng.random(n * n_documents), rng.random((n, 10))
                    if method in constant:
                        scores = np.ones(n * n_documents)
                    tried = [Trial(method, fold, {"l2": l2}, seed, i, l2, 0.5) for i, l2 in enumerate((0.1, 1.0))]
                    keys = [study.trial_key(method, fold, Setting(trial.parameters, trial.seed)) for trial in tried]
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
                        trial=keys[1],
                    )
                    results.append(result)
                    store.add_trial(keys[0], tried[0])
                    arrays: dict[str, Any] = {"validation_scores": scores, "test_scores": scores, "model": learned}
                    store.add_trial(keys[1], replace(tried[1], **arrays))
                    store.add_result(result, keys, part, curve)
            failures = [Result(name, fold, error="ValueError: <b>", traceback="Traceback <i>") for name in broken]
            for failure in failures:
                store.add_failure(failure)
            results += failures
        return Comparison(study, results, folder=tmp_path, store=store if stored else None)

    return make


@pytest.fixture
def small_comparison(make_comparison: Callable[..., Any]) -> Any:
    return make_comparison()

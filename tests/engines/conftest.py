"""Solr, started once per test run, and models of every kind that engines take."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import podium
from podium.scorers import MLP

from .running import HERE, Solr, jars


@pytest.fixture(scope="session")
def solr(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Solr]:
    home = tmp_path_factory.mktemp("solr") / "home"
    shutil.copytree(HERE / "solr" / "home", home)
    command = ["java", "-cp", jars("solr"), str(HERE / "solr" / "SolrServer.java"), str(home), "0"]
    log = (home.parent / "log.txt").open("w+")
    server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True)
    assert server.stdout is not None
    assert server.stdin is not None
    try:
        for line in server.stdout:
            if line.startswith("listening on "):
                yield Solr(line.split()[-1])
                break
        else:
            log.seek(0)
            raise AssertionError(f"Solr did not start: {log.read()[-3000:]}")
        server.stdin.close()
        server.wait(timeout=30)
    finally:
        server.kill()
        server.wait()
        server.stdout.close()
        log.close()


@pytest.fixture(scope="session")
def queries() -> podium.Queries:
    """Features of float32 on several scales, so that thresholds fall between near neighbors and far from 1."""
    made = podium.make_queries(n_queries=40, n_documents=12, n_features=5, random_state=3)
    scales = np.array([1.0, 1e-3, 100.0, 1.0, -0.004])
    features = (made.features * scales).astype(np.float32)
    features[:, 3] = np.round(features[:, 3])  # few values: documents tie
    return made.with_features(features, None)


@pytest.fixture(scope="session")
def models(queries: podium.Queries) -> dict[str, Any]:
    """Fitted rankers by name, of every kind that an engine takes."""
    listnet = podium.losses.ListNetLoss()
    with_gaps = queries.features.copy()
    with_gaps[np.random.default_rng(0).random(with_gaps.shape) < 0.2] = np.nan
    same = podium.Queries(queries.features, np.ones(queries.n_documents), sizes=queries.sizes)
    rankers = {
        "linear": (podium.ListNet(), queries),
        "linear with an intercept": (podium.Regression(), queries),
        "best feature": (podium.BestFeature(), queries),
        "AdaRank": (podium.AdaRank(n_rounds=10), queries),
        "RankBoost": (podium.RankBoost(n_rounds=30), queries),
        "FRank": (podium.FRank(n_rounds=30), queries),
        "trees": (podium.LambdaMART(n_trees=30, n_leaves=15, min_documents_in_leaf=5, random_state=0), queries),
        "trees, missing values": (
            podium.GBDT(n_trees=10, n_leaves=8, random_state=0),
            queries.with_features(with_gaps, None),
        ),
        "one leaf": (podium.GBDT(n_trees=3, n_leaves=4), same),
        "tanh network": (podium.Ranker(listnet, MLP(hidden=(4, 3)), random_state=0), queries),
        "relu network": (podium.Ranker(listnet, MLP(hidden=6, activation="relu"), random_state=0), queries),
        "tanh output": (podium.Ranker(listnet, MLP(hidden=2, output="tanh"), random_state=0), queries),
    }
    return {name: ranker.fit(data) for name, (ranker, data) in rankers.items()}


@pytest.fixture(scope="session")
def heavy(queries: podium.Queries) -> podium.Queries:
    """Two features with heavy tails, one of them on both sides of 0."""
    features = queries.features.astype(np.float64)
    features[:, 0] = np.sinh(3.0 * features[:, 0])
    features[:, 2] = np.exp(features[:, 2] / 40.0)
    return queries.with_features(features.astype(np.float32), None)


@pytest.fixture(scope="session")
def models_of_logarithms(heavy: podium.Queries) -> dict[str, Any]:
    """Fitted rankers that take the logarithms of both."""
    listnet = podium.losses.ListNetLoss()
    rankers = {
        "linear": podium.ListNet(normalize="robust"),
        "linear with an intercept": podium.Regression(normalize="robust"),
        "AdaRank": podium.AdaRank(n_rounds=10, normalize="robust"),
        "network": podium.Ranker(listnet, MLP(hidden=(4, 3)), normalize="robust", random_state=0),
    }
    models: dict[str, Any] = {name: ranker.fit(heavy) for name, ranker in rankers.items()}
    assert all((model.standardization_.log_scale > 0).tolist() == [1, 0, 1, 0, 0] for model in models.values())
    return models

"""A fitted model of every kind, and data for them."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import podium

CATEGORY = 3
"""The column that holds categories."""


@pytest.fixture(scope="session")
def matrix(load_tool: Callable[[str], ModuleType]) -> ModuleType:
    return load_tool("export_matrix")


@pytest.fixture(scope="session")
def queries() -> podium.Queries:
    """Return lists whose features are float32 numbers, one of which is a category."""
    made = podium.make_queries(n_queries=25, n_documents=16, n_features=6, n_grades=3, random_state=4)
    rng = np.random.default_rng(4)
    features = made.features.astype(np.float32).astype(np.float64)
    features[:, CATEGORY] = rng.integers(0, 40, made.n_documents)
    labels = made.labels + 2.0 * np.isin(features[:, CATEGORY] % 7, (1, 2, 5))
    return podium.Queries(features, labels, sizes=made.sizes)


@pytest.fixture(scope="session")
def heavy(queries: podium.Queries) -> podium.Queries:
    """Return the same lists, two of whose features have heavy tails, one of them on both sides of 0."""
    features = queries.features.copy()
    z = (features - features.mean(axis=0)) / features.std(axis=0)
    features[:, 0], features[:, 4] = np.sinh(4.0 * z[:, 0]), np.exp(3.0 * z[:, 4])
    return queries.with_features(features.astype(np.float32).astype(np.float64))


@pytest.fixture(scope="session")
def fitted(matrix: ModuleType, queries: podium.Queries, heavy: podium.Queries) -> Callable[..., Any]:
    """Return a function that fits the ranker of a kind, once; with ``tails`` on data of which it takes logarithms."""

    @cache
    def fit(kind: str, tails: bool = False) -> Any:
        ranker = matrix.KINDS[kind]()
        if "ratings" in kind:
            return ranker  # refused whether it is fitted or not
        if "PyTorch" in kind:
            import torch

            torch.manual_seed(0)
            module = torch.nn.Sequential(torch.nn.Linear(6, 4), torch.nn.LayerNorm(4), torch.nn.Linear(4, 1))
            ranker = ranker.set_params(scorer=podium.scorers.Torch(module))
            ranker.set_params(trainer=podium.training.Stochastic(epochs=3))
        if not tails:
            return ranker.fit(queries)
        ranker.fit(heavy)
        assert np.flatnonzero(ranker.standardization_.log_scale).tolist() == [0, 4]
        return ranker

    return fit


@pytest.fixture(scope="session")
def traps() -> Any:
    """Return trees whose thresholds are hard to get right in float32: any wrong decision changes a score by 2."""
    return trap_ranker()


@pytest.fixture(scope="session")
def rows_at_thresholds(traps: Any) -> np.ndarray:
    """Return rows with float32 values on and next to every threshold, and missing ones."""
    forest = traps.model_.forest
    rows = np.random.default_rng(0).standard_normal((3 * len(forest.threshold) + 40, forest.n_features))
    rows = rows.astype(np.float32).astype(np.float64)
    at = 0
    for feature, threshold in zip(forest.feature, forest.threshold, strict=True):
        near = np.float32(np.clip(threshold, -LARGEST, LARGEST))
        low, high = np.float32(-LARGEST), np.float32(LARGEST)
        rows[at : at + 3, feature] = np.nextafter(near, low), near, np.nextafter(near, high)
        at += 3
    rows[-40:-20, 0] = np.nan
    rows[-30:, 1] = np.nan
    rows[-5:] = np.nan
    return rows


LARGEST = float(np.finfo(np.float32).max)
# LightGBM takes values up to 1e-35 for zero.
HARD = [0.1, float(np.float32(0.1)), np.nextafter(float(np.float32(0.1)), 1), 1.0000000180025095e-35, -2e-35, 1 / 3]
HARD += [-1.0000000180025095e-35, 2.0**24 + 1, -(2.0**24) - 1, 1e300, -1e300, LARGEST, np.inf, 123456.789]
HARD += [0.0, -1e-50, 1e-50, 1e-42, -1e-42, 1e-300]


def trap_ranker() -> Any:
    from podium.export.targets.lightgbm import forest_text
    from podium.numerics.trees.forest import NAN, NEVER, Forest
    from podium.scorers.trees.model import TreesModel

    thresholds = np.array([*HARD, *np.random.default_rng(1).standard_normal(20)])
    n, n_deep = 3 * len(thresholds), 60
    # Stumps on feature 0, 1 and 2, each of which treats missing values in another way; then a chain of 60 splits.
    chain = np.sort(np.random.default_rng(2).standard_normal(n_deep))
    sizes = np.append(np.ones(n, int), n_deep)
    nodes, leaves = np.append(0, np.cumsum(sizes)), np.append(0, np.cumsum(sizes + 1))
    links = np.arange(n_deep)
    forest = Forest(
        n_features=4,
        n_trees=n + 1,
        node_offsets=nodes,
        leaf_offsets=leaves,
        feature=np.append(np.repeat([0, 1, 2], len(thresholds)), np.full(n_deep, 3)).astype(np.int32),
        threshold=np.append(np.tile(thresholds, 3), chain[::-1]),
        left=np.append(np.full(n, ~0), np.append(links[1:], ~n_deep)).astype(np.int32),
        right=np.append(np.full(n, ~1), ~links).astype(np.int32),
        missing=np.append(np.repeat([NEVER, NAN, NAN], len(thresholds)), np.full(n_deep, NAN)).astype(np.uint8),
        default_left=np.append(np.repeat([False, True, False], len(thresholds)), links % 2 == 0),
        categorical=np.zeros(n + n_deep, bool),
        gain=np.ones(n + n_deep),
        count=np.ones(n + n_deep, np.int64),
        leaf_value=np.append(np.tile([-1.0, 1.0], n), 2.0 * np.arange(n_deep + 1)),
        leaf_count=np.ones(leaves[-1], np.int64),
    )
    ranker = podium.GBDT(n_trees=1).fit(np.eye(4), np.arange(4), qid=[0, 0, 1, 1])
    ranker.model_ = TreesModel(forest_text(forest))
    return ranker

"""Trees evaluated by compiled code, against LightGBM's own predictions: equal to the last bit."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from podium.numerics.pool import threads
from podium.numerics.trees.evaluate import TreeEvaluator
from podium.numerics.trees.forest import NAN, NEVER, ZERO, Forest, read_forest
from podium.numerics.trees.lightgbm_text import bare_text, constant_text

lightgbm = pytest.importorskip("lightgbm")


def grow(X, y, *, n_trees=20, n_leaves=31, categorical=(), **settings):
    """Return LightGBM's model and the same as a forest."""
    settings = {"num_leaves": n_leaves, "min_data_in_leaf": 2, "verbosity": -1, "num_threads": 1, **settings}
    data = lightgbm.Dataset(X, y, categorical_feature=list(categorical))
    booster = lightgbm.train({**settings, "objective": "regression"}, data, n_trees)
    text = bare_text(booster.model_to_string()).replace("objective=regression\n", "")
    return booster, read_forest(text)


@np.errstate(over="ignore")
def values_near_thresholds(forest, rng, n=300):
    """Return rows whose values are thresholds of their feature, their neighbors in either type, and odd values."""
    rows = rng.normal(size=(n, forest.n_features))
    odd = [0.0, -0.0, np.nan, np.inf, -np.inf, 1e-35, -1e-35, 1e-36, -1e-36, 1e30, -1e30, 5e-324]
    odd += [float(np.float32(1e-35)), -float(np.float32(1e-35)), 1e-38, 1.0, 2.7, -0.5, 40.0, 2**31, 2.0**33]
    for j in range(forest.n_features):
        own = forest.threshold[(forest.feature == j) & ~forest.categorical]
        single = own.astype(np.float32)
        near = [own, np.nextafter(own, np.inf), np.nextafter(own, -np.inf), single.astype(float)]
        near += [np.nextafter(single, np.float32(side)).astype(float) for side in (np.inf, -np.inf)]
        choice = np.concatenate([*near, np.tile(odd, 1 + len(own) // 10), rng.integers(-3, 45, 20)])
        chosen = rng.random(n) < 0.9
        rows[chosen, j] = rng.choice(choice, n)[chosen]
    return rows


def assert_same_bits(booster, forest, rows) -> None:
    evaluator = TreeEvaluator(forest)
    for dtype in (np.float32, np.float64):
        with np.errstate(over="ignore"):
            given = np.ascontiguousarray(rows, dtype=dtype)
        expected = booster.predict(given, num_threads=1)
        scores = evaluator.scores(given)
        assert scores.dtype == np.float64
        np.testing.assert_array_equal(scores.view(np.int64), expected.view(np.int64))
        np.testing.assert_array_equal(evaluator.scores(given, 7), booster.predict(given, num_iteration=7))
        matrix = sparse.csr_matrix(given)
        np.testing.assert_array_equal(evaluator.scores((matrix.data, matrix.indices, matrix.indptr)), scores)


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1200, 6))
    X[:, 1] = np.round(X[:, 1], 1)  # thresholds between close values, and at zero
    X[rng.random(1200) < 0.3, 2] = 0.0
    X[rng.random(1200) < 0.2, 3] = np.nan
    X[:, 4] = rng.integers(0, 40, 1200)
    y = X[:, 0] * X[:, 1] + np.nan_to_num(X[:, 3], nan=2.0) + 3 * np.isin(X[:, 4], [0, 3, 7, 33, 38]) + X[:, 2] ** 2
    return X, y


@pytest.mark.parametrize("n_leaves", [2, 31, 32, 33, 63, 64, 65, 200])
def test_same_bits_as_lightgbm_for_every_size_of_tree(data, n_leaves) -> None:
    booster, forest = grow(*data, n_leaves=n_leaves)
    assert_same_bits(booster, forest, values_near_thresholds(forest, np.random.default_rng(1)))


@pytest.mark.parametrize("n_leaves", [20, 100])
@pytest.mark.parametrize(
    "settings", [{}, {"zero_as_missing": True}, {"use_missing": False}], ids=["nan", "zero", "never"]
)
def test_missing_values_and_categories(data, n_leaves, settings) -> None:
    extra = {"min_data_per_group": 1, "cat_smooth": 1.0, "max_cat_to_onehot": 1, "cat_l2": 1.0}
    booster, forest = grow(*data, n_leaves=n_leaves, categorical=[4], **extra, **settings)
    assert forest.categorical.any()
    wanted = {"zero_as_missing": ZERO, "use_missing": NEVER}.get(next(iter(settings), ""), NAN)
    assert (forest.missing[~forest.categorical] == wanted).any()
    rng = np.random.default_rng(2)
    assert_same_bits(booster, forest, values_near_thresholds(forest, rng))
    rows = rng.normal(size=(50, 6))
    rows[rng.random((50, 6)) < 0.3] = np.nan
    assert_same_bits(booster, forest, rows)


def test_float32_training_data(data) -> None:
    X, y = data
    booster, forest = grow(X.astype(np.float32), y)
    assert_same_bits(booster, forest, values_near_thresholds(forest, np.random.default_rng(3)))


def test_splits_at_infinity() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 2))
    X[rng.random(500) < 0.3, 0] = np.inf
    X[rng.random(500) < 0.2, 0] = np.nan
    X[rng.random(500) < 0.2, 1] = -np.inf
    y = np.where(np.isnan(X[:, 0]), 3.0, np.where(np.isinf(X[:, 0]), -1.0, 0.0)) + np.isinf(X[:, 1])
    booster, forest = grow(X, y, n_leaves=8)
    assert np.isinf(forest.threshold).any()
    assert_same_bits(booster, forest, values_near_thresholds(forest, rng))


def test_constant_trees() -> None:
    scores = TreeEvaluator(read_forest(constant_text(3, -0.75))).scores(np.ones((5, 3)))
    assert scores.tolist() == [-0.75] * 5
    rows = (np.ones(0), np.empty(0, np.int32), np.zeros(6, np.int32))
    assert TreeEvaluator(read_forest(constant_text(3, -0.75))).scores(rows).tolist() == [-0.75] * 5


@pytest.mark.parametrize("n", [0, 1, 15, 16, 17, 127, 128, 129, 1000])
def test_number_of_documents(data, n) -> None:
    booster, forest = grow(data[0][:300], data[1][:300], n_trees=3)
    rows = np.random.default_rng(4).normal(size=(n, 6))
    expected = booster.predict(rows) if n else np.empty(0)
    np.testing.assert_array_equal(TreeEvaluator(forest).scores(rows), expected)


def test_deep_tree(data) -> None:
    n = 3000
    zeros = np.zeros(n, np.int64)
    forest = Forest(
        n_features=1, n_trees=1, node_offsets=np.array([0, n]), leaf_offsets=np.array([0, n + 1]),
        feature=zeros.astype(np.int32), threshold=np.arange(n, dtype=float), left=~np.arange(n, dtype=np.int32),
        right=np.append(np.arange(1, n), ~n).astype(np.int32), missing=zeros.astype(np.uint8),
        default_left=zeros > 0, categorical=zeros > 0, gain=zeros.astype(float), count=zeros,
        leaf_value=np.arange(n + 1.0), leaf_count=np.zeros(n + 1, np.int64),
    )  # fmt: skip
    rows = np.array([[-1.0], [0.0], [0.5], [1500.0], [2999.0], [2999.5]])
    assert TreeEvaluator(forest).scores(rows).tolist() == [0, 0, 1, 1500, 2999, 3000]


def test_threads_change_no_bit(data) -> None:
    _, forest = grow(*data, n_trees=100)
    rows = np.random.default_rng(5).normal(size=(3000, 6)).astype(np.float32)
    with threads(1):
        alone = TreeEvaluator(forest).scores(rows)
    np.testing.assert_array_equal(TreeEvaluator(forest).scores(rows), alone)


def test_one_tree_of_a_forest(data) -> None:
    booster, forest = grow(*data, n_trees=3, categorical=[4])
    rows = values_near_thresholds(forest, np.random.default_rng(6), 100)
    for k in range(3):
        expected = booster.predict(rows, start_iteration=k, num_iteration=1)
        np.testing.assert_array_equal(TreeEvaluator(forest.tree(k)).scores(rows), expected)


def test_wide_rows() -> None:
    """Documents and features come in tiles of eight: numbers that are no multiples, and features that no tree uses."""
    rng = np.random.default_rng(3)
    for n_features, n_leaves in ((21, 31), (16, 60)):
        X = rng.normal(size=(600, n_features))
        booster, forest = grow(X, X @ rng.integers(0, 2, n_features) + X[:, 0] ** 2, n_leaves=n_leaves)
        for n in (3, 29, 300):
            assert_same_bits(booster, forest, values_near_thresholds(forest, rng, n))

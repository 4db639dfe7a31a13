"""Presets on trees are a loss and Trees, and what their trees can tell."""

from __future__ import annotations

import lightgbm
import numpy as np
import pytest

import podium
from podium import losses
from podium.files.archive import ModelFileError, read_archive, write_archive
from podium.rankers.methods import METHODS
from podium.scorers import LinearModel, Trees

TREES = {"n_trees": 5, "n_leaves": 4}


@pytest.fixture(scope="module")
def queries():
    return podium.make_queries(25, 8, 4, random_state=0)


@pytest.mark.parametrize(
    ("preset", "loss"),
    [
        (podium.LambdaMART(truncation=5, **TREES), losses.LambdaRankLoss(truncation=5, truncated_ideal=True)),
        (podium.GBDT(**TREES), losses.RegressionLoss(normalize=False)),
        (podium.GBRank(regression=0.5, **TREES), losses.GBRankLoss(regression=0.5)),
        (podium.IntervalRank(separation=0.1, **TREES), losses.IntervalRankLoss(separation=0.1, regression=1.0)),
        (podium.IsotonicRank(**TREES), losses.IsotonicLoss()),
        (podium.QueryOffset(**TREES), losses.QueryOffsetLoss(normalize=False)),
    ],
    ids=repr,
)
def test_a_preset_is_its_parts(queries, preset, loss) -> None:
    by_size = {"min_documents_in_leaf": 5, "query_fraction": 0.7, "feature_fraction": 1.0}  # 25 queries, 4 features
    of_parts = podium.Ranker(loss, Trees(learning_rate=0.05, **by_size, **TREES), random_state=0).fit(queries)
    np.testing.assert_array_equal(
        preset.set_params(random_state=0).fit(queries).predict(queries), of_parts.predict(queries)
    )
    assert preset.score(queries) > 0.7


@pytest.mark.parametrize(
    ("n_queries", "n_documents", "n_features", "expected"),
    [
        (10, 10, 3, (150, 7, 5, 1.0, 1.0)),
        (30, 200, 12, (150, 7, 30, 0.7, 0.5)),
        (30, 1000, 1, (200, 7, 50, 0.7, 1.0)),
        (30, 4000, 1, (300, 15, 50, 0.7, 1.0)),
        (30, 20_000, 1, (300, 31, 50, 0.7, 1.0)),
        (40, 30_000, 1, (300, 63, 50, 0.7, 1.0)),
    ],
)
def test_presets_suit_the_size_of_the_data(n_queries, n_documents, n_features, expected) -> None:
    n = n_queries * n_documents
    data = podium.Queries(np.zeros((n, n_features), np.float32), np.zeros(n), sizes=np.full(n_queries, n_documents))
    trees = podium.LambdaMART()._scorer().for_data(data)
    names = ("n_trees", "n_leaves", "min_documents_in_leaf", "query_fraction", "feature_fraction")
    assert tuple(getattr(trees, name) for name in names) == expected
    kept = podium.LambdaMART(n_trees=7, tree_options={"query_fraction": 0.9})._scorer().for_data(data)
    assert (kept.n_trees, kept.query_fraction) == (7, 0.9)


@pytest.fixture(scope="module")
def ranker(queries):
    return podium.GBDT(**TREES, tree_options={"feature_fraction": 0.9}, random_state=0).fit(queries)


def test_what_trees_tell(queries, ranker) -> None:
    shap = ranker.contributions(queries)
    assert shap.shape == (queries.n_documents, 5)
    np.testing.assert_allclose(shap.sum(axis=1), ranker.predict(queries), rtol=1e-9)
    np.testing.assert_allclose(shap[:, -1], queries.labels.mean(), rtol=0.1)  # of trees grown from the mean
    assert ranker.feature_importance("split").sum() == 5 * 3
    assert ranker.feature_importances_.sum() == pytest.approx(1)
    stages = list(ranker.staged_predict(queries))
    assert len(stages) == 5
    np.testing.assert_allclose(stages[-1], ranker.predict(queries))


def test_lightgbm_reads_what_is_exported(queries, ranker, tmp_path) -> None:
    path = tmp_path / "trees.txt"
    ranker.export_lightgbm(path)
    theirs = lightgbm.Booster(model_file=path)
    np.testing.assert_array_equal(theirs.predict(queries.features), ranker.predict(queries))
    np.testing.assert_array_equal(theirs.feature_importance("gain"), ranker.feature_importance())


def test_trees_on_rescaled_features_are_not_exported(queries, tmp_path) -> None:
    ranker = podium.GBDT(n_trees=2, normalize="minmax").fit(queries)
    with pytest.raises(ValueError, match="rescales features within each query"):
        ranker.export_lightgbm(tmp_path / "trees.txt")
    assert list(tmp_path.iterdir()) == []


def test_a_tampered_file_is_refused(queries, ranker, tmp_path) -> None:
    ranker.save(tmp_path / "good.podium")
    header, state = read_archive(tmp_path / "good.podium")
    bad = state["model.trees"].replace("left_child=", "left_child=123456789 ", 1)
    write_archive(tmp_path / "bad.podium", header, {**state, "model.trees": bad})
    with pytest.raises(ModelFileError, match=r"bad\.podium: tree 0 of the model has 4 entries of left_child"):
        podium.load(tmp_path / "bad.podium")


def test_rankers_without_trees_say_so(queries) -> None:
    linear = podium.Ranker(losses.RegressionLoss())
    linear.model_ = LinearModel.from_coefficients(np.ones(4))
    assert not hasattr(linear, "feature_importances_")
    for name in ("feature_importance", "contributions", "staged_predict", "export_lightgbm"):
        assert not hasattr(linear, name)
        assert hasattr(podium.Ranker(linear.loss, Trees()), name)
    for ask in (lambda: linear.feature_importance(), lambda: linear.contributions(queries)):
        with pytest.raises(AttributeError, match="no attribute"):
            ask()


def test_list_losses_on_trees(queries) -> None:
    assert METHODS["listmle-trees"].build(n_trees=10, random_state=0).fit(queries).score(queries) > 0.7

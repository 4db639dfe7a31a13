"""Fitted rankers as plain functions of one document, and how they are written to files."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

import podium
from podium.export import NotExportable, portable
from podium.export.api import export_refusals
from podium.export.portable import Linear, Network, Trees
from podium.export.single_precision import above32, floor32
from podium.export.target import find
from podium.export.targets.solr import SLACK, before_slack, scales
from podium.numerics.trees.forest import Forest
from podium.scorers import MLP

LISTNET = podium.losses.ListNetLoss()


@pytest.fixture(scope="module")
def lists() -> podium.Queries:
    made = podium.make_queries(n_queries=20, n_documents=8, n_features=3, random_state=1)
    return podium.Queries(made.features * [1.0, 50.0, 0.01] + [5.0, 0.0, -3.0], made.labels, sizes=made.sizes)


@pytest.fixture(scope="module")
def linear(lists: podium.Queries) -> podium.Regression:
    return podium.Regression().fit(lists)


def test_weights_are_those_of_the_features_as_given(linear, lists) -> None:
    model = portable(linear)
    assert isinstance(model, Linear)
    assert model.intercept != 0
    np.testing.assert_allclose(lists.features @ model.weights + model.intercept, linear.predict(lists), rtol=1e-12)


@pytest.mark.parametrize("options", [{"hidden": (4, 3)}, {"hidden": 5, "activation": "relu"}, {"output": "tanh"}])
def test_networks_use_the_ordinary_tanh_and_no_standardization(options, lists) -> None:
    ranker = podium.Ranker(LISTNET, MLP(**options), random_state=0).fit(lists)
    model = portable(ranker)
    assert isinstance(model, Network)
    values = lists.features
    for layer in model.layers:
        values = values @ layer.weights + layer.bias
        values = {"linear": values, "tanh": np.tanh(values), "relu": np.maximum(values, 0)}[layer.activation]
    np.testing.assert_allclose(values[:, 0], ranker.predict(lists), rtol=1e-9, atol=1e-12)


@pytest.fixture(scope="module")
def far(lists: podium.Queries) -> podium.Queries:
    """Float32 features of which one is a time in seconds: its differences are the last digits."""
    features = (lists.features * [3e3, 1.0, 1.0] + [1.6e9, 0.0, 0.0]).astype(np.float32)
    return podium.Queries(features, lists.labels, sizes=lists.sizes)


@pytest.mark.parametrize("engine", ["solr", "opensearch"])
def test_features_far_from_zero_keep_their_digits_in_float32(engine: str, far, tmp_path: Path) -> None:
    """Also after saving and loading. Without the normalizers the order is another."""
    file = tmp_path / "model.json"
    rankers = [podium.ListNet(), podium.Ranker(LISTNET, MLP(hidden=4), random_state=0)]
    for ranker in rankers[: 2 if engine == "solr" else 1]:
        ranker.fit(far).save(tmp_path / "model.podium")
        loaded = podium.load(tmp_path / "model.podium")
        podium.export(loaded, file, format=engine)
        ours = ranker.predict(far.features.astype(np.float64))  # networks compute in the type of the features
        theirs = find(engine).emulate(file, far.features)
        spread = ours.max() - ours.min()
        assert np.abs(ours - ours.mean() - (theirs - theirs.mean())).max() < 1e-5 * spread
        assert podium.check_export(loaded, file, far, format=engine)[0]
        assert "feature_1 are far from 0" in (tmp_path / "model.json.README.md").read_text()
        content = file.read_text()
        file.write_text(re.sub(r'"(avg|mean)": [^,}]*', r'"\1": "0.0"', content))
        assert file.read_text() != content
        theirs = find(engine).emulate(file, far.features)
        if engine == "opensearch" or ranker is rankers[0]:
            assert np.abs(ours - ours.mean() - (theirs - theirs.mean())).max() > 1e-4 * spread


def test_rules_are_trees_of_two_leaves(lists) -> None:
    ranker = podium.RankBoost(n_rounds=20).fit(lists)
    model = portable(ranker)
    assert isinstance(model, Trees)
    above = lists.features[:, model.forest.feature] > model.forest.threshold
    np.testing.assert_allclose(above @ model.forest.leaf_value[1::2], ranker.predict(lists), rtol=1e-12)


def test_names_of_features(linear, lists) -> None:
    assert portable(linear).feature_names == ("feature_1", "feature_2", "feature_3")
    named = podium.Queries(lists.features, lists.labels, sizes=lists.sizes, feature_names=["a", "b", "c"])
    assert portable(podium.Regression().fit(named)).feature_names == ("a", "b", "c")
    for names, message in (
        (["a", "b"], "2 feature names were given for a model of 3"),
        (["a", "b", "a"], "features 1 and 3 are both named 'a'"),
        (["a", " ", "c"], "the name of feature 2"),
        (["a", "b\n", "c"], "the name of feature 2"),
        ("abc", "not one string"),
    ):
        with pytest.raises(ValueError, match=message):
            portable(linear, names)


def test_refusals_say_why_and_what_to_do() -> None:
    """Rankers need not be fitted to be refused."""
    for ranker, why, what in (
        (podium.ListNet(normalize="minmax"), "rescales features within each query", 'normalize="robust"'),
        (podium.BoltzRank(pairwise=True), "looking at the other documents", "podium.distill"),
        (podium.Blend([podium.ListNet()]), "looking at the other documents", "podium train DATA --distill"),
        (podium.StructRank(normalize="standard"), "documents it was trained on", "podium.distill"),
        (podium.RandomRanker(), "hash of the features", "comparisons only"),
        (podium.PMF(), "model of ratings", "recommend"),
        ("model.podium", "not a Podium ranker", "podium.load"),
    ):
        refusal = export_refusals(ranker)["solr"]
        assert why in refusal
        assert what in refusal
        with pytest.raises(NotExportable, match=why):
            podium.export(ranker, "model.json", format="solr")


def test_mistakes_write_nothing(linear, tmp_path: Path) -> None:
    file = tmp_path / "model.json"
    for options, message in (
        ({"format": "lucene"}, "no format named 'lucene'; there are elasticsearch, lightgbm,"),
        ({"format": "solr", "table": "t"}, "no option 'table'; its options: name, store"),
        ({"format": "solr", "feature_names": ["a"]}, "1 feature names"),
        ({"format": "opensearch", "type": "model/xgboost+json"}, "model/linear or model/ranklib"),
        ({"format": "vespa", "feature_names": ["a b", "c", "d"]}, "'a b' is not the name of a rank feature"),
        ({"format": "xgboost"}, "takes trees"),
    ):
        with pytest.raises(ValueError, match=message):
            podium.export(linear, file, **options)
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(podium.NotExportable, match="single precision"):
        find("solr").write(Linear(np.array([1e39]), 0.0, ("a",)), {"name": "model"})


def test_only_the_files_of_the_export_are_written(linear, tmp_path: Path) -> None:
    """A feature set for the same features and the same engine is kept: it may have been filled in."""
    (tmp_path / "other.json").write_text("mine")
    file = tmp_path / "model.json"
    files = podium.export(linear, file, format="solr")
    assert [path.name for path in files] == ["model.json", "model.json.README.md", "model.json.features.json"]
    features = files[2]
    edited = features.read_text().replace('"field": "feature_1"', '"field": "price"')
    assert edited != features.read_text()
    features.write_text(edited)
    assert len(podium.export(linear, file, format="solr")) == 2
    assert features.read_text() == edited
    assert len(podium.export(linear, file, format="opensearch")) == 3  # that is another engine
    assert "featureset" in json.loads(features.read_text())
    assert len(podium.export(linear, file, format="opensearch", feature_names=["a", "b", "c"])) == 3  # other features
    features.write_text("not JSON")
    assert len(podium.export(linear, file, format="opensearch")) == 3
    assert sorted(path.name for path in tmp_path.iterdir())[-1] == "other.json"
    assert (tmp_path / "other.json").read_text() == "mine"


def test_the_page_beside_a_model_says_what_differs_there(linear, lists, tmp_path: Path) -> None:
    gaps = np.where(np.random.default_rng(0).random(lists.features.shape) < 0.3, np.nan, lists.features)
    trees = podium.GBDT(n_trees=5, n_leaves=4).fit(podium.Queries(gaps, lists.labels, sizes=lists.sizes))
    for engine in ("solr", "opensearch", "elasticsearch"):
        podium.export(linear, tmp_path / "m.json", format=engine)
        assert "have no intercept" in (tmp_path / "m.json.README.md").read_text()
        podium.export(trees, tmp_path / "m.json", format=engine)
        assert "trained on data with missing values (feature_" in (tmp_path / "m.json.README.md").read_text()
        (check,) = podium.check_export(trees, tmp_path / "m.json", lists, format=engine)
        assert check  # documents that have all features are scored as in Podium
    pages = [(tmp_path / "m.json.README.md").read_text()]
    assert "_ltr/_featureset/m/_createmodel --data-binary @m.json" in pages[0]
    podium.export(trees, tmp_path / "m.json", format="vespa")
    assert 'lightgbm("m.json")' in (tmp_path / "m.json.README.md").read_text()


def test_thresholds_in_single_precision() -> None:
    rng = np.random.default_rng(0)
    t = np.concatenate((rng.normal(size=500) * 10.0 ** rng.integers(-12, 12, 500), [0.0, 0.1, 1.0, np.inf, -np.inf]))
    near = np.float32(np.clip(t, -3e38, 3e38))
    for x in (near, np.nextafter(near, np.float32(np.inf)), np.nextafter(near, np.float32(-np.inf))):
        left = x.astype(np.float64) <= t
        np.testing.assert_array_equal(x <= floor32(t), left)
        np.testing.assert_array_equal(x < above32(t), left)
    solr = before_slack(t)
    assert (solr + SLACK <= floor32(t)).all()


def test_solr_multiplies_features_whose_thresholds_are_close_to_zero() -> None:
    forest = Forest.of_steps(np.array([0, 0, 1, 2, 2]), np.array([3e-7, 1.0, 0.5, 1e-35, 1e30]), np.ones(5), 4)
    by = scales(forest)
    assert by[0] > 1
    np.testing.assert_array_equal(np.log2(by) % 1, 0)
    np.testing.assert_array_equal(by[1:], 1)  # not needed; not possible; not used
    wanted = floor32(forest.threshold[:2]) * by[0]
    np.testing.assert_array_equal(before_slack(wanted) + SLACK, wanted)


def test_the_room_is_also_the_function(linear, tmp_path: Path) -> None:
    import podium.export.api

    assert podium.export(linear, tmp_path / "model.json", format="solr")
    assert podium.export.NotExportable is podium.NotExportable

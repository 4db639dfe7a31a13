"""Exported models in a real Solr server, and the way back: training data from what it logs."""

from __future__ import annotations

import json
import re
import shlex
import urllib.parse
from pathlib import Path

import numpy as np
import pytest

import podium
from podium.cli.main import main
from podium.export.portable import Trees
from podium.export.target import find
from podium.numerics.trees.forest import Forest
from podium.scorers import MLP, Linear

from .judging import LINEAR, NETWORKS, TREES, assert_same_scores, rows_for

NAMES = [f"feature_{j}" for j in range(1, 6)]
EMULATE = find("solr").emulate


@pytest.mark.parametrize("kind", [*LINEAR, *TREES, *NETWORKS])
def test_scores_and_order_are_ours(kind: str, solr, models, queries, tmp_path: Path) -> None:
    model = models[kind]
    rows = rows_for(model, queries)
    known = np.nan_to_num(rows)  # in Solr a missing field is 0
    file, *_ = podium.export(model, tmp_path / "model.json", format="solr")
    scores = solr.scores(file, rows, NAMES)
    constant = getattr(model, "intercept_", 0.0)  # Solr's linear models have none
    np.testing.assert_array_equal(np.float32(scores), EMULATE(file, known))
    # Thresholds of 1e-35 next to others of more than 8: Solr's slack hides them, and no power of two helps.
    unscaled = np.array(["norm" not in feature for feature in json.loads(file.read_text())["features"]])
    hidden = (known != 0) & (np.abs(known) < 1e-34) & unscaled
    seen = ~hidden.any(axis=1)
    assert seen.mean() > 0.95
    assert_same_scores(scores[seen], model.predict(known)[seen], 2e-6, constant)


@pytest.mark.parametrize("scorer", [Linear(), MLP(hidden=3)], ids=["linear", "network"])
def test_features_far_from_zero(scorer, solr, queries, tmp_path: Path) -> None:
    """A time in seconds: a normalizer subtracts its mean before float32 loses what differs."""
    features = queries.features.copy()
    features[:, 0] = 1.6e9 + 1e5 * features[:, 0]
    far = queries.with_features(features, None)
    model = podium.Ranker(podium.losses.ListNetLoss(), scorer, random_state=0).fit(far)
    file, *_ = podium.export(model, tmp_path / "model.json", format="solr")
    assert "StandardNormalizer" in file.read_text()
    scores, ours = solr.scores(file, features, NAMES), model.predict(far)
    assert_same_scores(scores - scores.mean(), ours - ours.mean(), 1e-5)
    np.testing.assert_array_equal(np.float32(scores), EMULATE(file, features))


@pytest.mark.parametrize("kind", ["linear", "linear with an intercept", "AdaRank", "network"])
def test_logarithms_are_features(kind: str, solr, models_of_logarithms, heavy, tmp_path: Path) -> None:
    """Function queries of the feature set take them; a query's score is not negative, so there is one per sign."""
    model = models_of_logarithms[kind]
    file, *_ = podium.export(model, tmp_path / "model.json", format="solr")
    names = [feature["name"] for feature in json.loads(file.read_text())["features"]]
    logarithms = ["log_feature_1", "feature_2", "log_feature_3", "feature_4", "feature_5", "neglog_feature_1"]
    assert names == logarithms
    rows = np.vstack((heavy.features, np.float32([[0, 0, 0, 0, 0], [1e30, 0, 1e-30, 0, 0], [-1e30, 0, 0, 0, 0]])))
    rows[7, 2] = np.nan  # a missing field is 0 in functions, too
    scores = solr.scores(file, rows, NAMES)
    np.testing.assert_array_equal(np.float32(scores), EMULATE(file, rows))
    assert_same_scores(scores, model.predict(np.nan_to_num(rows)), 2e-6, getattr(model, "intercept_", 0.0))
    assert podium.check_export(model, file, heavy, format="solr")[0]


def test_a_filled_in_logarithm_keeps_its_query_and_gets_the_new_unit(solr, models_of_logarithms, heavy, tmp_path):
    names = ["clicks", "b", "price", "d", "e"]
    file, features = tmp_path / "model.json", tmp_path / "model.json.features.json"
    podium.export(models_of_logarithms["linear"], file, format="solr", feature_names=names)
    filled = features.read_text().replace('field(\\"price\\")', "query({!func v='feature_3'})")  # never below 0
    filled = filled.replace('field(\\"clicks\\")', "field(feature_1)")
    for name, field in zip(names, NAMES, strict=True):
        filled = filled.replace(f'"field": "{name}"', f'"field": "{field}"')
    features.write_text(filled)
    larger = podium.ListNet(normalize="robust").fit(heavy.with_features(heavy.features * np.float32(3)))
    assert features in podium.export(larger, file, format="solr", feature_names=names)
    assert features.read_text().count("query({!func v=") == filled.count("query({!func v=") == 1
    assert features.read_text() != filled
    rows = heavy.features * np.float32(3)
    assert_same_scores(solr.scores(file, rows, NAMES), larger.predict(rows), 2e-6, larger.intercept_)
    assert features not in podium.export(larger, file, format="solr", feature_names=names)  # nothing to change
    content = json.loads(features.read_text())
    content[-1]["params"]["q"] = "{!func}log(field(x))"
    features.write_text(json.dumps(content))
    with pytest.raises(ValueError, match=r"'neglog_clicks' must end like"):
        podium.export(larger, file, format="solr", feature_names=names)


def test_numbers_of_all_sizes(solr, tmp_path: Path) -> None:
    """Steps at thresholds between float32 neighbors, close to zero and far away, with tiny and huge weights."""
    close = [3e-7, -3e-7, 1e-12, -0.0031, -0.0078125, 1e-6, 0.0, 1e-20]
    apart = [0.1, 0.1 + 1e-9, 1 / 3, 1.0, -5.25, 8388608.5, 16777217.0, 1e20]
    thresholds = np.array(close + apart)
    feature = np.repeat([0, 1], len(close))
    rng = np.random.default_rng(0)
    weights = rng.permutation(2.0 ** np.arange(len(thresholds)))  # every combination of decisions has its own sum
    forest = Forest.of_steps(feature, thresholds, weights, 2)
    values = np.float32(thresholds)
    values = np.concatenate(
        (values, np.nextafter(values, np.float32(9e30)), np.nextafter(values, np.float32(-9e30)), [0])
    )
    rows = np.array([(a, b) for a in values for b in (0.0, 7.0)] + [(0.0, b) for b in values], np.float32)
    expected = (rows[:, feature].astype(np.float64) > thresholds) @ weights
    file = put_together(Trees(forest, ("feature_1", "feature_2")), tmp_path)
    np.testing.assert_array_equal(solr.scores(file, rows, NAMES[:2]), expected)
    extremes = Forest.of_steps(np.array([0, 0, 1]), np.array([0.0, 1.0, 2.0]), np.array([1e30, -1e-30, 1e-44]), 2)
    file = put_together(Trees(extremes, ("feature_1", "feature_2")), tmp_path)
    scores = solr.scores(file, np.array([[0, 0], [0.5, 0], [0, 3]], np.float32), NAMES[:2])
    np.testing.assert_array_equal(np.float32(scores), np.array([0, 1e30, 1e-44], np.float32))


def test_a_feature_set_that_was_filled_in_is_kept(solr, models, queries, tmp_path: Path) -> None:
    """Names that need escaping, computed from fields with other names; exporting again keeps the definitions."""
    names = ["tf(title)", 'say "hi"', "back\\slash", "größe", "it's {x}"]
    model, file = models["trees"], tmp_path / "model.json"
    podium.export(model, file, format="solr", feature_names=names, name="other-name", store="my_store")
    written = tmp_path / "model.json.features.json"
    features = json.loads(written.read_text())
    for feature, field in zip(features, NAMES, strict=True):
        feature["params"]["field"] = field
    written.write_text(json.dumps(features))
    again = podium.export(model, file, format="solr", feature_names=names, name="other-name", store="my_store")
    assert again == [file, tmp_path / "model.json.README.md"]
    scores = solr.scores(file, queries.features, NAMES)
    assert_same_scores(scores, model.predict(queries), 2e-6)


def put_together(model: Trees, folder: Path) -> Path:
    """Write a model that no ranker has learned, with its features."""
    target, options, file = find("solr"), {"name": "model"}, folder / "model.json"
    file.write_text(target.write(model, options))
    for suffix, text in target.companions(model, file.name, options).items():
        (folder / f"{file.name}.{suffix}").write_text(text)
    return file


# ---- from Solr and back: the example of docs/export/solr.md

PAGE = (Path(__file__).parents[2] / "docs" / "export" / "solr.md").read_text("utf-8")
WORDS = ["red", "blue", "green", "warm", "light", "shoes", "coat", "hat", "scarf", "socks"]


@pytest.mark.parametrize("method", ["lambdamart", "listnet"])
def test_index_log_join_train_export_upload_rerank(method: str, solr, tmp_path: Path, monkeypatch) -> None:
    """Features and commands are read from the page."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(7)
    products = [
        {
            "id": f"sku-{i}",
            "title_t": " ".join(rng.choice(WORDS, 4)),
            "popularity_d": rng.gamma(2.0),
            "age_d": rng.gamma(3.0),
        }
        for i in range(150)
    ]
    del products[5]["age_d"]  # a document may lack a field
    solr.call("update", {"delete": {"query": "*:*"}})
    solr.call("update?commit=true", products)
    for kept in ("model-store/ranker", "feature-store/shop"):
        solr.call(f"schema/{kept}", method="DELETE")
    features = json.loads(re.search(r"```json\n(.*?)```", PAGE, re.DOTALL)[1])
    solr.call("schema/feature-store", features, method="PUT")

    def select(query: str, **more: str) -> dict:
        asked = {"q": query, "defType": "edismax", "qf": "title_t", "mm": 1, "rows": 100, **more}
        return solr.call(f"select?{urllib.parse.urlencode(asked)}")

    queries = {str(i): " ".join(rng.choice(WORDS, 2, replace=False)) for i in range(25)}
    with Path("logged.json").open("w") as log:
        for qid, text in queries.items():
            answer = select(text, qid=qid, echoParams="explicit", fl=f"id,[features store=shop efi.query='{text}']")
            log.write(json.dumps(answer) + "\n")
    with Path("judgments.txt").open("w") as qrels:
        for qid, text in queries.items():
            for product in products[3:]:  # the first three were never judged
                matches = len(set(text.split()) & set(product["title_t"].split()))
                worth = matches + 0.5 * product["popularity_d"] - 0.3 * product.get("age_d", 0.0)
                qrels.write(f"{qid} 0 {product['id']} {int(np.clip(worth, 0, 3))}\n")

    commands = re.findall(r"(?m)^podium (.*)$", PAGE)
    assert [command.split()[0] for command in commands] == ["join", "train", "export"]
    for command in commands:
        assert main(shlex.split(command.replace("lambdamart", method))) == 0

    solr.call("schema/model-store", Path("ranker.json").read_bytes(), method="PUT")
    ranker, data = podium.load("ranker.podium"), podium.read_logged("logged.json")
    assert data.feature_names == ("title_match", "popularity", "freshness", "first_score")
    assert ranker.score(podium.read_queries("data.parquet")) > 0.8
    query_of = data.qids[data.query_of_document]
    ours = dict(zip(zip(query_of, data.document_ids, strict=True), ranker.predict(data), strict=True))
    changed = 0
    for qid, text in queries.items():
        found = select(text, rq=f"{{!ltr model=ranker reRankDocs=100 efi.query='{text}'}}", fl="id,score")
        before = select(text, fl="id")["response"]["docs"]
        found = found["response"]["docs"]
        expected = np.array([ours[qid, product["id"]] for product in found])
        scores = np.array([product["score"] for product in found])
        assert len(found) == len(before) > 20
        np.testing.assert_allclose(scores, expected, rtol=1e-5, atol=1e-5)
        assert (np.diff(expected) <= 1e-5).all()  # Solr's order is ours
        changed += [product["id"] for product in found] != [product["id"] for product in before]
    assert changed == len(queries)  # and not that of the first search

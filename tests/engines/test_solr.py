"""Exported models in a real Solr server, and the way back: training data from what it logs."""

from __future__ import annotations

import json
import urllib.parse
from pathlib import Path

import numpy as np
import pytest

import podium
from podium.cli.main import main
from podium.export.portable import Trees
from podium.export.target import find
from podium.numerics.trees.forest import Forest

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
    assert_same_scores(scores, model.predict(known), 2e-6, constant)
    np.testing.assert_array_equal(np.float32(scores), EMULATE(file, known))


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


# ---- from Solr and back; the commands are those of docs/export/solr.md

N_QUERIES, N_DOCUMENTS = 25, 12
FEATURES = [
    {"name": "popularity", "class": "FieldValueFeature", "params": {"field": "feature_popularity"}},
    {"name": "freshness", "class": "SolrFeature", "params": {"q": "{!func}div(1,sum(1,feature_age))"}},
    {"name": "first_score", "class": "OriginalScoreFeature", "params": {}},
    {"name": "words_in_query", "class": "ValueFeature", "params": {"value": "${words}", "required": True}},
]


@pytest.mark.parametrize("method", ["listnet", "lambdamart"])
def test_index_log_join_train_export_upload_rerank(method: str, solr, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(7)
    documents = [
        {"id": f"{q}-{d}", "qid": str(q), "feature_popularity": rng.gamma(2.0), "feature_age": rng.gamma(3.0)}
        for q in range(N_QUERIES)
        for d in range(N_DOCUMENTS)
    ]
    del documents[5]["feature_age"]  # a document may lack a field
    solr.call("update", {"delete": {"query": "*:*"}})
    solr.call("update?commit=true", documents)

    store = "shop"
    for kind in ("model-store/ranker", f"feature-store/{store}"):
        solr.call(f"schema/{kind}", method="DELETE")
    classes = [
        {**feature, "store": store, "class": f"org.apache.solr.ltr.feature.{feature['class']}"} for feature in FEATURES
    ]
    solr.call("schema/feature-store", classes, method="PUT")

    def select(query: int, **more: str) -> dict:
        asked = {"q": f"qid:{query}", "qid": query, "rows": N_DOCUMENTS, "echoParams": "explicit", **more}
        return solr.call(f"select?{urllib.parse.urlencode(asked)}")

    with Path("logged.jsonl").open("w") as log:
        for query in range(N_QUERIES):
            answer = select(query, fl=f"id,[features store={store} efi.words={1 + query % 3}]")
            log.write(json.dumps(answer) + "\n")
    with Path("judgments.txt").open("w") as qrels:
        for document in documents[3:]:  # the first three were never judged
            worth = document["feature_popularity"] - 0.5 * document.get("feature_age", 0.0) + rng.normal(0.0, 0.3)
            qrels.write(f"{document['qid']} 0 {document['id']} {int(np.clip(worth, 0, 3))}\n")

    assert main(["join", "logged.jsonl", "--judgments", "judgments.txt", "-o", "data.parquet"]) == 0
    assert main(["train", "data.parquet", "--method", method, "-o", "ranker.podium"]) == 0
    export = ["export", "ranker.podium", "--format", "solr", "-o", "ranker.json", "--set", f"store={store}"]
    assert main([*export, "--check", "data.parquet"]) == 0

    solr.call("schema/model-store", Path("ranker.json").read_bytes(), method="PUT")
    ranker, data = podium.load("ranker.podium"), podium.read_logged("logged.jsonl")
    assert data.feature_names == tuple(feature["name"] for feature in FEATURES)
    assert ranker.score(podium.read_queries("data.parquet")) > 0.8
    ours = dict(zip(data.document_ids, ranker.predict(data), strict=True))
    changed = 0
    for query in range(N_QUERIES):
        rerank = f"{{!ltr model=ranker reRankDocs={N_DOCUMENTS} efi.words={1 + query % 3}}}"
        found = select(query, rq=rerank, fl="id,score")["response"]["docs"]
        expected = np.array([ours[document["id"]] for document in found])
        scores = np.array([document["score"] for document in found])
        assert len(found) == N_DOCUMENTS
        np.testing.assert_allclose(scores, expected, rtol=1e-5, atol=1e-5)
        assert (np.diff(expected) <= 1e-5).all()  # Solr's order is ours
        changed += [document["id"] for document in found] != [f"{query}-{d}" for d in range(N_DOCUMENTS)]
    assert changed > N_QUERIES / 2  # and not the order of the first search

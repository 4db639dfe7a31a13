"""From a search engine and back: index, log features, join judgments, train, export, upload, rerank.

The commands are those of docs/export/solr.md.
"""

from __future__ import annotations

import json
import urllib.parse
from pathlib import Path

import numpy as np
import pytest

import podium
from podium.cli.main import main

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

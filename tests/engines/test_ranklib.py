"""The plugin's RankLib: what OpenSearch and Elasticsearch call ``model/ranklib``."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import podium
from podium.export.target import find

from .judging import LINEAR, TREES, assert_same_scores, rows_for
from .running import run_java


@pytest.mark.parametrize("kind", ["linear", "linear with an intercept", *TREES])
def test_scores_are_ours(kind: str, models, queries, tmp_path: Path) -> None:
    model = models[kind]
    rows = np.nan_to_num(rows_for(model, queries))
    body, *_ = podium.export(model, tmp_path / "body.json", format="elasticsearch", type="model/ranklib")
    text = tmp_path / "model.txt"
    text.write_text(json.loads(body.read_text())["model"]["model"]["definition"])
    scores = ranklib(text, rows)
    constant = model.intercept_ if kind in LINEAR else 0.0
    assert_same_scores(scores, model.predict(rows), 2e-6, constant)
    np.testing.assert_allclose(scores, find("elasticsearch").emulate(body, rows), rtol=1e-6, atol=1e-12)


def test_derived_features_are_logarithms(models_of_logarithms, heavy, tmp_path: Path) -> None:
    """Lucene's compiler evaluates the expressions of the feature set, RankLib the model of all its features."""
    model, rows = models_of_logarithms["linear"], heavy.features
    body, *_ = podium.export(model, tmp_path / "body.json", format="opensearch", type="model/ranklib")
    features = json.loads((tmp_path / "body.json.features.json").read_text())["featureset"]["features"]
    columns = {feature["name"]: rows[:, j] for j, feature in enumerate(features[: rows.shape[1]])}
    expression, values, text = (tmp_path / name for name in ("expression.txt", "values.txt", "model.txt"))
    for derived in features[rows.shape[1] :]:
        assert derived["template_language"] == "derived_expression"
        expression.write_text(derived["template"])
        values.write_text("\n".join(repr(float(x)) for x in columns[derived["name"].removeprefix("log_")]) + "\n")
        columns[derived["name"]] = run_java("solr", "LuceneExpression.java", expression, values).astype(np.float32)
    assert list(columns)[rows.shape[1] :] == ["log_feature_1", "log_feature_3"]
    text.write_text(json.loads(body.read_text())["model"]["model"]["definition"])
    scores = ranklib(text, np.column_stack(list(columns.values())))
    assert_same_scores(scores, model.predict(heavy), 2e-6, model.intercept_)
    assert_same_scores(find("opensearch").emulate(body, rows), model.predict(heavy), 2e-6, model.intercept_)


def ranklib(model: Path, rows: np.ndarray) -> np.ndarray:
    lines = ["0 qid:1 " + " ".join(f"{j}:{float(x)!r}" for j, x in enumerate(row, start=1)) for row in rows]
    written = model.with_name("rows.txt")
    written.write_text("\n".join(lines) + "\n")
    return run_java("ranklib", "RankLibScore.java", model, written)

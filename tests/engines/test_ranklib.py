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
    lines = ["0 qid:1 " + " ".join(f"{j}:{float(x)!r}" for j, x in enumerate(row, start=1)) for row in rows]
    (tmp_path / "rows.txt").write_text("\n".join(lines) + "\n")
    scores = run_java("ranklib", "RankLibScore.java", text, tmp_path / "rows.txt")
    constant = model.intercept_ if kind in LINEAR else 0.0
    assert_same_scores(scores, model.predict(rows), 2e-6, constant)
    np.testing.assert_allclose(scores, find("elasticsearch").emulate(body, rows), rtol=1e-6, atol=1e-12)

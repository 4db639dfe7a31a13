"""Thresholds, missing values and categories in onnxruntime, XGBoost and DuckDB."""

from __future__ import annotations

import json

import numpy as np
import onnx
import onnxruntime
import pytest
import xgboost

import podium
from podium.export.target import find

RUNS = [("onnx", "onnxruntime"), ("xgboost", "XGBoost"), ("sql", "DuckDB")]


@pytest.mark.parametrize(("name", "by"), RUNS)
def test_decisions_at_thresholds(traps, rows_at_thresholds, tmp_path, name, by):
    podium.export(traps, tmp_path / "model", format=name)
    found = find(name).runs[by](tmp_path / "model", rows_at_thresholds)
    np.testing.assert_array_equal(found, traps.predict(rows_at_thresholds))


@pytest.mark.parametrize(("name", "by"), RUNS)
def test_categories_count_by_their_whole_part(fitted, queries, tmp_path, name, by):
    model = fitted("trees with categorical features")
    rows = np.repeat(queries.features[:1].astype(np.float64), 100, axis=0)
    rows[:, 3] = np.linspace(-2.5, 47.25, 100)
    rows[:5, 3] = [np.nan, -0.5, 0.5, -1, 1e6]
    if by == "XGBoost":
        rows[1:4, 3] = 7  # XGBoost refuses negative categories
        rows = rows[rows[:, 3] >= 0]
    podium.export(model, tmp_path / "m", format=name)
    np.testing.assert_allclose(find(name).runs[by](tmp_path / "m", rows), model.predict(rows), rtol=3e-7)


def test_an_onnx_file_describes_itself(fitted, queries, tmp_path):
    model = fitted("trees: LambdaMART, GBDT, GBRank and others")
    podium.export(model, tmp_path / "m.onnx", format="onnx", feature_names=list("abcdef"))
    session = onnxruntime.InferenceSession(tmp_path / "m.onnx")
    (given,), (first, *_) = session.get_inputs(), session.get_outputs()
    assert (given.name, given.type, given.shape) == ("features", "tensor(float)", ["documents", 6])
    assert (first.name, first.type, first.shape) == ("scores", "tensor(float)", ["documents"])
    assert json.loads(session.get_modelmeta().custom_metadata_map["feature_names"]) == list("abcdef")
    onnx.checker.check_model(tmp_path / "m.onnx", full_check=True)
    scores = session.run(None, {"features": queries.features.astype(np.float32)})[0]
    assert scores.tolist() == model.predict(queries).astype(np.float32).tolist()


def test_xgboost_knows_the_names(fitted, tmp_path):
    podium.export(
        fitted("rules: RankBoost, FRank"), tmp_path / "m.json", format="xgboost", feature_names=list("abcdef")
    )
    booster = xgboost.Booster(model_file=tmp_path / "m.json")
    assert booster.feature_names == list("abcdef")
    assert booster.num_boosted_rounds() == len(booster.get_dump())


def test_modules_that_look_at_lists(queries, tmp_path):
    import torch

    class Attention(torch.nn.Module):
        def __init__(self, counts: bool) -> None:
            super().__init__()
            self.project, self.score = torch.nn.Linear(6, 12), torch.nn.Linear(4, 1)
            self.counts = counts

        def forward(self, x):
            q, k, v = self.project(x).chunk(3, dim=-1)
            scores = self.score(torch.nn.functional.scaled_dot_product_attention(q, k, v))
            return scores + torch.ones(int(x.shape[0]), 1) if self.counts else scores

    few = podium.training.Stochastic(epochs=2)
    for counts in (False, True):
        torch.manual_seed(0)
        scorer = podium.scorers.Torch(Attention(counts), per="list")
        model = podium.Ranker(podium.losses.ListNetLoss(), scorer, few, random_state=0).fit(queries)
        path = tmp_path / "attention.onnx"
        if counts:
            with pytest.raises(podium.NotExportable, match="for lists of one length only"):
                podium.export(model, path, format="onnx")
            continue
        podium.export(model, path, format="onnx")
        assert all(podium.check_export(model, path, queries, format="onnx"))
        assert "documents of one query" in path.with_name("attention.onnx.README.md").read_text().replace("all ", "")

"""Exported models in Vespa's own importers and evaluator."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import podium
from podium.export.portable import Trees, portable
from podium.export.target import find

from .judging import LINEAR, TREES, assert_same_scores, rows_for
from .running import run_java

NAMES = ["feature_1", "bm25(title)", "attribute(age)", "fieldMatch(title).proximity", "feature_5"]


def vespa(kind: str, model: Path, X: np.ndarray, folder: Path, names: list[str] = NAMES) -> np.ndarray:
    rows = folder / "rows.csv"
    lines = [",".join(names), *(",".join(repr(float(x)).replace("nan", "NaN") for x in row) for row in X)]
    rows.write_text("\n".join(lines) + "\n")
    return run_java("vespa", "VespaScore.java", kind, model, rows)


@pytest.mark.parametrize("kind", TREES)
def test_trees(kind: str, models, queries, tmp_path: Path) -> None:
    """Doubles on and next to every threshold; missing values go where they go in Podium."""
    model = models[kind]
    rows = rows_for(model, queries, np.float64)
    if kind.startswith("trees"):
        rows = np.vstack((rows, np.where(np.random.default_rng(1).random(rows.shape) < 0.2, np.nan, rows)))
    file, *_ = podium.export(model, tmp_path / "model.json", format="vespa", feature_names=NAMES)
    scores = vespa("lightgbm", file, rows, tmp_path)
    assert_same_scores(scores, model.predict(rows), 1e-15)
    np.testing.assert_array_equal(scores, find("vespa").emulate(file, rows))


def test_linear(models, queries, tmp_path: Path) -> None:
    for kind in LINEAR:
        file, *_ = podium.export(models[kind], tmp_path / "model.txt", format="vespa", feature_names=NAMES)
        scores = vespa("expression", file, queries.features, tmp_path)
        assert_same_scores(scores, models[kind].predict(queries.features), 1e-15)
        np.testing.assert_allclose(scores, find("vespa").emulate(file, queries.features), rtol=1e-12)


def test_logarithms_in_expressions(models_of_logarithms, heavy, tmp_path: Path) -> None:
    rows = np.vstack((heavy.features, np.zeros((1, 5), np.float32)))
    for kind in ("linear", "linear with an intercept", "AdaRank"):
        model = models_of_logarithms[kind]
        file, *_ = podium.export(model, tmp_path / "model.txt", format="vespa", feature_names=NAMES)
        scores = vespa("expression", file, rows, tmp_path)
        assert_same_scores(scores, model.predict(rows.astype(np.float64)), 1e-13)
        np.testing.assert_allclose(scores, find("vespa").emulate(file, rows), rtol=1e-12)


@pytest.mark.parametrize("kind", TREES)
def test_the_plugins_xgboost_dump(kind: str, models, queries, tmp_path: Path) -> None:
    """Vespa reads the definition that OpenSearch's plugin is given, in float64: values are float32 numbers."""
    model = models[kind]
    rows = np.nan_to_num(rows_for(model, queries))
    file, *_ = podium.export(model, tmp_path / "body.json", format="opensearch", feature_names=NAMES)
    dump = tmp_path / "dump.json"
    dump.write_text(json.loads(file.read_text())["model"]["model"]["definition"])
    scores = vespa("xgboost", dump, rows, tmp_path)
    assert_same_scores(scores, model.predict(rows), 1e-15)
    assert_same_scores(find("opensearch").emulate(file, rows), model.predict(rows), 2e-6)


def test_a_threshold_as_it_is_would_be_wrong(models, queries, tmp_path: Path) -> None:
    """These tests can fail: LightGBM's own thresholds send values on them to the wrong side."""
    model = models["trees"]
    rows = rows_for(model, queries, np.float64)
    file, *_ = podium.export(model, tmp_path / "model.json", format="vespa", feature_names=NAMES)
    content = json.loads(file.read_text())

    def lower(node: dict) -> None:
        if "threshold" in node:
            node["threshold"] = float(np.nextafter(node["threshold"], -np.inf))
            lower(node["left_child"])
            lower(node["right_child"])

    for tree in content["tree_info"]:
        lower(tree["tree_structure"])
    file.write_text(json.dumps(content))
    forest = portable(model, NAMES)
    assert isinstance(forest, Trees)
    wrong = np.abs(vespa("lightgbm", file, rows, tmp_path) - model.predict(rows)) > 1e-6
    assert wrong.sum() > 0.5 * len(forest.forest.feature)

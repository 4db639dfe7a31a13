"""The plugin's trees are what XGBoost itself dumps."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import xgboost

import podium


def test_the_definition_is_xgboosts_own_dump_of_the_same_trees(queries, tmp_path: Path) -> None:
    model = podium.LambdaMART(n_trees=8, n_leaves=6, random_state=0).fit(queries)
    podium.export(model, tmp_path / "body.json", format="opensearch")
    podium.export(model, tmp_path / "model.json", format="xgboost")
    body = json.loads((tmp_path / "body.json").read_text())["model"]
    assert body["name"] == "body"
    assert body["model"]["type"] == "model/xgboost+json"
    ours = json.loads(body["model"]["definition"])
    theirs = [
        json.loads(tree) for tree in xgboost.Booster(model_file=tmp_path / "model.json").get_dump(dump_format="json")
    ]
    assert len(ours) == len(theirs) == 8
    for root, expected in zip(ours, theirs, strict=True):
        same_tree(root, expected)


def same_tree(node: dict, expected: dict) -> None:
    assert node.keys() <= expected.keys() | {"nodeid"}  # the plugin refuses keys that it does not know
    if "leaf" in expected:
        np.testing.assert_allclose(node["leaf"], expected["leaf"], rtol=1e-6)
        return
    assert node["split"] == expected["split"]
    assert node["depth"] == expected["depth"]
    assert np.float32(node["split_condition"]) == np.float32(expected["split_condition"])
    for way in ("yes", "no"):
        same_tree(child(node, way), child(expected, way))
    assert (node["missing"] == node["yes"]) == (expected["missing"] == expected["yes"])


def child(node: dict, way: str) -> dict:
    return next(child for child in node["children"] if child["nodeid"] == node[way])

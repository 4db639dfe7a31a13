"""Trees as flat arrays."""

from __future__ import annotations

import numpy as np
import pytest

from podium.numerics.trees.forest import NAN, NEVER, Forest, read_forest
from podium.numerics.trees.lightgbm_text import bare_text, constant_text

lightgbm = pytest.importorskip("lightgbm")


@pytest.fixture(scope="module")
def booster():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 4))
    X[:, 2] = rng.integers(0, 40, 400)
    X[rng.random(400) < 0.2, 1] = np.nan
    y = X[:, 0] + np.nan_to_num(X[:, 1]) + 5 * np.isin(X[:, 2], [3, 7, 33, 38])
    settings = {"num_leaves": 7, "verbosity": -1, "min_data_in_leaf": 5, "cat_smooth": 1, "num_threads": 1}
    settings |= {"min_data_per_group": 1}
    return lightgbm.train(settings, lightgbm.Dataset(X, y, categorical_feature=[2]), 5)


def test_forest_is_what_lightgbm_dumps(booster) -> None:
    forest = read_forest(bare_text(booster.model_to_string()).replace("objective=regression\n", ""))
    nodes: list[dict] = []
    for t, tree in enumerate(booster.dump_model()["tree_info"]):
        waiting = [tree["tree_structure"]]
        while waiting:
            node = waiting.pop()
            nodes.append({**node, "tree": t})
            waiting += [node[side] for side in ("left_child", "right_child") if side in node]
    inner, leaves = [n for n in nodes if "split_index" in n], [n for n in nodes if "leaf_index" in n]
    assert forest.n_trees == 5
    assert forest.n_features == 4
    assert {n["decision_type"] for n in inner} == {"<=", "=="}
    assert len(inner) == len(forest.feature)
    assert len(leaves) == len(forest.leaf_value)
    for node in inner:
        k = forest.node_offsets[node["tree"]] + node["split_index"]
        assert forest.feature[k] == node["split_feature"]
        assert forest.categorical[k] == (node["decision_type"] == "==")
        if forest.categorical[k]:
            left = forest.category_sets[int(forest.threshold[k])]
            assert left.tolist() == [int(c) for c in node["threshold"].split("||")]
        else:
            assert forest.threshold[k] == node["threshold"]
            assert forest.missing[k] == {"None": NEVER, "NaN": NAN}[node["missing_type"]]
            assert forest.default_left[k] == node["default_left"]
        assert forest.count[k] == node["internal_count"]
        for children, child in ((forest.left, node["left_child"]), (forest.right, node["right_child"])):
            expected = child["split_index"] if "split_index" in child else ~child["leaf_index"]
            assert children[k] == expected
    for leaf in leaves:
        k = forest.leaf_offsets[leaf["tree"]] + leaf["leaf_index"]
        assert forest.leaf_value[k] == leaf["leaf_value"]
        assert forest.leaf_count[k] == leaf["leaf_count"]


def test_one_leaf() -> None:
    forest = read_forest(constant_text(3, 0.25))
    assert (forest.n_features, forest.n_trees, forest.leaf_value.tolist()) == (3, 1, [0.25])
    assert forest.node_offsets.tolist() == [0, 0]


def test_deep_tree_needs_no_recursion() -> None:
    n = 5000  # each left child is a leaf, each right child the next node
    text = constant_text(1, 0.0)
    leaves = " ".join(["1"] * (n + 1))
    fields = {
        "num_leaves": n + 1,
        "split_feature": " ".join(["0"] * n),
        "threshold": " ".join(map(str, range(n))),
        "decision_type": " ".join(["2"] * n),
        "left_child": " ".join(str(~k) for k in range(n)),
        "right_child": " ".join([*map(str, range(1, n)), str(~n)]),
        "leaf_value": leaves,
        "leaf_weight": leaves,
        "leaf_count": leaves,
        **dict.fromkeys(("split_gain", "internal_value", "internal_weight", "internal_count"), " ".join(["0"] * n)),
    }
    lines = [
        f"{name}={fields[name]}" if (name := line.partition("=")[0]) in fields else line for line in text.split("\n")
    ]
    assert len(read_forest("\n".join(lines)).leaf_value) == n + 1


def test_steps() -> None:
    forest = Forest.of_steps(np.array([0, 2]), np.array([0.5, -1.0]), np.array([1.5, -2.0]), n_features=3)
    assert forest.leaf_value.tolist() == [0.0, 1.5, 0.0, -2.0]
    assert forest.left.tolist() == [-1, -1]
    assert forest.right.tolist() == [-2, -2]

"""XGBoost's model JSON, which ``xgboost.Booster().load_model`` reads.

XGBoost compares float32 values with ``<``, so a threshold becomes the float32 after the largest one that our ``≤`` in
float64 lets pass. It also adds up the leaves in float32: scores have the precision of float32, not more.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np

from podium.export.companions import row_model_companions
from podium.export.missing import goes_left_if_missing
from podium.export.notes import usage
from podium.export.portable import Trees
from podium.export.requirements import require_package
from podium.export.single_precision import above32
from podium.export.target import Options, Target, register

_ROOT = 2**31 - 1
"""The parent of a tree's root."""


def write(model: Trees, options: Options) -> str:
    forest, names = model.forest, model.feature_names
    of_sets = set(forest.feature[forest.categorical].tolist())
    if both := of_sets & set(forest.feature[~forest.categorical].tolist()):
        raise ValueError(f"feature {names[min(both)]!r} is split both as a number and as a category")
    limit, threshold = float(np.finfo(np.float32).max), forest.threshold
    numeric = [threshold >= limit, threshold < -limit]  # every value, or none, is less
    thresholds = np.select([forest.categorical, *numeric], [0.0, np.inf, -limit], above32(threshold))
    missing_left = goes_left_if_missing(forest)
    trees = [_tree(model, t, thresholds, missing_left) for t in range(forest.n_trees)]
    shape = {"num_feature": str(forest.n_features), "num_class": "0", "num_target": "1"}
    learner = {
        "attributes": {},
        "feature_names": list(names),
        "feature_types": ["c" if j in of_sets else "float" for j in range(forest.n_features)],
        "gradient_booster": {
            "name": "gbtree",
            "model": {
                "gbtree_model_param": {"num_parallel_tree": "1", "num_trees": str(len(trees))},
                "iteration_indptr": list(range(len(trees) + 1)),
                "tree_info": [0] * len(trees),
                "trees": trees,
            },
        },
        "learner_model_param": {"base_score": "0E0", "boost_from_average": "0", **shape},
        "objective": {"name": "reg:squarederror", "reg_loss_param": {"scale_pos_weight": "1"}},
    }
    return json.dumps({"learner": learner, "version": [2, 0, 0]})


def _tree(model: Trees, t: int, thresholds: np.ndarray, missing_left: np.ndarray) -> dict[str, Any]:
    """Return a tree. XGBoost takes it for granted that a right child comes directly after the left one."""
    forest = model.forest
    inner = slice(forest.node_offsets[t], forest.node_offsets[t + 1])
    leaf_values = forest.leaf_value[forest.leaf_offsets[t] : forest.leaf_offsets[t + 1]].astype(np.float32)
    n_inner, n_nodes = inner.stop - inner.start, inner.stop - inner.start + len(leaf_values)
    categorical = forest.categorical[inner]
    # XGBoost sends listed categories to the right, and everything else, missing values too, to the left.
    left = np.where(categorical, forest.right[inner], forest.left[inner])
    right = np.where(categorical, forest.left[inner], forest.right[inner])
    place_of_node, place_of_leaf = np.zeros(n_inner, int), np.zeros(len(leaf_values), int)
    parents = np.full(n_nodes, _ROOT)
    for node, siblings in enumerate(zip(left.tolist(), right.tolist(), strict=True)):  # parents come first
        for place, child in enumerate(siblings, start=2 * node + 1):
            parents[place] = place_of_node[node]
            if child >= 0:
                place_of_node[child] = place
            else:
                place_of_leaf[~child] = place
    sets = [forest.category_sets[int(c)] for c in forest.threshold[inner][categorical]]
    sizes = np.array([len(categories) for categories in sets], int)

    def by_place(of_nodes: Any, of_leaves: Any, dtype: Any = int) -> np.ndarray:
        values = np.empty(n_nodes, dtype)
        values[place_of_leaf], values[place_of_node] = of_leaves, of_nodes
        return values

    first_child = 2 * np.arange(n_inner) + 1
    return {
        "id": t,
        "tree_param": {
            "num_deleted": "0",
            "num_feature": str(forest.n_features),
            "num_nodes": str(n_nodes),
            "size_leaf_vector": "1",
        },
        "left_children": by_place(first_child, -1).tolist(),
        "right_children": by_place(first_child + 1, -1).tolist(),
        "parents": parents.tolist(),
        "split_indices": by_place(forest.feature[inner], 0).tolist(),
        "split_conditions": _floats(by_place(thresholds[inner], leaf_values, np.float32)),
        "split_type": by_place(categorical, 0).tolist(),
        "default_left": by_place(missing_left[inner] | categorical, 0).tolist(),
        "base_weights": _floats(by_place(0.0, leaf_values, np.float32)),
        "loss_changes": _floats(by_place(forest.gain[inner], 0.0, np.float32)),
        "sum_hessian": _floats(by_place(forest.count[inner], 0.0, np.float32)),
        "categories": [category for categories in sets for category in categories.tolist()],
        "categories_nodes": place_of_node[categorical].tolist(),
        "categories_segments": (np.cumsum(sizes) - sizes).tolist(),
        "categories_sizes": sizes.tolist(),
    }


def _floats(values: np.ndarray) -> list[float]:
    """Return float32 numbers as those with the fewest digits that are read as the same float32."""
    return [float(str(value)) for value in values.astype(np.float32)]


def run(path: Path, X: np.ndarray) -> np.ndarray:
    """Return the scores of rows by XGBoost itself."""
    xgboost = require_package("xgboost", "xgboost")
    booster = xgboost.Booster(model_file=bytearray(path.read_bytes()))  # a path would need to end in .json
    names, types = booster.feature_names, booster.feature_types
    rows = xgboost.DMatrix(X.astype(np.float32), feature_names=names, feature_types=types, enable_categorical=True)
    return np.asarray(booster.predict(rows), np.float64)


def companions(model: Any, file: str, options: Options) -> dict[str, str]:
    return row_model_companions(model.feature_names, file, "a ranking model for XGBoost", usage("xgboost", file=file))


register(
    Target(
        name="xgboost",
        title="XGBoost's model JSON",
        kinds=(Trees,),
        write=write,
        companions=companions,
        runs={"XGBoost": run},
        precision=np.float32,
        categorical=True,
    )
)

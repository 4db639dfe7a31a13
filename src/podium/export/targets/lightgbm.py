"""LightGBM's text, which ``lightgbm.Booster(model_file=…)`` reads."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from podium.export.companions import row_model_companions
from podium.export.notes import usage
from podium.export.portable import Trees, portable, unwrapped
from podium.export.target import Options, Target, register
from podium.numerics.trees.forest import Forest
from podium.numerics.trees.lightgbm_text import END, constant_text
from podium.scorers.trees.model import TreesModel, import_lightgbm


@dataclass(frozen=True)
class LightGBMTrees:
    """Trees as text, and what the features are to be called."""

    text: str
    feature_names: tuple[str, ...]


def prepare(ranker: Any, feature_names: Sequence[str] | None = None) -> LightGBMTrees:
    """Return the trees of a ranker as LightGBM's text: those that LightGBM grew as it wrote them."""
    trees = portable(ranker, feature_names)
    assert isinstance(trees, Trees)
    for name in trees.feature_names:
        if name.split() != [name]:
            raise ValueError(
                f"LightGBM's files separate the names of features by spaces, so {name!r} cannot be one: give other "
                "names, feature_names= or --feature-names"
            )
    model = unwrapped(ranker).model_
    text = model.text if isinstance(model, TreesModel) else forest_text(trees.forest)
    return LightGBMTrees(text, trees.feature_names)


def write(model: LightGBMTrees, options: Options) -> str:
    named = f"feature_names={' '.join(model.feature_names)}"
    lines = (named if line.startswith("feature_names=") else line for line in model.text.split("\n"))
    return "\n".join(lines)


def forest_text(forest: Forest) -> str:
    """Return the text of trees that split on thresholds; numbers have all their digits."""
    if forest.n_trees == 0:
        return constant_text(forest.n_features, 0.0)
    header = {
        "version": "v4",
        "num_class": 1,
        "num_tree_per_iteration": 1,
        "label_index": 0,
        "max_feature_idx": forest.n_features - 1,
        "feature_names": " ".join(f"Column_{j}" for j in range(forest.n_features)),
        "feature_infos": " ".join(["[-inf:inf]"] * forest.n_features),
    }
    trees = (_tree(forest, t) for t in range(forest.n_trees))
    return "\n".join(["tree", *_lines(header), *(line for tree in trees for line in tree), END])


def _tree(forest: Forest, t: int) -> Iterator[str]:
    nodes = slice(forest.node_offsets[t], forest.node_offsets[t + 1])
    leaves = slice(forest.leaf_offsets[t], forest.leaf_offsets[t + 1])
    no_node, no_leaf = np.zeros(nodes.stop - nodes.start, int), np.zeros(leaves.stop - leaves.start, int)
    arrays = {
        "split_feature": forest.feature[nodes],
        "split_gain": forest.gain[nodes],
        "threshold": forest.threshold[nodes],
        "decision_type": forest.missing[nodes] << 2 | forest.default_left[nodes] << 1,
        "left_child": forest.left[nodes],
        "right_child": forest.right[nodes],
        "leaf_value": forest.leaf_value[leaves],
        "leaf_weight": no_leaf,
        "leaf_count": forest.leaf_count[leaves],
        "internal_value": no_node,
        "internal_weight": no_node,
        "internal_count": forest.count[nodes],
    }
    values = {name: " ".join(map(repr, array.tolist())) for name, array in arrays.items()}
    yield f"Tree={t}"
    yield from _lines({"num_leaves": len(no_leaf), "num_cat": 0, **values, "is_linear": 0, "shrinkage": 1})
    yield ""


def _lines(facts: dict[str, Any]) -> list[str]:
    return [*(f"{name}={value}" for name, value in facts.items()), ""]


def run(path: Path, X: np.ndarray) -> np.ndarray:
    """Return the scores of rows by LightGBM itself."""
    booster = import_lightgbm().Booster(model_file=path)
    return np.asarray(booster.predict(X, raw_score=True), np.float64)


def companions(model: Any, file: str, options: Options) -> dict[str, str]:
    return row_model_companions(model.feature_names, file, "a ranking model for LightGBM", usage("lightgbm", file=file))


register(
    Target(
        name="lightgbm",
        title="LightGBM's text",
        kinds=(Trees,),
        write=write,
        companions=companions,
        runs={"LightGBM": run},
        prepare=prepare,
        categorical=True,
        zero_is_missing=True,
    )
)

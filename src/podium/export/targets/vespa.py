"""Vespa: LightGBM's JSON dump for trees, a ranking expression for linear models.

Vespa computes in float64. Its importer reads LightGBM's dump but sends a value left that is *below* the threshold, so
each threshold becomes the next float64; ``default_left`` says where missing values (NaN) go. It needs ``objective``.
"""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np

from podium.export.missing import goes_left_if_missing
from podium.export.nested import Node, evaluate, nested_trees
from podium.export.notes import described, page, usage
from podium.export.portable import Linear, Portable, Trees
from podium.export.target import Options, Target, register

_REFERENCE = re.compile(r"[A-Za-z_][\w@.-]*(\([\w@., \"-]*\))?(\.[A-Za-z_]\w*)*")
"""The name of a rank feature in Vespa: ``bm25(title)``, ``attribute(age)``, ``fieldMatch(title).proximity``."""
_MISSING = ("None", "Zero", "NaN")


def _write(model: Portable, options: Options) -> str:
    _require_names(model.feature_names)
    if isinstance(model, Linear):
        units = np.zeros(len(model.weights)) if model.logarithms is None else model.logarithms
        features = zip(model.feature_names, model.weights, units.tolist(), strict=True)
        terms = [f"{_number(weight)} * {_logarithm(name, unit)}" for name, weight, unit in features]
        return " + \n".join([*terms, _number(model.intercept)]) + "\n"
    assert isinstance(model, Trees)
    return json.dumps(_dump(model), ensure_ascii=False) + "\n"


def _logarithm(name: str, unit: float) -> str:
    """Return a feature, or sign(x) log(1 + |x| / unit) where it has a unit; log is the natural one."""
    return name if unit == 0 else f"if({name} < 0, -log(1 - {name} / {unit!r}), log(1 + {name} / {unit!r}))"


_UNIT = re.compile(r"\* if\(.* / ([-+.\de]+)\)\)$")


def _require_names(names: tuple[str, ...]) -> None:
    for name in names:
        if not _REFERENCE.fullmatch(name):
            raise ValueError(
                f"{name!r} is not the name of a rank feature in Vespa, such as bm25(title) or attribute(age): give the "
                "names with feature_names (--feature-names FILE)"
            )


def _number(value: float) -> str:
    """Return a number as part of an expression."""
    return f"({float(value)!r})" if value < 0 else repr(float(value))


def _dump(model: Trees) -> Node:
    forest = model.forest
    above = np.minimum(np.nextafter(forest.threshold, np.inf), np.finfo(np.float64).max)  # JSON has no infinity
    default_left = goes_left_if_missing(forest)

    def split(node: int, number: int, left: Node, right: Node) -> Node:
        return {
            "split_index": number,
            "split_feature": int(forest.feature[node]),
            "split_gain": float(forest.gain[node]),
            "threshold": float(above[node]),
            "decision_type": "<=",
            "default_left": bool(default_left[node]),
            "missing_type": _MISSING[forest.missing[node]],
            "internal_count": int(forest.count[node]),
            "left_child": left,
            "right_child": right,
        }

    def leaf(place: int, number: int) -> Node:
        return {
            "leaf_index": number,
            "leaf_value": float(forest.leaf_value[place]),
            "leaf_count": int(forest.leaf_count[place]),
        }

    trees = nested_trees(forest, split, leaf)
    n_leaves = np.diff(forest.leaf_offsets).tolist()
    return {
        "name": "tree",
        "version": "v4",
        "num_class": 1,
        "num_tree_per_iteration": 1,
        "label_index": 0,
        "max_feature_idx": len(model.feature_names) - 1,
        "objective": "lambdarank",
        "average_output": False,
        "feature_names": list(model.feature_names),
        "monotone_constraints": [],
        "tree_info": [
            {"tree_index": i, "num_leaves": n, "num_cat": 0, "shrinkage": 1, "tree_structure": tree}
            for i, (tree, n) in enumerate(zip(trees, n_leaves, strict=True))
        ],
        "pandas_categorical": [],
    }


def _companions(model: Portable, file: str, options: Options) -> dict[str, str]:
    template = {"features": [{"name": name, "expression": f"attribute({name})"} for name in model.feature_names]}
    if isinstance(model, Linear):
        placed = f"Copy the content of `{file}` into the second phase of a rank profile"
        call = f"expression {{\n            (the content of {file})\n        }}"
    else:
        stored = file if file.endswith(".json") else f"{file}.json"
        placed = f"Put `{file}` into the application package as `models/{stored}`, and call it in a rank profile"
        call = f'expression: lightgbm("{stored}")'
    plain = [name for name in model.feature_names if re.fullmatch(r"\w+", name)][:2]
    functions = "".join(f"    function {name}() {{\n        expression: attribute({name})\n    }}\n" for name in plain)
    words = {"file": file, "placed": placed, "functions": functions, "call": call}
    how = usage("vespa", **words, n_features=len(model.feature_names))
    notes = ["Vespa computes in double precision: scores are Podium's."]
    if isinstance(model, Linear) and model.logarithms is not None:
        notes.append(
            f"{(model.logarithms > 0).sum()} features with heavy tails are taken as logarithms; expressions do that."
        )
    if isinstance(model, Trees):
        notes += [
            "Each threshold in the file is the next number after the model's: Vespa's importer sends a value left that "
            "is below the threshold, where LightGBM sends one that is at most the threshold.",
            "Missing values (NaN) go where they go in Podium. An attribute without a value is NaN in Vespa only if it "
            "is a float or double; integers are their smallest value.",
        ]
    return {
        "README.md": page(f"{described(model)} for Vespa", file, how, notes),
        "features.json": json.dumps(template, ensure_ascii=False, indent=1) + "\n",
    }


def _emulate(path: Path, X: np.ndarray) -> np.ndarray:
    text, rows = path.read_text(encoding="utf-8"), np.asarray(X, np.float64)
    if not text.startswith("{"):
        *terms, intercept = [term.strip() for term in text.split(" + \n")]
        scores = np.zeros(len(rows))
        for j, term in enumerate(terms):
            unit, values = _UNIT.search(term), rows[:, j]
            if unit is not None:
                values = np.copysign(np.log(1 + np.abs(values) / float(unit[1])), values)
            scores = scores + float(term.partition(" * ")[0].strip("()")) * values
        return scores + float(intercept.strip("()"))

    def goes_left(node: Node, rows: np.ndarray) -> np.ndarray:
        value = rows[:, node["split_feature"]]
        return ~(value >= node["threshold"]) if node["default_left"] else value < node["threshold"]

    def children(node: Node) -> tuple[Node, Node] | None:
        return None if "leaf_value" in node else (node["left_child"], node["right_child"])

    scores = np.zeros(len(rows))
    content: dict[str, Any] = json.loads(text)
    for tree in content["tree_info"]:
        scores = scores + evaluate(tree["tree_structure"], rows, goes_left, children, lambda node: node["leaf_value"])
    return scores


register(
    Target(
        name="vespa",
        title="Vespa",
        kinds=(Linear, Trees),
        write=_write,
        companions=_companions,
        emulate=_emulate,
    )
)

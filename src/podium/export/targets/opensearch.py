"""The learning-to-rank plugin of OpenSearch and Elasticsearch: the body of ``_createmodel``.

The plugin computes in float32 and sends a value left that is *below* the ``split_condition`` of its ``xgboost+json``
models, so each threshold becomes the next float32. RankLib's trees compare by "at most" instead. Neither knows missing
values: a feature without a value is 0. Models take no logarithms; the feature set does, in derived features.
"""

import json
import re
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import numpy as np

from podium.export.logarithms import derived_features, names_of_logarithms, of_derived
from podium.export.missing import goes_left_if_missing
from podium.export.nested import Node, evaluate, nested_trees
from podium.export.notes import described, on_centers, on_intercept, on_missing_values, page, usage
from podium.export.portable import Linear, Portable, Trees
from podium.export.single_precision import above32, floor32, require_float32, shortest, sums32
from podium.export.target import Options, Target, read_features, register

_TITLE = "the learning-to-rank plugin"
LINEAR, XGBOOST, RANKLIB = "model/linear", "model/xgboost+json", "model/ranklib"


def _write(model: Portable, options: Options) -> str:
    kind = _type(model, options)
    order = _order(model)
    model = of_derived(model, split=False) if isinstance(model, Linear) else model
    require_float32(model.weights if isinstance(model, Linear) else model.forest.leaf_value, "a weight", _TITLE)  # type: ignore[union-attr]
    if kind == RANKLIB:
        definition = ranklib_text(model, order)
    elif isinstance(model, Linear):
        definition = json.dumps(dict(zip(model.feature_names, model.weights.tolist(), strict=True)))
    else:
        definition = json.dumps(xgboost_dump(model))
    stored: Node = {"type": kind, "definition": definition}
    if isinstance(model, Linear) and model.centers is not None and kind == LINEAR:
        stored["feature_normalizers"] = {
            name: {"standard": {"mean": float(center), "standard_deviation": 1.0}}
            for name, center in zip(model.feature_names, model.centers, strict=True)
            if center != 0
        }
    content = {"model": {"name": options["name"], "model": stored}}
    return json.dumps(content, ensure_ascii=False, indent=1) + "\n"


def _order(model: Portable) -> list[int]:
    """Return the number of each of the model's features in the feature set, from 1: derived ones come last."""
    order = list(range(1, len(model.feature_names) + 1))
    if isinstance(model, Linear):
        for place, derived in enumerate(derived_features(model, split=False), start=len(order) + 1):
            order[derived.column] = place
    return order


def _type(model: Portable, options: Options) -> str:
    kinds = (LINEAR if isinstance(model, Linear) else XGBOOST, RANKLIB)
    kind = options.get("type", kinds[0])
    if kind not in kinds:
        raise ValueError(f"{described(model)} is written as {' or '.join(kinds)}; got type={kind!r}")
    return kind


def xgboost_dump(model: Any) -> list[Node]:
    """Return trees as XGBoost dumps them: a value below ``split_condition``, in float32, goes to ``yes``."""
    forest, names = model.forest, model.feature_names
    conditions = above32(forest.threshold).astype(np.float64)
    missing_left = goes_left_if_missing(forest)

    def split(node: int, number: int, left: Node, right: Node) -> Node:
        return {
            "nodeid": number,
            "depth": 0,
            "split": names[forest.feature[node]],
            "split_condition": float(conditions[node]),
            "yes": left["nodeid"],
            "no": right["nodeid"],
            "missing": (left if missing_left[node] else right)["nodeid"],
            "children": [left, right],
        }

    def leaf(place: int, number: int) -> Node:
        tree = int(np.searchsorted(forest.leaf_offsets, place, side="right")) - 1
        n_nodes = int(forest.node_offsets[tree + 1] - forest.node_offsets[tree])
        return {"nodeid": n_nodes + number, "leaf": float(forest.leaf_value[place])}

    roots = nested_trees(forest, split, leaf)
    for root in roots:
        _set_depths(root)
    return roots


def _set_depths(root: Node) -> None:
    waiting = [(root, 0)]
    while waiting:
        node, depth = waiting.pop()
        if "children" in node:
            node["depth"] = depth
            waiting += [(child, depth + 1) for child in node["children"]]


def ranklib_text(model: Any, order: list[int]) -> str:
    """Return the model in RankLib's own text; features are numbered from 1 in the order of the feature set."""
    if isinstance(model, Linear):
        weights = dict(zip(order, model.weights, strict=True))
        numbers = range(1, max(order, default=0) + 1)
        terms = (f"{j}:{shortest(weights.get(j, np.float64(0.0)))}" for j in numbers)
        return "## Coordinate Ascent\n" + " ".join(terms) + "\n"
    forest = model.forest
    thresholds = floor32(forest.threshold)

    def split(node: int, number: int, left: Node, right: Node) -> Node:
        feature, threshold = forest.feature[node] + 1, shortest(thresholds[node])
        text = f"<feature>{feature}</feature><threshold>{threshold}</threshold>"
        return {"text": f'{text}<split pos="left">{left["text"]}</split><split pos="right">{right["text"]}</split>'}

    def leaf(place: int, number: int) -> Node:
        return {"text": f"<output>{shortest(forest.leaf_value[place])}</output>"}

    lines = [f"## LambdaMART\n## No. of trees = {forest.n_trees}\n\n<ensemble>"]
    for number, root in enumerate(nested_trees(forest, split, leaf), start=1):
        lines.append(f'<tree id="{number}" weight="1"><split>{root["text"]}</split></tree>')
    return "\n".join([*lines, "</ensemble>\n"])


def _companions(model: Portable, file: str, options: Options) -> dict[str, str]:
    name = options["name"]
    featureset = options.get("featureset", name)
    features = [
        {
            "name": feature,
            "params": ["keywords"],
            "template_language": "mustache",
            "template": {
                "function_score": {
                    "query": {"match_all": {}},
                    "field_value_factor": {"field": feature, "missing": 0},
                }
            },
        }
        for feature in model.feature_names
    ]
    derived = derived_features(model, split=False) if isinstance(model, Linear) else []
    features += [
        {
            "name": feature.name,
            "params": [],
            "template_language": _DERIVED,
            "template": _expression(model.feature_names[feature.column], feature.unit),
        }
        for feature in derived
    ]
    words = {"file": file, "featureset": featureset, "name": name, "quoted_name": json.dumps(name)}
    how = usage("opensearch", **words, n_features=len(model.feature_names), on_derived=_on_derived(len(derived)))
    notes = [
        "The plugin computes in single precision: scores agree with Podium's to about seven digits.",
        "The scores of features are scores of queries, which must not be negative: store a field that can be negative "
        "with its minimum subtracted, before training.",
        *on_missing_values(model, "The plugin has no missing values: a feature that does not match is 0."),
        *on_intercept(model),
        *on_centers(model),
    ]
    content = {"featureset": {"name": featureset, "features": features}}
    return {
        "README.md": page(f"{described(model)} for the learning-to-rank plugin", file, how, notes),
        "features.json": json.dumps(content, ensure_ascii=False, indent=1) + "\n",
    }


_DERIVED = "derived_expression"
_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z_0-9]*")


def _expression(name: str, unit: float) -> str:
    """Return sign(x) log(1 + |x| / unit) as an expression of Lucene's."""
    if not _IDENTIFIER.fullmatch(name):
        raise ValueError(
            f"the model takes the logarithm of {name!r}, and expressions of the plugin can only name features that "
            "are words of letters, digits and underscores: give other names with feature_names (--feature-names FILE)"
        )
    return f"{name} < 0 ? -ln(1 - {name} / {unit!r}) : ln(1 + {name} / {unit!r})"


_UNIT = re.compile(r" / ([-+.\de]+)\)$")


def _on_derived(n: int) -> str:
    if n == 0:
        return ""
    return (
        f"After them come {n} derived features, logarithms of features with heavy tails, which the model uses in their "
        "place; leave them as they are. "
    )


def _refreshed(there: Node, wanted: Node) -> Node:
    return wanted if wanted["template_language"] == _DERIVED else there


def _with_logarithms(path: Path, names: list[str] | None, rows: np.ndarray) -> np.ndarray:
    """Return the features of the model by name, or all of the feature set, some of which are logarithms."""
    if names is not None and "log_" not in "".join(names):
        return rows
    features = read_features(path)
    given = [feature["name"] for feature in features[: rows.shape[1]]]
    values = {name: rows[:, j] for j, name in enumerate(given)}
    places = names_of_logarithms(tuple(given))
    for feature in features[rows.shape[1] :]:
        unit, x = _UNIT.search(feature["template"]), rows[:, places[feature["name"]][0]].astype(np.float64)
        assert unit is not None
        values[feature["name"]] = np.copysign(np.log(1 + np.abs(x) / float(unit[1])), x).astype(np.float32)
    return np.column_stack([values[name] for name in (values if names is None else names)])


def _emulate(path: Path, X: np.ndarray) -> np.ndarray:
    stored = json.loads(path.read_text(encoding="utf-8"))["model"]["model"]
    rows = np.nan_to_num(np.array(X, np.float32), nan=0.0, posinf=np.inf, neginf=-np.inf)
    if stored["type"] == RANKLIB:
        return _emulate_ranklib(stored["definition"], _with_logarithms(path, None, rows))
    definition = json.loads(stored["definition"])
    if stored["type"] == LINEAR:
        rows = _with_logarithms(path, list(definition), rows)
        for name, normalizer in stored.get("feature_normalizers", {}).items():
            how = {key: np.float32(value) for key, value in normalizer["standard"].items()}
            column = list(definition).index(name)
            rows[:, column] = (rows[:, column] - how["mean"]) / how["standard_deviation"]
        return sums32((rows * np.array(list(definition.values()), np.float32)).T, np.zeros(len(rows)))
    columns = {feature["name"]: j for j, feature in enumerate(read_features(path))}

    def goes_left(node: Node, rows: np.ndarray) -> np.ndarray:
        return np.float32(node["split_condition"]) > rows[:, columns[node["split"]]]

    def children(node: Node) -> tuple[Node, Node] | None:
        return None if "leaf" in node else (node["children"][0], node["children"][1])

    leaves = (evaluate(root, rows, goes_left, children, lambda node: np.float32(node["leaf"])) for root in definition)
    return sums32(list(leaves), np.zeros(len(rows)))


def _emulate_ranklib(text: str, rows: np.ndarray) -> np.ndarray:
    body = re.sub(r"(?m)^##.*$", "", text).strip()
    if not body.startswith("<"):
        weights = dict(term.split(":") for term in body.split())
        columns = [rows[:, int(j) - 1].astype(np.float64) * float(weight) for j, weight in weights.items()]
        return np.sum(columns, axis=0)

    def goes_left(node: Any, rows: np.ndarray) -> np.ndarray:
        return rows[:, int(node[0].text) - 1] <= np.float32(node[1].text)

    def children(node: Any) -> Any:
        return None if node[0].tag == "output" else (node[2], node[3])

    trees = [tree[0] for tree in ET.fromstring(body)]
    leaves = (evaluate(root, rows, goes_left, children, lambda node: np.float32(node[0].text)) for root in trees)
    return sums32(list(leaves), np.zeros(len(rows)))


for _name, _engine in (("opensearch", "OpenSearch"), ("elasticsearch", "Elasticsearch")):
    register(
        Target(
            name=_name,
            title=f"{_engine} (learning-to-rank plugin)",
            kinds=(Linear, Trees),
            write=_write,
            companions=_companions,
            options={
                "name": f"what {_engine} calls the model; by default FILE without its ending",
                "featureset": "the feature set that the model belongs to; by default the model's name",
                "type": f"{RANKLIB}, RankLib's text, in place of {LINEAR} or {XGBOOST}",
            },
            emulate=_emulate,
            refreshed=_refreshed,
            precision=np.float32,
            constant_omitted=True,
        )
    )

"""The learning-to-rank plugin of OpenSearch and Elasticsearch: the body of ``_createmodel``.

The plugin computes in float32 and sends a value left that is *below* the ``split_condition`` of its ``xgboost+json``
models, so each threshold becomes the next float32. RankLib's trees compare by "at most" instead. Neither knows missing
values: a feature without a value is 0.
"""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import numpy as np

from podium.export.missing import goes_left_if_missing
from podium.export.nested import Node, evaluate, nested_trees
from podium.export.notes import described, on_centers, on_intercept, on_missing_values, page, request
from podium.export.portable import Linear, Portable, Trees
from podium.export.single_precision import above32, floor32, require_float32, shortest, sums32
from podium.export.target import Options, Target, register

_TITLE = "the learning-to-rank plugin"
LINEAR, XGBOOST, RANKLIB = "model/linear", "model/xgboost+json", "model/ranklib"


def _write(model: Portable, options: Options) -> str:
    kind = _type(model, options)
    require_float32(model.weights if isinstance(model, Linear) else model.forest.leaf_value, "a weight", _TITLE)  # type: ignore[union-attr]
    if kind == RANKLIB:
        definition = ranklib_text(model)
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


def ranklib_text(model: Any) -> str:
    """Return the model in RankLib's own text; features are numbered from 1 in the order of the feature set."""
    if isinstance(model, Linear):
        terms = (f"{j}:{shortest(weight)}" for j, weight in enumerate(model.weights, start=1))
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
    search = {
        "query": {"match": {"title": "your query"}},
        "rescore": {
            "window_size": 100,
            "query": {
                "query_weight": 0,
                "rescore_query_weight": 1,
                "rescore_query": {"sltr": {"params": {"keywords": "your query"}, "model": name}},
            },
        },
    }
    post = "curl -X POST -H 'Content-Type: application/json'"
    server = "http://localhost:9200"
    sections = [
        (
            "1. Features",
            f"`{file}.features.json` is the feature set; each of its {len(features)} features is a template that reads "
            "the numeric field of the feature's name. Replace it by the query whose score is the feature, for example "
            '`{"match": {"title": "{{keywords}}"}}`. Keep names and order. Then (once per cluster, `curl -X PUT '
            f"{server}/_ltr` makes the store):\n\n"
            + request(f"{post} {server}/_ltr/_featureset/{featureset} --data-binary @{file}.features.json"),
        ),
        (
            "2. Model",
            request(f"{post} {server}/_ltr/_featureset/{featureset}/_createmodel --data-binary @{file}")
            + f"\n\nA model of the same name must be deleted first: `curl -X DELETE {server}/_ltr/_model/{name}`",
        ),
        ("3. Rerank", request(f"{post} {server}/INDEX/_search --data-binary '{json.dumps(search)}'")),
    ]
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
        "README.md": page(f"{described(model)} for the learning-to-rank plugin", file, sections, notes),
        "features.json": json.dumps(content, ensure_ascii=False, indent=1) + "\n",
    }


def _emulate(path: Path, X: np.ndarray) -> np.ndarray:
    stored = json.loads(path.read_text(encoding="utf-8"))["model"]["model"]
    rows = np.nan_to_num(np.array(X, np.float32), nan=0.0, posinf=np.inf, neginf=-np.inf)
    if stored["type"] == RANKLIB:
        return _emulate_ranklib(stored["definition"], rows)
    definition = json.loads(stored["definition"])
    if stored["type"] == LINEAR:
        for name, normalizer in stored.get("feature_normalizers", {}).items():
            how = {key: np.float32(value) for key, value in normalizer["standard"].items()}
            column = list(definition).index(name)
            rows[:, column] = (rows[:, column] - how["mean"]) / how["standard_deviation"]
        return sums32((rows * np.array(list(definition.values()), np.float32)).T, np.zeros(len(rows)))
    features = path.with_name(f"{path.name}.features.json")
    names = [feature["name"] for feature in json.loads(features.read_text(encoding="utf-8"))["featureset"]["features"]]
    columns = {name: j for j, name in enumerate(names)}

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
            precision=np.float32,
            constant_omitted=True,
        )
    )

"""Apache Solr's learning-to-rank module: the JSON that is put into the model store.

Solr computes in float32. It adds 1e-6 to each threshold as it loads a tree and sends a value left that is at most the
sum, so thresholds are written lower by that much (:func:`before_slack`). Matrices of networks must not hold whole
numbers. Its linear models have no intercept. Its models take no logarithms, so function queries in the feature set do;
the score of a query is never negative, so logarithms of values below 0 are features of their own.
"""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np

from podium.export.logarithms import Derived, derived_features, names_of_logarithms, of_derived
from podium.export.nested import Node, evaluate, nested_trees
from podium.export.notes import described, on_centers, on_intercept, on_missing_values, page, usage
from podium.export.portable import Linear, Network, Portable, Trees
from podium.export.single_precision import at_ordinal, floor32, ordinal, require_float32, shortest, sums32
from podium.export.target import Options, Target, read_features, register
from podium.numerics.trees.forest import Forest

SLACK = np.float32(1e-6)
_PACKAGE = "org.apache.solr.ltr"
_ACTIVATIONS = {"linear": "identity", "tanh": "tanh", "relu": "relu"}
_TITLE = "Solr"


def before_slack(thresholds: np.ndarray) -> np.ndarray:
    """Return the largest float32 numbers that, with Solr's slack added in float32, are at most these thresholds.

    >>> c = before_slack(np.array([0.5, 0.0]))
    >>> (c + SLACK).tolist(), (np.nextafter(c, np.float32(1)) + SLACK > floor32(np.array([0.5, 0.0]))).tolist()
    ([0.5, 0.0], [True, True])
    """
    wanted = floor32(thresholds)
    low = np.full(wanted.shape, ordinal(np.finfo(np.float32).min))
    high = ordinal(wanted)  # the slack is positive
    while (low < high).any():  # the largest number for which a rising function is small enough: bisection
        middle = (low + high + 1) >> 1
        fits = at_ordinal(middle) + SLACK <= wanted
        low, high = np.where(fits, middle, low), np.where(fits, high, middle - 1)
    return at_ordinal(low)


def scales(forest: Forest) -> np.ndarray:
    """Return (n_features,) powers of two, by which features are multiplied before Solr compares them with thresholds.

    No float32 plus the slack is a threshold close to 0, such as 3e-7 or the 1e-35 by which LightGBM separates
    zeros. Multiplied by a power of two, which changes no decision, it is so large that adding the slack does not change
    it. Features that need no scale have 1, as have those that also have thresholds too large for it.
    """
    wanted = floor32(forest.threshold)
    missed = before_slack(forest.threshold) + SLACK != wanted
    sizes = np.abs(wanted.astype(np.float64))
    found = np.ones(forest.n_features)
    for feature in np.unique(forest.feature[missed]).tolist():
        own, hard = sizes[forest.feature == feature], sizes[missed & (forest.feature == feature)]
        for tried in (hard, hard[hard > _ZEROS]):
            exponent = max(np.ceil(np.log2(_UNMOVED / tried.min())), 0.0) if len(tried) else 0.0
            if exponent + np.log2(max(own.max(), 1.0)) < _LARGEST:
                found[feature] = 2.0**exponent
                break
    return found


_UNMOVED = 64.0
"""A float32 of this size does not change when the slack is added."""
_ZEROS = 1e-30
"""Thresholds smaller than that only separate zeros."""
_LARGEST = 126
"""Both 2 to this power and its inverse are float32 numbers."""


def _write(model: Portable, options: Options) -> str:
    name = options["name"]
    model = model if isinstance(model, Trees) else of_derived(model, split=True)
    content = {
        "store": options.get("store", name),
        "name": name,
        "class": f"{_PACKAGE}.model.{_CLASSES[type(model)]}",
        "features": _features(model),
        "params": _params(model),
    }
    return json.dumps(content, ensure_ascii=False, indent=None if isinstance(model, Trees) else 1) + "\n"


_CLASSES = {Linear: "LinearModel", Trees: "MultipleAdditiveTreesModel", Network: "NeuralNetworkModel"}


def _features(model: Portable) -> list[Node]:
    features: list[Node] = [{"name": name} for name in model.feature_names]
    n = len(features)
    if isinstance(model, Trees):
        shifts, by = np.zeros(n, np.float32), 1.0 / scales(model.forest)
    else:
        shifts, by = np.zeros(n, np.float32) if model.centers is None else model.centers, np.ones(n)
    for feature, shift, scale in zip(features, shifts, by.tolist(), strict=True):
        if shift != 0 or scale != 1:
            params = {"avg": shortest(shift), "std": repr(scale)}
            feature["norm"] = {"class": f"{_PACKAGE}.norm.StandardNormalizer", "params": params}
    return features


def _params(model: Portable) -> Node:
    if isinstance(model, Linear):
        require_float32(model.weights, "a weight", _TITLE)
        return {"weights": dict(zip(model.feature_names, model.weights.tolist(), strict=True))}
    if isinstance(model, Trees):
        return {"trees": _trees(model)}
    layers = []
    for place, (weights, bias, activation) in enumerate(model.layers):
        if place == 0 and model.centers is not None:
            bias = bias + model.centers.astype(np.float64) @ weights
        require_float32(weights, "a weight", _TITLE)
        require_float32(bias, "a bias", _TITLE)
        layers.append({"matrix": weights.T.tolist(), "bias": bias.tolist(), "activation": _ACTIVATIONS[activation]})
    return {"layers": layers}


def _trees(model: Trees) -> list[Node]:
    forest = model.forest
    require_float32(forest.leaf_value, "a leaf value", _TITLE)
    thresholds = before_slack(floor32(forest.threshold) * scales(forest)[forest.feature])

    def split(node: int, number: int, left: Node, right: Node) -> Node:
        feature = model.feature_names[forest.feature[node]]
        return {"feature": feature, "threshold": shortest(thresholds[node]), "left": left, "right": right}

    def leaf(place: int, number: int) -> Node:
        return {"value": shortest(forest.leaf_value[place])}

    return [{"weight": "1", "root": root} for root in nested_trees(forest, split, leaf)]


def _companions(model: Portable, file: str, options: Options) -> dict[str, str]:
    name = options["name"]
    store = options.get("store", name)
    features = [
        {
            "store": store,
            "name": feature,
            "class": f"{_PACKAGE}.feature.FieldValueFeature",
            "params": {"field": feature},
        }
        for feature in model.feature_names
    ]
    derived = [] if isinstance(model, Trees) else derived_features(model, split=True)
    features += [
        {
            "store": store,
            "name": feature.name,
            "class": f"{_PACKAGE}.feature.SolrFeature",
            "params": {"q": _function(model.feature_names[feature.column], feature)},
        }
        for feature in derived
    ]
    words = {"file": file, "name": name, "store": store, "n_features": len(model.feature_names)}
    how = usage("solr", **words, on_derived=_on_derived(file, derived))
    notes = [
        "Solr computes in single precision: scores agree with Podium's to about seven digits.",
        "A field that a document lacks is the feature's `defaultValue`, or 0, never missing.",
        *on_missing_values(model, "In Solr a missing field is 0 or the feature's `defaultValue` instead."),
        *on_intercept(model),
        *on_centers(model),
    ]
    if isinstance(model, Trees):
        notes.append(
            "Solr adds 1e-6 to each threshold as it loads the model; the thresholds in the file are lower by as much. "
            "Features with thresholds so close to 0 that this is not possible are multiplied by a power of two (their "
            "`norm`)."
        )
    return {
        "README.md": page(f"{described(model)} for Solr", file, how, notes),
        "features.json": json.dumps(features, ensure_ascii=False, indent=1) + "\n",
    }


def _function(field: str, derived: Derived) -> str:
    """Return the function query of a logarithm."""
    named = f"field({json.dumps(field, ensure_ascii=False)})"
    value = f"product(-1,{named})" if derived.minus else named
    return f"{{!func}}ln(sum(1,div(max({value},0),{shortest(np.float32(derived.unit))})))"


_UNIT = re.compile(r"[-+.\deE]+(?=\)\)\)$)")
"""The unit at the end of such a query."""


def _refreshed(there: Node, wanted: Node) -> Node:
    """Return a feature that was filled in, with the unit of the logarithm that this model takes."""
    template = wanted["params"].get("q", "")
    if not template.startswith("{!func}ln("):
        return there
    query, unit = str(there.get("params", {}).get("q")), _UNIT.search(template)
    assert unit is not None
    if _UNIT.search(query) is None:
        raise ValueError(
            f"the feature {wanted['name']!r} must end like {template!r}, so that its unit can be replaced: {query!r}"
        )
    return {**there, "params": {**there["params"], "q": _UNIT.sub(unit[0], query)}}


def _on_derived(file: str, derived: list[Derived]) -> str:
    """Return what to know about logarithms in the feature set."""
    if not derived:
        return ""
    names = ", ".join(f"`{feature.name}`" for feature in derived[:3]) + ", …" * (len(derived) > 3)
    return (
        f"The last {len(derived)} ({names}) are logarithms of features with heavy tails, which the model uses in their "
        "place: function queries of the same field. If such a feature is computed by a query, write `query({!edismax "
        'qf=title v="${query}"})` where the function has `field("…")`, and leave the numbers as they are. If the other '
        f"features are in the store already, put only these: `jq '.[-{len(derived)}:]' {file}.features.json`. "
    )


def _emulate(path: Path, X: np.ndarray) -> np.ndarray:
    content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    names = [feature["name"] for feature in content["features"]]
    columns = {name: j for j, name in enumerate(names)}
    rows, params = np.nan_to_num(np.array(X, np.float32), nan=0.0, posinf=np.inf, neginf=-np.inf), content["params"]
    rows = _with_logarithms(path, names, rows)
    for column, feature in enumerate(content["features"]):
        if "norm" in feature:
            norm = feature["norm"]["params"]
            with np.errstate(over="ignore"):
                rows[:, column] = (rows[:, column] - np.float32(norm["avg"])) / np.float32(norm["std"])
    kind = content["class"].rpartition(".")[2]
    if kind == "LinearModel":
        weights = np.array([params["weights"][name] for name in names], np.float32)
        return sums32((rows * weights).T, np.zeros(len(rows)))
    if kind == "NeuralNetworkModel":
        for layer in params["layers"]:
            matrix, bias = np.array(layer["matrix"], np.float32), np.array(layer["bias"], np.float32)
            units = [
                sums32((rows * weights).T, np.full(len(rows), start))
                for weights, start in zip(matrix, bias, strict=True)
            ]
            rows = _activated(np.column_stack(units), layer["activation"])
        return rows[:, 0]

    def goes_left(node: Node, rows: np.ndarray) -> np.ndarray:
        return rows[:, columns[node["feature"]]] <= np.float32(node["threshold"]) + SLACK

    def children(node: Node) -> tuple[Node, Node] | None:
        return (node["left"], node["right"]) if "feature" in node else None

    trees = [tree["root"] for tree in params["trees"]]
    leaves = (evaluate(root, rows, goes_left, children, lambda node: np.float32(node["value"])) for root in trees)
    return sums32(list(leaves), np.zeros(len(rows)))


def _with_logarithms(path: Path, names: list[str], rows: np.ndarray) -> np.ndarray:
    """Return the features of the model, some of which are logarithms that the feature set defines."""
    features = read_features(path) if "log_" in "".join(names) else []
    given, derived = features[: rows.shape[1]], {feature["name"]: feature for feature in features[rows.shape[1] :]}
    places = names_of_logarithms(tuple(feature["name"] for feature in given))
    values = []
    for j, name in enumerate(names):
        if name not in derived:
            values.append(rows[:, j])
            continue
        column, minus = places[name]
        unit = _UNIT.search(derived[name]["params"]["q"])
        assert unit is not None
        size = np.maximum(-rows[:, column] if minus else rows[:, column], np.float32(0))
        with np.errstate(over="ignore"):
            values.append(np.log((np.float32(1) + size / np.float32(unit[0])).astype(np.float64)).astype(np.float32))
    return np.column_stack(values)


def _activated(values: np.ndarray, activation: str) -> np.ndarray:
    if activation == "tanh":
        return np.tanh(values.astype(np.float64)).astype(np.float32)
    return np.maximum(values, 0) if activation == "relu" else values


register(
    Target(
        name="solr",
        title="Solr (learning-to-rank module)",
        kinds=(Linear, Trees, Network),
        write=_write,
        companions=_companions,
        options={
            "name": "what Solr calls the model; by default FILE without its ending",
            "store": "the feature store that the model's features are in; by default the model's name",
        },
        emulate=_emulate,
        refreshed=_refreshed,
        precision=np.float32,
        constant_omitted=True,
    )
)

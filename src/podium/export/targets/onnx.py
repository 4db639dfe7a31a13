"""ONNX: one float32 input, (documents, features); the first output is the scores, (documents,) float32.

Everything between is computed in float64, so that only the last rounding can make two scores equal that were not.
Models that look at whole lists take the documents of one query at a time.
"""

import copy
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from podium.data.normalize import WITHIN_QUERY
from podium.export.companions import row_model_companions
from podium.export.missing import goes_left_if_missing
from podium.export.notes import usage
from podium.export.portable import (
    Linear,
    Network,
    NotExportable,
    Portable,
    Trees,
    names_of,
    portable,
    portable_kind,
    require_ranker,
    unwrapped,
)
from podium.export.requirements import require_package
from podium.export.target import Options, Target, register
from podium.export.torch_module import INPUT, torch_bytes
from podium.numerics.forward import HEIGHT, SLOPE
from podium.numerics.trees.forest import Forest
from podium.scorers import KernelModel, Model, PotentialsModel, TorchModel
from podium.scorers.standardization import Standardization
from podium.version import __version__

OUTPUT = "scores"
_OPSET, _IR_VERSION = 17, 8
_TREES_OPSET, _CATEGORIES_OPSET, _CATEGORIES_IR_VERSION = 3, 5, 10  # of the domain ai.onnx.ml
_AT_MOST, _MEMBER = 0, 6  # kinds of nodes in TreeEnsemble
_TOO_LARGE = 1_900_000_000  # bytes: a file of this format is at most 2 GB
_OWN = (PotentialsModel, KernelModel, TorchModel)
"""Models that only ONNX takes."""


@dataclass(frozen=True, eq=False)
class OnnxModel:
    """What is written: rescaling within the query, if any, then a model."""

    body: Portable | Model
    normalize: str | None
    standardization: Standardization | None
    """Applied before a body that is a :class:`Model`."""
    looks_at_lists: bool
    feature_names: tuple[str, ...]


def accepts(ranker: Any) -> Any:
    """Return the kind of a ranker's model; raise NotExportable if ONNX has no place for it."""
    ranker = unwrapped(ranker)
    require_ranker(ranker)
    model_class = ranker._scorer().model_class
    return model_class if issubclass(model_class, _OWN) else portable_kind(_per_document(ranker))


def prepare(ranker: Any, feature_names: Sequence[str] | None = None) -> OnnxModel:
    """Return what :func:`write` takes."""
    ranker = unwrapped(ranker)
    names = names_of(ranker, feature_names)
    own = isinstance(ranker.model_, _OWN)
    body = ranker.model_ if own else portable(_per_document(ranker), names)
    normalize = ranker.normalize if ranker.normalize in WITHIN_QUERY else None
    if isinstance(body, KernelModel) and body.features.nbytes > _TOO_LARGE:
        raise NotExportable(
            f"this {type(ranker).__name__} holds {len(body.grades)} training documents, more than fit into an ONNX "
            "file: train it with fewer, n_landmarks="
        )
    return OnnxModel(body, normalize, ranker.standardization_ if own else None, ranker._needs_lists(), names)


def _per_document(ranker: Any) -> Any:
    """Return the ranker as if features came rescaled within their query."""
    if ranker.normalize in WITHIN_QUERY:
        ranker = copy.copy(ranker)
        ranker.normalize = None
    return ranker


def write(model: OnnxModel, options: Options) -> bytes:
    graph = _Graph()
    features = INPUT if model.normalize is None else graph.rescaled(INPUT, model.normalize)
    body = model.body
    if isinstance(body, Trees):
        scores = graph.forest(graph.as_double(features), body.forest)
    elif isinstance(body, Linear):
        values = graph.logarithms(graph.as_double(features), body.logarithms)
        scores = graph.dense(values, body.weights[:, np.newaxis], np.array([body.intercept]))
    elif isinstance(body, Network):
        scores = graph.logarithms(graph.as_double(features), body.logarithms)
        for layer in body.layers:
            scores = graph.dense(scores, layer.weights, layer.bias)
            scores = scores if layer.activation == "linear" else graph.add(layer.activation.capitalize(), scores)
    elif isinstance(body, PotentialsModel):
        scores = graph.potentials(graph.standardized(graph.as_double(features), model.standardization), body)
    elif isinstance(body, KernelModel):
        scores = graph.kernel_regression(graph.standardized(graph.as_double(features), model.standardization), body)
    else:
        assert isinstance(body, TorchModel)
        scores = graph.torch_module(features, body, model.standardization, len(model.feature_names))
    return graph.model(scores, model.feature_names)


class _Graph:
    """A graph that is built node by node; tensors are named by their numbers."""

    def __init__(self) -> None:
        self.onnx = require_package("onnx")
        self.nodes: list[Any] = []
        self.initializers: list[Any] = []
        self.trees_opset, self.ir_version = _TREES_OPSET, _IR_VERSION

    def add(self, operator: str, *inputs: str, **attributes: Any) -> str:
        """Add a node and return the name of its output."""
        output = f"podium/{len(self.nodes)}"
        self.nodes.append(self.onnx.helper.make_node(operator, inputs, [output], **attributes))
        return output

    def constant(self, values: Any, dtype: Any = np.float64) -> str:
        name = f"podium/constant/{len(self.initializers)}"
        self.initializers.append(self.onnx.numpy_helper.from_array(np.array(values, dtype), name))
        return name

    def cast(self, x: str, dtype: str) -> str:
        return self.add("Cast", x, to=getattr(self.onnx.TensorProto, dtype))

    def as_double(self, x: str) -> str:
        return self.cast(x, "DOUBLE")

    def dense(self, x: str, weights: np.ndarray, bias: np.ndarray) -> str:
        return self.add("Add", self.add("MatMul", x, self.constant(weights)), self.constant(bias))

    def standardized(self, x: str, by: Standardization | None) -> str:
        if by is None:
            return x
        x = self.logarithms(x, by.log_scale)
        return self.add("Mul", self.add("Sub", x, self.constant(by.mean)), self.constant(by.inverse_scale))

    def logarithms(self, x: str, units: np.ndarray | None) -> str:
        """Replace columns of float64 that have a unit u by sign(x) log(1 + |x| / u)."""
        if units is None:
            return x
        heavy, one = units > 0, self.constant(1.0)
        ratio = self.add("Div", self.add("Abs", x), self.constant(np.where(heavy, units, 1.0)))
        logs = self.add("Mul", self.add("Sign", x), self.add("Log", self.add("Add", one, ratio)))
        return self.add("Where", self.constant(heavy, np.bool_), logs, x)

    def rescaled(self, x: str, how: str) -> str:
        """Rescale each column as :mod:`podium.data.normalize` does for float32 features."""
        missing, zero = self.add("IsNaN", x), self.constant(0.0, np.float32)
        infinity = self.constant(np.inf, np.float32)
        low = self.add("ReduceMin", self.add("Where", missing, infinity, x), axes=[0], keepdims=1)
        high = self.add("ReduceMax", self.add("Where", missing, self.add("Neg", infinity), x), axes=[0], keepdims=1)
        if how == "minmax":
            changed = self.add("Div", self.add("Sub", x, low), self.add("Sub", high, low))
        else:
            first, known = self.constant([0], np.int64), self.as_double(self.add("Not", missing))
            one, nothing = self.constant(1.0), self.constant(0.0)
            count = self.add("Max", self.add("ReduceSum", known, first, keepdims=1), one)
            values = self.as_double(x)
            mean = self._column_mean(self.add("Where", missing, nothing, values), first, count)
            gap = self.add("Sub", values, mean)
            square = self.add("Where", missing, nothing, self.add("Mul", gap, gap))
            deviation = self.add("Sqrt", self._column_mean(square, first, count))
            changed = self.cast(self.add("Div", gap, deviation), "FLOAT")
        return self.add("Where", self.add("Less", low, high), changed, self.add("Mul", x, zero))

    def _column_mean(self, x: str, axis: str, count: str) -> str:
        return self.add("Div", self.add("ReduceSum", x, axis, keepdims=1), count)

    def forest(self, x: str, forest: Forest) -> str:
        """Return the sum of trees of float64 features: thresholds and sums are float64 too."""
        if len(forest.feature) == 0:  # the operators want at least one split
            return self.dense(x, np.zeros((forest.n_features, 1)), np.array([forest.leaf_value.sum()]))
        return self._trees_with_categories(x, forest) if forest.categorical.any() else self._trees(x, forest)

    def _trees(self, x: str, forest: Forest) -> str:
        n_nodes, n_leaves = np.diff(forest.node_offsets), np.diff(forest.leaf_offsets)
        tree_of_node, tree_of_leaf = (np.repeat(np.arange(forest.n_trees), n) for n in (n_nodes, n_leaves))
        node = np.arange(len(tree_of_node)) - forest.node_offsets[tree_of_node]
        leaf = np.arange(len(tree_of_leaf)) - forest.leaf_offsets[tree_of_leaf] + n_nodes[tree_of_leaf]
        left, right = (np.where(side >= 0, side, n_nodes[tree_of_node] + ~side) for side in (forest.left, forest.right))
        of_leaves = np.zeros(len(leaf), int)
        order = np.lexsort((np.append(node, leaf), np.append(tree_of_node, tree_of_leaf)))

        def both(of_nodes: np.ndarray, of_leaves: np.ndarray = of_leaves) -> list[Any]:
            return np.append(of_nodes, of_leaves)[order].tolist()

        def tensor(values: Any) -> Any:
            return self.onnx.numpy_helper.from_array(np.asarray(values, np.float64), "values")

        modes = np.array([b"BRANCH_LEQ", b"LEAF"])
        return self.add(
            "TreeEnsembleRegressor",
            x,
            domain="ai.onnx.ml",
            n_targets=1,
            nodes_treeids=both(tree_of_node, tree_of_leaf),
            nodes_nodeids=both(node, leaf),
            nodes_modes=modes[both(np.zeros(len(node), int), of_leaves + 1)].tolist(),
            nodes_featureids=both(forest.feature),
            nodes_values_as_tensor=tensor(both(forest.threshold)),
            nodes_truenodeids=both(left),
            nodes_falsenodeids=both(right),
            nodes_missing_value_tracks_true=both(goes_left_if_missing(forest).astype(int)),
            target_treeids=tree_of_leaf.tolist(),
            target_nodeids=leaf.tolist(),
            target_ids=of_leaves.tolist(),
            target_weights_as_tensor=tensor(forest.leaf_value),
        )

    def _trees_with_categories(self, x: str, forest: Forest) -> str:
        """Return the sum by the newer operator, whose nodes can ask for members of a set."""
        self.trees_opset, self.ir_version = _CATEGORIES_OPSET, _CATEGORIES_IR_VERSION
        x = self._whole(x, np.isin(np.arange(forest.n_features), forest.feature[forest.categorical]))
        n_nodes = np.diff(forest.node_offsets)
        first_node, first_leaf = (
            np.repeat(offsets[:-1], n_nodes) for offsets in (forest.node_offsets, forest.leaf_offsets)
        )
        # A tree of one leaf needs a node all the same, both of whose ways lead to the leaf: these come last.
        single = forest.leaf_offsets[:-1][n_nodes == 0]
        n_single, blank = len(single), np.zeros(len(single), int)
        roots = np.where(n_nodes > 0, forest.node_offsets[:-1], len(forest.feature) - 1 + np.cumsum(n_nodes == 0))
        branches: dict[str, list[int]] = {}
        for name, side in (("true", forest.left), ("false", forest.right)):
            to_leaf = np.append(side < 0, np.ones(n_single, bool))
            place = np.append(np.where(side < 0, first_leaf + ~side, first_node + side), single)
            branches |= {f"nodes_{name}nodeids": place.tolist(), f"nodes_{name}leafs": to_leaf.astype(int).tolist()}
        sets = [np.append(forest.category_sets[int(c)], np.nan) for c in forest.threshold[forest.categorical]]
        modes = np.append(np.where(forest.categorical, _MEMBER, _AT_MOST), blank)
        splits = np.append(np.where(forest.categorical, 0.0, forest.threshold), blank)
        missing_left = np.append(goes_left_if_missing(forest), blank)
        tensor = self.onnx.numpy_helper.from_array
        return self.add(
            "TreeEnsemble",
            x,
            domain="ai.onnx.ml",
            n_targets=1,
            tree_roots=roots.tolist(),
            nodes_featureids=np.append(forest.feature, blank).tolist(),
            nodes_modes=tensor(modes.astype(np.uint8), "modes"),
            nodes_splits=tensor(splits.astype(np.float64), "splits"),
            nodes_missing_value_tracks_true=missing_left.astype(int).tolist(),
            membership_values=tensor(np.concatenate(sets), "sets"),
            leaf_targetids=[0] * len(forest.leaf_value),
            leaf_weights=tensor(forest.leaf_value, "leaves"),
            **branches,
        )

    def _whole(self, x: str, columns: np.ndarray) -> str:
        """Round columns toward 0, as trees do with categories."""
        down, up = self.add("Floor", x), self.add("Ceil", x)
        whole = self.add("Where", self.add("Less", x, self.constant(0.0)), up, down)
        return self.add("Where", self.constant(columns, np.bool_), whole, x)

    def potentials(self, x: str, model: PotentialsModel) -> str:
        """Return φ(x_j) + Σ_{k≠j} ψ(x_j, x_k), as in :mod:`podium.scorers.network.potentials`."""
        h, average, n_features, hidden, _ = model.shape.tolist()
        sizes = [hidden * n_features, hidden, hidden, 1, 2 * h * n_features, h, h, 1]
        inward, bias, outward, own_constant, projections, pair_bias, pair_outward, pair_constant = np.split(
            model.theta, np.cumsum(sizes)[:-1]
        )
        x = self.standardized(x, model.standardization)
        units = self._scaled_tanh(self.dense(x, inward.reshape(hidden, n_features).T, bias))
        own = self._scaled_tanh(self.dense(units, outward[:, np.newaxis], own_constant))
        of_first, of_second = projections.reshape(2, h, n_features)
        p, q = self.dense(x, of_first.T, pair_bias), self.add("MatMul", x, self.constant(of_second.T))

        def pair_potential(sums: str) -> str:
            return self._scaled_tanh(self.dense(self._scaled_tanh(sums), pair_outward[:, np.newaxis], pair_constant))

        rows, columns, others = (self.constant([axis], np.int64) for axis in (1, 0, 1))
        of_pairs = pair_potential(self.add("Add", self.add("Unsqueeze", p, rows), self.add("Unsqueeze", q, columns)))
        total = self.add("ReduceSum", of_pairs, others, keepdims=0)
        total = self.add("Sub", total, pair_potential(self.add("Add", p, q)))  # a document is not among the others
        if average:
            n = self.add("Slice", self.add("Shape", x), self.constant([0], np.int64), self.constant([1], np.int64))
            one = self.constant(1.0)
            total = self.add("Div", total, self.add("Max", self.add("Sub", self.as_double(n), one), one))
        return self.add("Add", own, total)

    def _scaled_tanh(self, x: str) -> str:
        return self.add("Mul", self.add("Tanh", self.add("Mul", x, self.constant(SLOPE))), self.constant(HEIGHT))

    def kernel_regression(self, x: str, model: KernelModel) -> str:
        """Return the mean of the training documents' grades, weighted by closeness."""
        landmarks = model.features.astype(np.float64) * model.theta
        z = self.add("Mul", x, self.constant(model.theta))
        closeness = self.dense(z, landmarks.T, -0.5 * (landmarks**2).sum(axis=1))
        shares = self.add("Softmax", closeness, axis=1)
        return self.add("MatMul", shares, self.constant(model.grades[:, np.newaxis]))

    def torch_module(self, x: str, model: TorchModel, by: Standardization | None, n_features: int) -> str:
        """Add the nodes that PyTorch makes of a module, and those that standardize features before it in float32."""
        if by is not None:
            if by.log_scale is not None:
                x = self.cast(self.logarithms(self.as_double(x), by.log_scale), "FLOAT")
            mean, inverse_scale = (self.constant(values, np.float32) for values in (by.mean, by.inverse_scale))
            x = self.add("Mul", self.add("Sub", x, mean), inverse_scale)
        graph = self.onnx.load_from_string(torch_bytes(model, n_features, _OPSET)).graph
        inner = {graph.input[0].name: x}
        for node in graph.node:
            for place, name in enumerate(node.input):
                node.input[place] = inner.get(name, name)
        self.nodes += graph.node
        self.initializers += graph.initializer
        return inner.get(graph.output[0].name, graph.output[0].name)

    def model(self, scores: str, feature_names: Sequence[str]) -> bytes:
        """Return the file: a graph from features to these scores."""
        helper, float32 = self.onnx.helper, self.onnx.TensorProto.FLOAT
        flat = self.add("Reshape", self.cast(scores, "FLOAT"), self.constant([-1], np.int64))
        self.nodes.append(helper.make_node("Identity", [flat], [OUTPUT]))
        graph = helper.make_graph(
            self.nodes,
            "podium",
            [helper.make_tensor_value_info(INPUT, float32, ["documents", len(feature_names)])],
            [helper.make_tensor_value_info(OUTPUT, float32, ["documents"])],
            self.initializers,
        )
        opsets = [helper.make_opsetid("", _OPSET), helper.make_opsetid("ai.onnx.ml", self.trees_opset)]
        model = helper.make_model(graph, opset_imports=opsets, ir_version=self.ir_version)
        model.producer_name, model.producer_version = "podium", __version__
        helper.set_model_props(model, {"feature_names": json.dumps(list(feature_names), ensure_ascii=False)})
        self.onnx.checker.check_model(model)
        return model.SerializeToString()


def run(path: Path, X: np.ndarray) -> np.ndarray:
    """Return the scores of rows by onnxruntime."""
    session = require_package("onnxruntime").InferenceSession(path, providers=["CPUExecutionProvider"])
    return np.asarray(session.run(None, {INPUT: X.astype(np.float32)})[0], np.float64)


_LISTS = (
    "This model compares the documents of a query with each other: give it all documents of one query, and only these, "
    "at a time."
)


def companions(model: OnnxModel, file: str, options: Options) -> dict[str, str]:
    return row_model_companions(
        model.feature_names, file, "a ranking model for ONNX", usage("onnx", file=file), [_LISTS] * model.looks_at_lists
    )


register(
    Target(
        name="onnx",
        title="ONNX",
        kinds=(Linear, Trees, Network),
        write=write,
        companions=companions,
        runs={"onnxruntime": run},
        prepare=prepare,
        accepts=accepts,
        also_takes=("pairwise potentials", "kernel regression", "PyTorch", "models that rescale within the query"),
        categorical=True,
    )
)

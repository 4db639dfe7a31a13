"""Fitted rankers as plain functions of one document's features, which other systems can compute.

Exporters never look at rankers, scorers or models: they are given one of the three classes here, with the features'
standardization already folded in. What cannot be folded in are logarithms of features with heavy tails.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np

from podium.core.feature_names import feature_identifier
from podium.core.wording import advice
from podium.data.normalize import WITHIN_QUERY
from podium.numerics.forward import ACTIVATIONS, HEIGHT, SLOPE
from podium.numerics.trees.forest import Forest
from podium.rankers.adapter import EstimatorModel
from podium.rankers.estimator import BaseRanker
from podium.rankers.fitted import FittedEstimator
from podium.scorers import FunctionModel, KernelModel, LinearModel, MLPModel, Model, TorchModel, TreesModel
from podium.scorers.chance import HashModel
from podium.scorers.standardization import Standardization
from podium.scorers.thresholds import StepModel

__all__ = ["Layer", "Linear", "Network", "NotExportable", "Portable", "Trees", "portable"]


class NotExportable(ValueError):  # noqa: N818  it is what the caller reads: a fact, not a fault
    """The model cannot be exported to this format; the message says why and what to do instead.

    Examples
    --------
    >>> import podium
    >>> ranker = podium.RandomRanker().fit(podium.make_queries(n_queries=5, n_features=2))
    >>> try:
    ...     podium.export(ranker, "model.json", format="solr")
    ... except podium.NotExportable as error:
    ...     print("hash" in str(error))
    True
    """


@dataclass(frozen=True, eq=False)
class Linear:
    """``score = features @ weights + intercept``, some of the features replaced by logarithms.

    Parameters
    ----------
    weights : (n_features,) float64 array
        One weight per feature.
    intercept : float
        The constant in each score.
    feature_names : tuple of str
        Names of the features.
    centers : (n_features,) array, optional
        Float32 numbers that a system with few digits should subtract from the features first. Weights and intercept
        are those of features from which nothing is subtracted.
    logarithms : (n_features,) array, optional
        The unit u of features that are first replaced by ``sign(x) log(1 + |x| / u)``; 0 for all others. None if there
        is none.
    negative : (n_features,) array, optional
        Whether values of these were below 0 in training; None if it is not known.

    Examples
    --------
    >>> import podium
    >>> ranker = podium.ListNet().fit(podium.make_queries(n_queries=20, n_documents=5, n_features=2))
    >>> model = podium.export.portable(ranker)
    >>> type(model).__name__, model.weights.shape, model.feature_names
    ('Linear', (2,), ('feature_1', 'feature_2'))
    """

    weights: np.ndarray
    intercept: float
    feature_names: tuple[str, ...]
    centers: np.ndarray | None = None
    logarithms: np.ndarray | None = None
    negative: np.ndarray | None = None
    kind: ClassVar[str] = "linear"


@dataclass(frozen=True, eq=False)
class Trees:
    """The sum of the leaf values that a document reaches; rules on single features are trees of two leaves.

    Parameters
    ----------
    forest : Forest
        The trees as flat arrays.
    feature_names : tuple of str
        Names of the features.

    Examples
    --------
    >>> import podium
    >>> queries = podium.make_queries(n_queries=20, n_documents=5, n_features=2)
    >>> model = podium.export.portable(podium.LambdaMART(n_trees=5, random_state=0).fit(queries))
    >>> type(model).__name__, model.forest.n_trees
    ('Trees', 5)
    """

    forest: Forest
    feature_names: tuple[str, ...]
    kind: ClassVar[str] = "trees"


class Layer(NamedTuple):
    """A dense layer, ``output = activation(input @ weights + bias)``.

    Parameters
    ----------
    weights : (n_in, n_out) float64 array
        One column per unit.
    bias : (n_out,) float64 array
        One constant per unit.
    activation : {"linear", "tanh", "relu"}
        What units apply; tanh is the ordinary one.

    Examples
    --------
    >>> import numpy as np, podium
    >>> layer = podium.export.Layer(np.eye(2), np.zeros(2), "relu")
    >>> np.maximum(np.array([[1.0, -1.0]]) @ layer.weights + layer.bias, 0).tolist()
    [[1.0, 0.0]]
    """

    weights: np.ndarray
    bias: np.ndarray
    activation: str


@dataclass(frozen=True, eq=False)
class Network:
    """Dense layers, one after the other; the last has one output, the score.

    Parameters
    ----------
    layers : tuple of Layer
        From the features to the score.
    feature_names, centers, logarithms, negative : Any
        As in :class:`podium.export.Linear`.

    Examples
    --------
    >>> import podium
    >>> loss, queries = podium.losses.ListNetLoss(), podium.make_queries(n_queries=20, n_documents=5, n_features=2)
    >>> ranker = podium.Ranker(loss, podium.scorers.MLP(hidden=3), podium.training.Stochastic(epochs=2)).fit(queries)
    >>> network = podium.export.portable(ranker)
    >>> isinstance(network, podium.export.Portable), [layer.weights.shape for layer in network.layers]
    (True, [(2, 3), (3, 1)])
    """

    layers: tuple[Layer, ...]
    feature_names: tuple[str, ...]
    centers: np.ndarray | None = None
    logarithms: np.ndarray | None = None
    negative: np.ndarray | None = None
    kind: ClassVar[str] = "network"


Portable = Linear | Trees | Network
"""What :func:`portable` returns."""

_KINDS: dict[type[Model], type[Portable]] = {
    LinearModel: Linear,
    TreesModel: Trees,
    StepModel: Trees,
    MLPModel: Network,
}
_DISTILL = (
    "Train a model that learns its scores from the features of one document: "
    "podium.distill(model, queries, student=podium.LambdaMART()), or podium train DATA --distill lambdamart"
)
_NO_FORMULA: dict[type[Model], str] = {
    KernelModel: f"compares each document with the documents it was trained on. {_DISTILL}",
    HashModel: "scores by a hash of the features, which other systems do not compute. It is meant for comparisons only",
    TorchModel: f"is a PyTorch module, whose code only PyTorch and ONNX can run. {_DISTILL}",
    EstimatorModel: (
        "belongs to another library: export ranker.estimator_ as that library does. "
        f"Or, for a model of Podium's: {_DISTILL[0].lower()}{_DISTILL[1:]}"
    ),
    FunctionModel: f"is made of Python code of your own. {_DISTILL}",
}


def portable(ranker: Any, feature_names: Sequence[str] | None = None) -> Portable:
    """Return a fitted ranker as a function of one document's features.

    Parameters
    ----------
    ranker : a fitted ranker
    feature_names : (n_features,) strings, optional
        By default those it was trained with, else ``feature_1``, ``feature_2``, …

    Raises
    ------
    NotExportable
        If its scores are not such a function: they depend on the other documents of a list, or on Python code.

    Examples
    --------
    >>> import podium
    >>> queries = podium.make_queries(n_queries=20, n_documents=5, n_features=2, random_state=0)
    >>> model = portable(podium.ListNet().fit(queries), ["bm25", "age"])
    >>> model.kind, model.feature_names, model.weights.shape
    ('linear', ('bm25', 'age'), (2,))
    """
    ranker = unwrapped(ranker)
    portable_kind(ranker)
    ranker._require_fitted()
    names, model, standardization = names_of(ranker, feature_names), ranker.model_, ranker.standardization_
    logarithms = {} if standardization is None else _logarithms(standardization)
    if isinstance(model, LinearModel):
        weights, shift = _folded(model.coef[:, np.newaxis], standardization)
        centers = centers_of(model.standardization or standardization)
        return Linear(weights[:, 0], model.intercept + float(shift[0]), names, centers, **logarithms)
    if isinstance(model, MLPModel):
        return Network(_layers(model, standardization), names, centers_of(model.standardization), **logarithms)
    if standardization is not None:
        raise NotExportable(f"{_named(ranker)} standardizes the features of trees, whose thresholds would be rounded")
    if isinstance(model, StepModel):
        return Trees(Forest.of_steps(model.feature, model.threshold, model.weight, model.n_features), names)
    return Trees(_around_zero(model.forest), names)


def portable_kind(ranker: Any) -> type[Portable]:
    """Return the class that :func:`portable` gives for a ranker, which need not be fitted; raise NotExportable."""
    ranker = unwrapped(ranker)
    require_ranker(ranker)
    named = _named(ranker)
    if ranker.normalize in WITHIN_QUERY:
        raise NotExportable(
            f"{named} rescales features within each query (normalize={ranker.normalize!r}), and what computes one "
            "document at a time cannot. Train it with "
            + advice('normalize="robust", or None for trees', "--normalize robust, or none for trees")
            + f". {_DISTILL}"
        )
    scorer = ranker._scorer()
    if scorer.listwise:
        raise NotExportable(f"{named} scores a document by looking at the other documents of its list. {_DISTILL}")
    for model_class, kind in _KINDS.items():
        if issubclass(scorer.model_class, model_class):
            return kind
    for model_class, reason in _NO_FORMULA.items():
        if issubclass(scorer.model_class, model_class):
            raise NotExportable(f"{named} {reason}")
    raise NotExportable(f"{named} has a model of its own kind ({scorer.model_class.__name__}). {_DISTILL}")


def _logarithms(standardization: Standardization) -> dict[str, Any]:
    return {"logarithms": standardization.log_scale, "negative": standardization.log_negative}


def centers_of(standardization: Standardization | None) -> np.ndarray | None:
    """Return means of features that are far from 0 compared with their deviation, such as times; 0 for other features.

    In float32 the product of a weight and such a feature has no digits left for the differences between documents.
    None if there is no such feature.
    """
    if standardization is None:
        return None
    far = np.abs(standardization.mean * standardization.inverse_scale) > _FAR
    return np.where(far, standardization.mean, 0.0).astype(np.float32) if far.any() else None


_FAR = 100.0


def unwrapped(ranker: Any) -> Any:
    """Return the fitted ranker inside one that only chose it, such as :class:`podium.Auto`."""
    while isinstance(inner := getattr(ranker, "pick_", None), FittedEstimator):
        ranker = inner
    return ranker


def require_ranker(ranker: Any) -> None:
    """Raise NotExportable unless this is a ranker of documents by their features."""
    if isinstance(ranker, BaseRanker):
        return
    if isinstance(ranker, FittedEstimator):
        raise NotExportable(
            f"{_named(ranker)} is a model of ratings: its scores belong to users and items, not to the features of a "
            "document. `podium ratings export` writes its factors, `podium ratings recommend` what it recommends"
        )
    raise NotExportable(f"{ranker!r} is not a Podium ranker; podium.load(path) returns the one in a model file")


def names_of(ranker: BaseRanker, given: Sequence[str] | None = None) -> tuple[str, ...]:
    """Return the names of a fitted ranker's features: those given, its own, or ``feature_1``, ``feature_2``, …"""
    own = getattr(ranker, "feature_names_in_", None)
    n = ranker.n_features_in_
    if given is None:
        given = [feature_identifier(j, own) for j in range(n)]
    if isinstance(given, str):
        raise ValueError("feature_names must be a sequence of names, not one string")
    names = tuple(str(name) for name in given)
    if len(names) != n:
        raise ValueError(f"{len(names)} feature names were given for a model of {n} features")
    for place, name in enumerate(names):
        if not name.strip() or not name.isprintable():
            raise ValueError(f"the name of feature {place + 1} is {name!r}; it must be a printable word")
        if name in names[:place]:
            raise ValueError(f"features {names.index(name) + 1} and {place + 1} are both named {name!r}")
    return names


_ZERO = float(np.float32(1e-35))
"""LightGBM takes values of at most this size for zero."""


def _around_zero(forest: Forest) -> Forest:
    """Return trees that decide on tiny values as LightGBM does, without taking them for zero first."""
    within = (np.abs(forest.threshold) <= _ZERO) & ~forest.categorical
    outside = np.where(forest.threshold >= 0, _ZERO, np.nextafter(-_ZERO, -1.0))
    return replace(forest, threshold=np.where(within, outside, forest.threshold))


def _named(ranker: Any) -> str:
    return f"this {type(ranker).__name__}"


def _folded(weights: np.ndarray, standardization: Standardization | None) -> tuple[np.ndarray, np.ndarray]:
    """Return (n_features, n_out) weights of the features as given, and what they add to the (n_out,) biases."""
    if standardization is None:
        return weights, np.zeros(weights.shape[1])
    scaled = weights * standardization.inverse_scale[:, np.newaxis]
    return scaled, -(standardization.mean @ scaled)


def _layers(model: MLPModel, standardization: Standardization | None) -> tuple[Layer, ...]:
    hidden, output, *sizes = model.shape.tolist()
    layers, height = [], 1.0
    for place, (own, bias) in enumerate(model.layers(), start=1):
        weights = own.T * height
        if place == 1:
            for scaling in (model.standardization, standardization):
                weights, shift = _folded(weights, scaling)
                bias = bias + shift
        activation = ACTIVATIONS[hidden if place < len(sizes) - 1 else output]
        # 1.7159 tanh(2z/3) as the ordinary tanh: the slope goes into this layer, the height into the next.
        slope, height = (SLOPE, HEIGHT) if activation == "tanh" else (1.0, 1.0)
        layers.append(Layer(np.ascontiguousarray(weights * slope), bias * slope, activation))
    if height != 1.0:
        layers.append(Layer(np.full((1, 1), height), np.zeros(1), "linear"))
    return tuple(layers)

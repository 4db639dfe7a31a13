"""A multilayer perceptron on each document's features.

    h_0 = x,   h_l = a(W_l h_{l−1} + b_l),   score(x) = o(w · h_L + c)

with a the scaled tanh 1.7159 tanh(2z/3) or max(z, 0), and o the identity or the scaled tanh. With one hidden layer of
five units and a tanh output it is the individual potential of BoltzRank (Volkovs & Zemel, ICML 2009).
"""

from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from podium.core.parameters import choice, require_count
from podium.data.queries import Queries
from podium.numerics.forward import ACTIVATIONS, HEIGHT, RELU, SLOPE, TANH, activated, layers_of
from podium.scorers.compiled import Kernels
from podium.scorers.network import layers
from podium.scorers.network.base import NetworkModel, NetworkScorer, NetworkTable, network_kernels

__all__ = ["MLP", "MLPModel"]


def _mlp(network: NetworkTable, first: int, last: int, block: int, sums: np.ndarray) -> None:
    """See :mod:`podium.scorers.network.base`; ``shape`` is the two activations and the widths of the layers."""
    hidden, output, sizes = network.shape[0], network.shape[1], network.shape[2:]
    scratch = network.scratch[block]
    activations, deltas = scratch[: len(scratch) // 2], scratch[len(scratch) // 2 :]
    for begin in range(first, last, layers.BLOCK):
        value = network.values[begin : min(begin + layers.BLOCK, last)]
        layers.load_block(network.rows, begin, network.scaling, layers.part(activations, 0, sizes[0], len(value)))
        scores = layers.net_forward(sizes, hidden, output, network.weights, activations, len(value))
        if network.backward:
            layers.net_backward(sizes, hidden, output, network.weights, activations, deltas, value, sums)
        else:
            layers.copy_into(value, scores)


class MLPModel(NetworkModel):
    """A multilayer perceptron; ``theta`` holds each layer's matrix and biases.

    Examples
    --------
    >>> import numpy as np, podium
    >>> queries = podium.make_queries(n_queries=5, n_features=4)
    >>> model = podium.scorers.MLP(hidden=3).start(queries, np.random.default_rng(0))
    >>> [(weights.shape, biases.shape) for weights, biases in model.layers()], len(model.theta)
    ([((3, 4), (3,)), ((1, 3), (1,))], 19)
    """

    kernels: ClassVar[Kernels] = network_kernels(_mlp)

    def scratch_size(self, queries: Queries) -> int:
        return 2 * int(self.shape[2:].sum()) * layers.BLOCK

    def weights_mask(self) -> np.ndarray:
        return layers.is_weight(self.shape[2:])

    def layers(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """Return the matrix, (n_out, n_in), and the biases, (n_out,), of each layer."""
        return layers_of(self.theta, self.shape[2:].tolist())

    def scoring(self) -> dict[str, Any]:
        hidden, output = (ACTIVATIONS[k] for k in self.shape[:2].tolist())
        return {"kind": "mlp", "layers": self.shape[2:].tolist(), "activation": hidden, "output": output}

    def input_gradients(self, features: np.ndarray) -> np.ndarray:
        values, slopes = (features - self.standardization.mean) * self.standardization.inverse_scale, []
        layers = self.layers()
        for number, (weights, biases) in enumerate(layers, 1):
            values, slope = _activated(values @ weights.T + biases, int(self.shape[int(number == len(layers))]))
            slopes.append(slope)
        gradient = np.ones((len(features), 1))
        for (weights, _), slope in zip(reversed(layers), reversed(slopes), strict=True):
            gradient = (gradient * slope) @ weights
        return gradient * self.standardization.inverse_scale


def _activated(z: np.ndarray, activation: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the outputs of units for their inputs, and the derivatives."""
    values = activated(activation, z)
    if activation == TANH:
        return values, HEIGHT * SLOPE - SLOPE / HEIGHT * values**2
    return values, z > 0 if activation == RELU else np.ones_like(z)


class MLP(NetworkScorer, model_class=MLPModel):
    """Multilayer perceptron on each document's features.

    Computed in the type of the features: float32 features take half the time and memory of float64 ones.

    Parameters
    ----------
    hidden : int or sequence of ints
        Units of each hidden layer.
    activation : {"tanh", "relu"}
        Activation of the hidden units; ``"tanh"`` is the scaled one, 1.7159 tanh(2z/3).
    output : {"linear", "tanh"}
        Activation of the output unit. The scaled tanh keeps scores within ±1.7159, as in BoltzRank's paper.

    Examples
    --------
    >>> import podium
    >>> queries = podium.make_queries(n_queries=50, n_documents=10, n_features=5)
    >>> ranker = podium.Ranker(podium.losses.ListNetLoss(), MLP(hidden=8), random_state=0).fit(queries)
    >>> ranker.score(queries) > 0.8
    True
    """

    hidden: int | tuple[int, ...] = 5
    activation: str = choice("tanh", "relu")
    output: str = choice("linear", "tanh")

    def shape(self, n_features: int) -> np.ndarray:
        hidden = self.hidden if isinstance(self.hidden, tuple | list) else (self.hidden,)
        for size in hidden:
            require_count("hidden", size)
        self.check_parameters()
        activations = ACTIVATIONS.index(self.activation), ACTIVATIONS.index(self.output)
        return np.array([*activations, n_features, *hidden, 1], dtype=np.int64)

    def n_weights(self, shape: list[int]) -> int:
        return sum((n_in + 1) * n_out for n_in, n_out in pairwise(shape[2:]))

    def initial_theta(self, shape: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        return layers.initial_weights(shape[2:], int(shape[0]), rng)

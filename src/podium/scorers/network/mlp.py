"""A multilayer perceptron on each document's features.

    h_0 = x,   h_l = a(W_l h_{l−1} + b_l),   score(x) = o(w · h_L + c)

with a the scaled tanh 1.7159 tanh(2z/3) or max(z, 0), and o the identity or the scaled tanh. With one hidden layer of
five units and a tanh output it is the individual potential of BoltzRank (Volkovs & Zemel, ICML 2009).
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from podium.core.parameters import require_choice, require_count, require_number
from podium.numerics.compiling import Kernel, compiled
from podium.scorers.network.base import NetworkModel, NetworkScorer
from podium.scorers.network.layers import (
    ACTIVATIONS,
    BLOCK,
    copy_into,
    initial_weights,
    is_weight,
    load_block,
    net_backward,
    net_forward,
    part,
)

__all__ = ["MLP", "MLPModel"]


def _mlp(
    shape: np.ndarray,
    scaling: np.ndarray,
    rows: Any,
    start: int,
    stop: int,
    first: int,
    last: int,
    weights: np.ndarray,
    work: np.ndarray,
    values: np.ndarray,
    gradient: np.ndarray,
) -> None:
    """See :mod:`podium.scorers.network.base`; ``shape`` is the two activations and the widths of the layers."""
    hidden, output, sizes = shape[0], shape[1], shape[2:]
    activations, deltas = work[: len(work) // 2], work[len(work) // 2 :]
    for begin in range(0, last - first, BLOCK):
        value = values[begin : begin + BLOCK]
        load_block(rows, first + begin, scaling, part(activations, 0, sizes[0], len(value)))
        scores = net_forward(sizes, hidden, output, weights, activations, len(value))
        if len(gradient) == 0:
            copy_into(value, scores)
        else:
            net_backward(sizes, hidden, output, weights, activations, deltas, value, gradient)


class MLPModel(NetworkModel):
    """``theta`` holds each layer's matrix and biases, see :mod:`podium.scorers.network.layers`."""

    kernel: ClassVar[Kernel] = compiled(_mlp)

    def work_size(self, longest: int) -> int:
        return 2 * int(self.shape[2:].sum()) * min(longest, BLOCK)

    def weights_mask(self) -> np.ndarray:
        return is_weight(self.shape[2:])


class MLP(NetworkScorer):
    """Multilayer perceptron on each document's features.

    Parameters
    ----------
    hidden : int or sequence of ints
        Units of each hidden layer.
    activation : {"tanh", "relu"}
        Of the hidden units; ``"tanh"`` is the scaled one, 1.7159 tanh(2z/3).
    output : {"linear", "tanh"}
        Of the output unit. The scaled tanh keeps scores within ±1.7159, as BoltzRank's paper has it.
    l2 : float
        Penalty ``l2/2 ‖W‖²`` on the weights (of normalised features), not on the biases.

    Computed in the type of the features: float32 features take half the time and memory of float64 ones.

    Examples
    --------
    >>> import podium
    >>> queries = podium.make_queries(n_queries=50, n_documents=10, n_features=5)
    >>> ranker = podium.Ranker(podium.losses.ListNetLoss(), MLP(hidden=8), random_state=0).fit(queries)
    >>> ranker.score(queries) > 0.8
    True
    """

    hidden: int | tuple[int, ...] = 5
    activation: str = "tanh"
    output: str = "linear"

    model_class: ClassVar[type[MLPModel]] = MLPModel

    def shape(self, n_features: int) -> np.ndarray:
        """The network's shape for this many features; checks the parameters."""
        hidden = self.hidden if isinstance(self.hidden, tuple | list) else (self.hidden,)
        for size in hidden:
            require_count("hidden", size)
        require_choice("activation", self.activation, ("tanh", "relu"))
        require_choice("output", self.output, ("linear", "tanh"))
        require_number("l2", self.l2, at_least=0)
        activations = ACTIVATIONS.index(self.activation), ACTIVATIONS.index(self.output)
        return np.array([*activations, n_features, *hidden, 1], dtype=np.int64)

    def initial_theta(self, shape: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        return initial_weights(shape[2:], int(shape[0]), rng)

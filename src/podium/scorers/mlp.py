"""A multilayer perceptron on each document's features.

    h_0 = x,   h_l = a(W_l h_{l−1} + b_l),   score(x) = o(w · h_L + c)

with a the scaled tanh 1.7159 tanh(2z/3) or max(z, 0), and o the identity or the scaled tanh. With one hidden layer of five
units and a tanh output it is the individual potential of BoltzRank (Volkovs & Zemel, ICML 2009).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import numpy as np
from numba import njit

from podium.parameters import choose, require_count, require_number
from podium.queries import Queries
from podium.scorers.base import Scorer
from podium.scorers.layers import (
    ACTIVATIONS,
    BLOCK,
    Net,
    copy_into,
    initial_weights,
    is_weight,
    load_block,
    net_backward,
    net_forward,
    part,
    total,
    unscaled,
)
from podium.scorers.networks import NetworkKernels, NetworkModel
from podium.scorers.standardization import Standardization

if TYPE_CHECKING:
    from podium.training.base import Trainer


class _Buffers(NamedTuple):
    activations: np.ndarray
    deltas: np.ndarray


@njit(error_model="numpy")
def _buffers(network: Net, weights: np.ndarray, longest: int) -> _Buffers:
    size = total(network.sizes) * min(longest, BLOCK)
    return _Buffers(np.empty(size, weights.dtype), np.empty(size, weights.dtype))


@njit(error_model="numpy")
def mlp(
    network: Net,
    rows: Any,
    start: int,
    stop: int,
    first: int,
    last: int,
    weights: np.ndarray,
    buffers: _Buffers,
    values: np.ndarray,
    gradient: np.ndarray,
) -> None:
    """See :mod:`podium.scorers.networks`."""
    mean, inverse_scale = network.mean, network.inverse_scale
    for begin in range(0, last - first, BLOCK):
        value = values[begin : begin + BLOCK]
        load_block(rows, first + begin, mean, inverse_scale, part(buffers.activations, 0, len(mean), len(value)))
        scores = net_forward(network, weights, buffers.activations, len(value))
        if len(gradient) == 0:
            copy_into(value, scores)
        else:
            net_backward(network, weights, buffers.activations, buffers.deltas, value, gradient)


class MLPModel(NetworkModel):
    """``theta`` holds each layer's matrix and biases, see :mod:`podium.scorers.layers`."""

    kernels: ClassVar[NetworkKernels] = NetworkKernels(_buffers, mlp)

    def __init__(
        self, theta: np.ndarray, net: Net, standardization: Standardization | None = None, l2: float = 0.0
    ) -> None:
        super().__init__(theta, int(net.sizes[0]), standardization, l2)
        self.net = net

    def network(self, mean: np.ndarray, inverse_scale: np.ndarray) -> Net:
        return self.net._replace(mean=mean, inverse_scale=inverse_scale)

    def weights_mask(self) -> np.ndarray:
        return is_weight(self.net.sizes)

    @classmethod
    def from_weights(
        cls, scorer: MLP, theta: np.ndarray, n_features: int, standardization: Standardization | None
    ) -> Self:
        return cls(theta, scorer.net(n_features), standardization, scorer.l2)


class MLP(Scorer):
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

    folds_standardization: ClassVar[bool] = True
    model_class: ClassVar[type[MLPModel]] = MLPModel

    def __init__(
        self, hidden: int | tuple[int, ...] = 5, activation: str = "tanh", output: str = "linear", l2: float = 1e-4
    ) -> None:
        self.hidden = hidden
        self.activation = activation
        self.output = output
        self.l2 = l2

    def net(self, n_features: int) -> Net:
        """The network's shape for this many features; checks the parameters."""
        hidden = self.hidden if isinstance(self.hidden, tuple | list) else (self.hidden,)
        for size in hidden:
            require_count("hidden", size)
        choose("activation", self.activation, ("tanh", "relu"))
        choose("output", self.output, ("linear", "tanh"))
        require_number("l2", self.l2, at_least=0)
        sizes = np.array([n_features, *hidden, 1], dtype=np.int64)
        return Net(sizes, ACTIVATIONS.index(self.activation), ACTIVATIONS.index(self.output), *unscaled(n_features))

    def start(
        self,
        queries: Queries,
        rng: np.random.Generator,
        *,
        intercept: bool = False,
        standardization: Standardization | None = None,
    ) -> MLPModel:
        net = self.net(queries.n_features)
        return MLPModel(initial_weights(net.sizes, net.activation, rng), net, standardization, self.l2)

    def default_trainer(self) -> Trainer:
        from podium.training import Stochastic

        return Stochastic()

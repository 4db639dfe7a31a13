"""Base classes of scorers that are small compiled networks.

A kind of network is one compiled function of documents ``first:last``,

    run(network, first, last, block, sums)

Forward it writes their scores to ``network.values``. Backward it finds the derivatives with respect to these scores
there, and adds what follows for the weights to ``sums``. (One function, since most of it is the same and compiling it
takes seconds.) It uses no other memory than row ``block`` of ``network.scratch``.
"""

from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from podium.core.parameters import number
from podium.numerics.compiling import compiled
from podium.scorers.base import PLAIN, Arrays, Buffers, Model, Queries, Scorer, StartOptions, require_array
from podium.scorers.compiled import CompiledModel, Kernels
from podium.scorers.network.layers import Rows, network_rows
from podium.scorers.standardization import Standardization


class NetworkTable(NamedTuple):
    """What a network's compiled functions work on. Features, scaling, weights and scratch space are of one type."""

    shape: np.ndarray
    """Integers whose meaning is the network's own."""
    scaling: np.ndarray
    """(2, n_features): what standardization subtracts from features, then what it multiplies by."""
    rows: Rows
    offsets: np.ndarray
    """Where lists start and stop; for networks that see whole lists."""
    theta: np.ndarray
    """(n_parameters,) float64."""
    weights: np.ndarray
    """The parameters in the features' type."""
    scratch: np.ndarray
    """(n_blocks, size)"""
    backward: bool
    values: np.ndarray
    """(n_documents,) scores or, backward, the derivatives with respect to them."""


def _begin(network: NetworkTable, first: int, last: int, block: int, sums: np.ndarray) -> None:
    for j in range(len(network.theta)):
        network.weights[j] = network.theta[j]


begin = compiled(_begin)


def network_kernels(run: Any) -> Kernels:
    """Return the kernels of a network from its one function."""
    kernel = compiled(run)
    return Kernels(begin, kernel, kernel)


class NetworkModel(CompiledModel):
    """A model whose scores are those of a compiled network.

    Parameters
    ----------
    theta : (n_parameters,) array
        The network's weights and biases.
    shape : array of integers
        Sizes of the layers, and what else the network's own scorer writes there.
    n_features : int
        Features that it takes.
    standardization : Standardization, optional
        Applied to features first.
    l2 : float
        Penalty on the weights.
    """

    uses_blas: ClassVar[bool] = True

    def __init__(
        self, theta: np.ndarray, shape: np.ndarray, n_features: int, standardization: Standardization | None, l2: float
    ) -> None:
        self.theta = theta
        self.shape = shape
        self.n_features = n_features
        self.standardization = standardization or Standardization(np.zeros(n_features), np.ones(n_features))
        self.l2 = np.where(self.weights_mask(), l2, 0.0)  # biases are free

    def continued(self, fitted: Model) -> Self:
        other = super().continued(fitted)
        assert isinstance(fitted, NetworkModel)
        if not np.array_equal(fitted.shape, self.shape):
            raise ValueError("the fitted network has other layers")
        other.standardization = fitted.standardization  # its weights are those of features on that scale
        return other

    def weights_mask(self) -> np.ndarray:
        """Return (n_parameters,) which parameters are weights, to be penalized, and not biases."""
        raise NotImplementedError

    def work(self, queries: Queries) -> float:
        return float(queries.n_documents * len(self.theta))

    def tables(self, queries: Queries, buffers: Buffers, n_blocks: int) -> tuple[NetworkTable, NetworkTable]:
        rows = network_rows(queries)
        dtype = rows[0].dtype
        network = NetworkTable(
            self.shape,
            np.array([self.standardization.mean, self.standardization.inverse_scale], dtype=dtype),
            rows,
            queries.offsets,
            buffers.theta,
            self.theta.astype(dtype),
            np.empty((n_blocks, self.scratch_size(queries)), dtype),
            False,
            buffers.scores,
        )
        return network, network._replace(backward=True, values=buffers.d_scores)

    def to_arrays(self) -> Arrays:
        return {"weights": self.theta, **self.standardization.to_arrays()}

    @classmethod
    def from_arrays(cls, scorer: Scorer | None, arrays: Arrays) -> Self:
        assert isinstance(scorer, NetworkScorer)
        mean = require_array(arrays, "mean", (None,))
        standardization = Standardization.from_arrays(arrays, len(mean))
        theta = require_array(arrays, "weights", (None,))
        shape = scorer.shape(len(mean))
        n_weights = scorer.n_weights(list(map(int, shape)))  # before anything of this size is made
        if len(theta) != n_weights:
            raise ValueError(
                f"the model has {len(theta)} weights, but {scorer!r} of {len(mean)} features has {n_weights}"
            )
        return cls(theta, shape, len(mean), standardization, scorer.l2)


class NetworkScorer(Scorer, trained_by="stochastic", folds_standardization=True):
    """A scorer whose models are compiled networks.

    Parameters
    ----------
    l2 : float
        Penalty ``l2/2 ‖W‖²`` on the weights (of normalized features), not on the biases.
    """

    model_class: ClassVar[type[NetworkModel]]
    l2: float = number(1e-4, at_least=0)

    def shape(self, n_features: int) -> np.ndarray:
        """Return the network's shape, for its compiled function; raise ValueError for unusable parameters."""
        raise NotImplementedError

    def n_weights(self, shape: list[int]) -> int:
        """Return the number of parameters of a network of this shape."""
        raise NotImplementedError

    def initial_theta(self, shape: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Return random parameters for a network of this shape."""
        raise NotImplementedError

    def start(self, queries: Queries, rng: np.random.Generator, options: StartOptions = PLAIN) -> NetworkModel:
        shape = self.shape(queries.n_features)
        theta = self.initial_theta(shape, rng)
        return self.model_class(theta, shape, queries.n_features, options.standardization, self.l2)

"""What models made of small compiled networks share: parallel passes over documents, penalty and state.

A kind of network is one compiled function,

    run(shape, scaling, rows, start, stop, first, last, weights, work, values, gradient)

which works on documents ``first:last`` of the list ``start:stop``. With an empty ``gradient`` it writes their scores to
``values``; else ``values`` are the derivatives with respect to these scores, and what they mean for the weights is
added to ``gradient``. (One function, since most of it is the same and compiling it takes seconds.) ``shape`` are
integers whose meaning is the network's own, ``scaling`` (2, n_features) standardizes features, and ``work`` is scratch
space: as it takes no other memory, a training loop can call it for one list after another. Features, ``scaling``,
``weights`` and ``work`` are of one type.

Loops take ``run`` as an argument, a pointer to a function compiled once: what would be inlined into each loop and for
each loss takes ten seconds to compile.
"""

from __future__ import annotations

from typing import Any, ClassVar, Literal, Self

import numpy as np
from numba import from_dtype, njit, prange, typeof, types

from podium.core.arrays import Arrays, require_array
from podium.data.queries import Queries
from podium.numerics.compiling import ONLY_PRANGE, Kernel
from podium.scorers.base import PLAIN, Backward, Scorer, SmoothModel, StartOptions
from podium.scorers.network.layers import network_rows
from podium.scorers.standardization import Standardization

_MOST_CHUNKS = 64  # enough for any number of cores; fixed, so that sums do not depend on their number


class NetworkModel(SmoothModel):
    """A model whose scores are those of a compiled network."""

    kernel: ClassVar[Kernel]
    """``run``."""
    listwise: ClassVar[bool] = False
    n_features: int

    def __init__(
        self, theta: np.ndarray, shape: np.ndarray, n_features: int, standardization: Standardization | None, l2: float
    ) -> None:
        self.theta = theta
        self.shape = shape
        self.n_features = n_features
        self.standardization = standardization or Standardization(np.zeros(n_features), np.ones(n_features))
        self.l2 = np.where(self.weights_mask(), l2, 0.0)  # biases are free

    def work_size(self, longest: int) -> int:
        """How much scratch space lists of up to ``longest`` documents take."""
        raise NotImplementedError

    def weights_mask(self) -> np.ndarray:
        """(n_parameters,) which parameters are weights, to be penalised, and not biases."""
        raise NotImplementedError

    def scaling(self, dtype: Any) -> np.ndarray:
        """(2, n_features) for features of this type."""
        return np.array([self.standardization.mean, self.standardization.inverse_scale], dtype=dtype)

    def scores(self, queries: Queries) -> np.ndarray:
        scores = np.empty(queries.n_documents)
        self._pass(queries, scores, n_gradient=0)
        return scores

    def forward(self, queries: Queries) -> tuple[np.ndarray, Backward]:
        return self.scores(queries), lambda d_scores: self._pass(
            queries, np.ascontiguousarray(d_scores, dtype=np.float64), n_gradient=len(self.theta)
        )

    def _pass(self, queries: Queries, values: np.ndarray, n_gradient: int) -> np.ndarray:
        """Run the network over all documents; returns the gradient, if one is asked for."""
        dtype = queries.features.dtype
        parts, bounds = parts_of(queries, self.listwise)
        gradients = np.zeros((len(bounds) - 1, n_gradient))
        call_with_network(
            _network_pass,
            self,
            queries.features,
            parts,
            bounds,
            self.theta.astype(dtype),
            self.work_size(int((parts[:, 1] - parts[:, 0]).max(initial=0))),
            values,
            gradients,
        )
        return gradients.sum(axis=0)

    def to_arrays(self) -> Arrays:
        return {
            "weights": self.theta,
            "mean": self.standardization.mean,
            "inverse_scale": self.standardization.inverse_scale,
        }

    @classmethod
    def from_arrays(cls, scorer: Scorer | None, arrays: Arrays) -> Self:
        assert isinstance(scorer, NetworkScorer)
        mean = require_array(arrays, "mean", (None,))
        standardization = Standardization(mean, require_array(arrays, "inverse_scale", mean.shape))
        theta = require_array(arrays, "weights", (None,))
        model = cls(theta, scorer.shape(len(mean)), len(mean), standardization, scorer.l2)
        n_weights = len(model.weights_mask())
        if len(theta) != n_weights:
            raise ValueError(
                f"the model has {len(theta)} weights, but {scorer!r} of {len(mean)} features has {n_weights}"
            )
        return model


class NetworkScorer(Scorer):
    """A scorer whose models are compiled networks."""

    trained_by: ClassVar[Literal["stochastic"]] = "stochastic"
    folds_standardization: ClassVar[bool] = True
    model_class: ClassVar[type[NetworkModel]]
    l2: float = 1e-4

    def shape(self, n_features: int) -> np.ndarray:
        """What the compiled network is told of its shape; checks the parameters."""
        raise NotImplementedError

    def initial_theta(self, shape: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Return random parameters for a network of this shape."""
        raise NotImplementedError

    def start(self, queries: Queries, rng: np.random.Generator, options: StartOptions = PLAIN) -> NetworkModel:
        shape = self.shape(queries.n_features)
        theta = self.initial_theta(shape, rng)
        return self.model_class(theta, shape, queries.n_features, options.standardization, self.l2)


def parts_of(queries: Queries, listwise: bool) -> tuple[np.ndarray, np.ndarray]:
    """(n_parts, 4) list start, list stop, first, last of each piece of work; and bounds of chunks of about equal cost.

    Both depend on the data alone, never on the number of threads. A long list is split into at most 8 pieces, each of
    which needs memory for the whole list.
    """
    n = queries.n_documents
    if not listwise:
        cuts = np.arange(0, n + 1024, 1024).clip(max=n)
        cuts = np.unique(cuts)
        parts = np.column_stack((cuts[:-1], cuts[1:], cuts[:-1], cuts[1:]))
        cost = parts[:, 1] - parts[:, 0]
    else:
        starts, stops = queries.offsets[:-1], queries.offsets[1:]
        pieces = np.minimum(-(-queries.sizes // 512), 8)
        of = np.repeat(np.arange(len(queries)), pieces)
        piece = np.arange(len(of)) - np.repeat(np.cumsum(pieces) - pieces, pieces)
        size = queries.sizes[of]
        first = starts[of] + size * piece // pieces[of]
        last = starts[of] + size * (piece + 1) // pieces[of]
        parts = np.column_stack((starts[of], stops[of], first, last))
        cost = size * (last - first)
    targets = np.linspace(0, cost.sum(), _MOST_CHUNKS + 1)[1:-1]
    bounds = np.unique(np.concatenate(([0], np.searchsorted(np.cumsum(cost), targets), [len(parts)])))
    return parts.astype(np.int64), bounds.astype(np.int64)


def call_with_network(loop: Any, model: NetworkModel, features: Any, *args: Any) -> Any:
    """Call a compiled loop with a network: ``loop(run, shape, scaling, rows, *args)``.

    Numba would take a compiled function for a constant and compile the loop for it alone; a signature that says
    "function of these types" makes it a pointer. ``loop`` keeps its compiled versions, here as in its cache on disk.
    """
    rows = network_rows(features)
    args = (model.shape, model.scaling(features.dtype), rows, *args)
    number, flat = from_dtype(features.dtype), types.float64[::1]
    run = types.void(
        types.int64[::1], number[:, ::1], typeof(rows), *[types.int64] * 4, number[::1], number[::1], flat, flat
    )
    signature = (types.FunctionType(run), *map(typeof, args))
    if signature not in loop.overloads:
        loop.compile(signature)
    return loop.overloads[signature].entry_point(type(model).kernel, *args)


@njit(cache=True, parallel=ONLY_PRANGE, error_model="numpy")
def _network_pass(
    run: Kernel,
    shape: np.ndarray,
    scaling: np.ndarray,
    rows: Any,
    parts: np.ndarray,
    bounds: np.ndarray,
    weights: np.ndarray,
    work_size: int,
    values: np.ndarray,
    gradients: np.ndarray,
) -> None:
    """Scores, or the gradient of each chunk."""
    for c in prange(len(bounds) - 1):
        work = np.empty(work_size, weights.dtype)
        for i in range(bounds[c], bounds[c + 1]):
            start, stop, first, last = parts[i, 0], parts[i, 1], parts[i, 2], parts[i, 3]
            run(shape, scaling, rows, start, stop, first, last, weights, work, values[first:last], gradients[c])

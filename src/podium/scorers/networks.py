"""What models made of small compiled networks share: parallel passes over documents, penalty and state.

A kind of network is two compiled functions and a tuple, its ``network``, that says its shape:

    buffers(network, weights, longest) -> scratch space for lists of up to ``longest`` documents
    run(network, rows, start, stop, first, last, weights, buffers, values, gradient)

``run`` works on documents ``first:last`` of the list ``start:stop``. With an empty ``gradient`` it writes their scores to
``values``; else ``values`` are the derivatives with respect to these scores, and what they mean for the weights is added to
``gradient``. (One function, since most of it is the same and compiling it takes seconds.) It uses no memory but the
buffers, so a training loop can call it for one list after another.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from types import FunctionType
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numba import njit, prange

from podium.losses.loop import ONLY_PRANGE, Kernel, specialize
from podium.queries import Queries
from podium.scorers.base import Backward, Scorer, SmoothModel, State, require_array
from podium.scorers.rows import as_rows
from podium.scorers.standardization import Standardization

_MOST_CHUNKS = 64  # enough for any number of cores; fixed, so that sums do not depend on their number


class NetworkKernels(NamedTuple):
    """The compiled functions of a kind of network."""

    buffers: Kernel
    run: Kernel


class NetworkModel(SmoothModel):
    """A model whose scores are those of a compiled network."""

    kernels: ClassVar[NetworkKernels]
    listwise: ClassVar[bool] = False
    n_features: int

    def __init__(self, theta: np.ndarray, n_features: int, standardization: Standardization | None, l2: float) -> None:
        self.theta = theta
        self.n_features = n_features
        self.standardization = standardization or Standardization(np.zeros(n_features), np.ones(n_features))
        self._l2 = l2

    def network(self, mean: np.ndarray, inverse_scale: np.ndarray) -> Any:
        """The tuple that describes this network to compiled code."""
        raise NotImplementedError

    def weights_mask(self) -> np.ndarray:
        """(n_parameters,) which parameters are weights, to be penalised, and not biases."""
        raise NotImplementedError

    def typed_network(self, dtype: Any) -> Any:
        """That tuple for features of this type."""
        scaling = self.standardization
        return self.network(scaling.mean.astype(dtype), scaling.inverse_scale.astype(dtype))

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
        network_pass(self.kernels)(
            self.typed_network(dtype),
            as_rows(queries.features),
            parts,
            bounds,
            self.theta.astype(dtype),
            values,
            gradients,
        )
        return gradients.sum(axis=0)

    def l2_weights(self) -> np.ndarray:
        """(n_parameters,) the strength of the L2 penalty on each parameter; biases are free."""
        return np.where(self.weights_mask(), self._l2, 0.0)

    def penalty(self) -> tuple[float, np.ndarray]:
        gradient = self.l2_weights() * self.theta
        return 0.5 * float(gradient @ self.theta), gradient

    def state(self) -> State:
        return {
            "weights": self.theta,
            "mean": self.standardization.mean,
            "inverse_scale": self.standardization.inverse_scale,
        }

    @classmethod
    def from_state(cls, scorer: Scorer | None, state: State) -> Self:
        mean = require_array(state, "mean", (None,))
        standardization = Standardization(mean, require_array(state, "inverse_scale", mean.shape))
        theta = require_array(state, "weights", (None,))
        model = cls.from_weights(scorer, theta, len(mean), standardization)
        if len(theta) != len(model.weights_mask()):
            raise ValueError(
                f"the model has {len(theta)} weights, but {scorer!r} of {len(mean)} features has {len(model.weights_mask())}"
            )
        return model

    @classmethod
    def from_weights(
        cls, scorer: Any, theta: np.ndarray, n_features: int, standardization: Standardization | None
    ) -> Self:
        """The model that this scorer describes, with these weights."""
        raise NotImplementedError


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


@njit(error_model="numpy")
def _longest(parts: np.ndarray) -> int:
    longest = 0
    for i in range(len(parts)):
        longest = max(longest, parts[i, 1] - parts[i, 0])
    return longest


def _network_pass(
    network: Any,
    rows: Any,
    parts: np.ndarray,
    bounds: np.ndarray,
    weights: np.ndarray,
    values: np.ndarray,
    gradients: np.ndarray,
) -> None:
    """Scores, or the gradient of each chunk."""
    for c in prange(len(bounds) - 1):
        mine = parts[bounds[c] : bounds[c + 1]]
        buffers = network_buffers(network, weights, _longest(mine))
        for i in range(len(mine)):
            start, stop, first, last = mine[i]
            run_network(network, rows, start, stop, first, last, weights, buffers, values[first:last], gradients[c])


def network_buffers(*_: Any) -> Any:
    """The name that :func:`with_network` binds to a network's ``buffers``."""
    raise AssertionError("a loop template was called without a network")


def run_network(*_: Any) -> None:
    """The name that :func:`with_network` binds to a network's ``run``."""
    raise AssertionError("a loop template was called without a network")


def with_network(loop: Callable[..., Any], kernels: NetworkKernels) -> Callable[..., Any]:
    """A copy of a loop template in which these two names are a network's functions; see :mod:`podium.losses.loop`."""
    names = {"network_buffers": kernels.buffers, "run_network": kernels.run}
    return FunctionType(loop.__code__, {**loop.__globals__, **names}, f"{kernels.run.__name__}_{loop.__name__}")


@cache
def network_pass(kernels: NetworkKernels) -> Callable[..., None]:
    """The parallel pass over documents, compiled for a kind of network."""
    return specialize(with_network(_network_pass, kernels), kernels.run, parallel=ONLY_PRANGE)

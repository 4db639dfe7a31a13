"""A small network as the loop over queries calls it."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numba import njit

from podium.numerics.calls import routine
from podium.numerics.compiling import Kernel, unbound, with_globals
from podium.numerics.loop import ModelRoutines
from podium.scorers.network.base import NetworkModel
from podium.scorers.network.layers import network_rows

run: Kernel = unbound


class NetworkTable(NamedTuple):
    """What the kernels of a network work on."""

    shape: np.ndarray
    scaling: np.ndarray
    rows: Any
    theta: np.ndarray
    l2: np.ndarray
    weights: np.ndarray
    """The parameters in the features' type."""
    work: np.ndarray
    """(n_blocks, size) scratch space in the features' type."""
    values: np.ndarray
    """The scores, or going backward the derivatives with respect to them."""
    backward: bool


def network_routines(
    model: NetworkModel, features: Any, longest: int, scores: np.ndarray, d_scores: np.ndarray, theta: np.ndarray
) -> ModelRoutines:
    """Return the routines of a network for an epoch, which moves ``theta``."""
    dtype = features.dtype
    table = NetworkTable(
        model.shape,
        model.scaling(dtype),
        network_rows(features),
        theta[: len(model.theta)],
        np.zeros_like(model.theta) + model.l2,
        np.empty(len(model.theta), dtype),
        np.empty((1, model.work_size(longest)), dtype),
        scores,
        backward=False,
    )
    kernel = _call_network_for(type(model).kernel)
    return ModelRoutines(
        routine(kernel, table),
        routine(kernel, table._replace(values=d_scores, backward=True)),
        len(model.theta),
        begin=routine(_begin, table),
    )


def _call_network(model: NetworkTable, start: int, stop: int, block: int, sums: np.ndarray) -> None:
    """Both directions are one function, since most of it is the same and compiling it takes seconds."""
    gradient = sums if model.backward else sums[:0]
    values, work = model.values[start:stop], model.work[block]
    run(model.shape, model.scaling, model.rows, start, stop, start, stop, model.weights, work, values, gradient)


@cache
def _call_network_for(kernel: Kernel) -> Kernel:
    copy = with_globals(_call_network, run=kernel)
    copy.__name__ = copy.__qualname__ = f"call_{kernel.__name__}"  # what is cached of it goes by its name
    return njit(error_model="numpy")(copy)  # type: ignore[no-any-return]


@njit(error_model="numpy")
def _begin(model: NetworkTable, start: int, stop: int, block: int, sums: np.ndarray) -> None:
    for j in range(len(model.theta)):
        model.weights[j] = model.theta[j]
        sums[j] = model.l2[j] * model.theta[j]

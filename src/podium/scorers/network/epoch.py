"""One epoch of stochastic gradient steps on a small network, compiled as a whole."""

from __future__ import annotations

from typing import Any

import numpy as np

from podium.numerics.calls import call_entry
from podium.numerics.compiling import Kernel, kept
from podium.training.optimizers import take_step


def _network_epoch(
    run: Kernel,
    shape: np.ndarray,
    scaling: np.ndarray,
    rows: Any,
    entry: int,
    block: int,
    offsets: np.ndarray,
    query_weights: np.ndarray,
    order: np.ndarray,
    batch_size: int,
    theta: np.ndarray,
    l2: np.ndarray,
    l1: np.ndarray,
    moments: np.ndarray,
    step: int,
    kind: int,
    rate: float,
    momentum: float,
    scores: np.ndarray,
    d_scores: np.ndarray,
    weights: np.ndarray,
    work: np.ndarray,
) -> tuple[float, int]:
    """Steps over the queries of ``order``, ``batch_size`` at a time; ``theta`` and ``moments`` are moved in place.

    ``theta`` is the network's weights followed by the loss's own parameters; ``weights`` and ``work`` are space in the
    features' type (see :mod:`podium.scorers.network.base`). Returns the mean loss met on the way and the number of
    steps
    taken so far. Steps follow one another, so this is one thread.
    """
    n_model, n_own = len(weights), len(theta) - len(weights)
    no_gradient = np.empty(0)
    gradient = np.empty(len(theta))
    d_one = np.empty(n_own)
    total = 0.0
    for begin in range(0, len(order), batch_size):
        batch = order[begin : begin + batch_size]
        for j in range(n_model):
            weights[j] = theta[j]
            gradient[j] = l2[j] * theta[j]
        gradient[n_model:] = 0.0
        scale = len(query_weights) / len(batch)
        for q in batch:
            start, stop, weight = offsets[q], offsets[q + 1], query_weights[q]
            if start == stop or weight == 0.0:
                continue
            s, g = scores[start:stop], d_scores[start:stop]
            run(shape, scaling, rows, start, stop, start, stop, weights, work, s, no_gradient)
            total += weight * call_entry(entry, block, q, start, stop, d_one.ctypes.data)
            for i in range(len(g)):
                g[i] *= weight * scale
            run(shape, scaling, rows, start, stop, start, stop, weights, work, g, gradient[:n_model])
            for p in range(n_own):
                gradient[n_model + p] += weight * scale * d_one[p]
        step += 1
        take_step(theta, gradient, moments, step, kind, rate, momentum, l1)
    return total, step


# To be called by podium.scorers.network.base.call_with_network.
network_epoch = kept(_network_epoch)

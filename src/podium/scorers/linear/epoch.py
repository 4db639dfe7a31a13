"""One epoch of stochastic gradient steps on a linear model, compiled as a whole."""

from __future__ import annotations

from typing import Any

import numpy as np

from podium.numerics.calls import call_entry
from podium.numerics.compiling import kept
from podium.scorers.linear.rows import add_rows, score_rows
from podium.training.optimizers import take_step


def _linear_epoch(
    entry: int,
    block: int,
    rows: Any,
    offsets: np.ndarray,
    weights: np.ndarray,
    order: np.ndarray,
    batch_size: int,
    theta: np.ndarray,
    has_intercept: bool,
    mean: np.ndarray,
    inverse_scale: np.ndarray,
    l2: np.ndarray,
    l1: np.ndarray,
    moments: np.ndarray,
    step: int,
    kind: int,
    rate: float,
    momentum: float,
    scores: np.ndarray,
    d_scores: np.ndarray,
) -> tuple[float, int]:
    """Steps over the queries of ``order``, ``batch_size`` at a time; ``theta`` and ``moments`` are moved in place.

    ``theta`` is (weights of standardized features, intercept if there is one, the loss's own parameters). Returns the
    mean loss met on the way and the number of steps taken so far. Steps follow one another, so this is one thread.
    """
    n_features = len(mean)
    n_model = n_features + (1 if has_intercept else 0)
    coef = np.empty(n_features)
    gradient = np.empty(len(theta))
    d_own, d_one = np.empty(len(theta) - n_model), np.empty(len(theta) - n_model)
    total = 0.0
    for first in range(0, len(order), batch_size):
        batch = order[first : first + batch_size]
        intercept = theta[n_features] if has_intercept else 0.0
        for j in range(n_features):
            coef[j] = theta[j] * inverse_scale[j]
            if has_intercept:
                intercept -= mean[j] * coef[j]
        gradient[:] = 0.0
        d_own[:] = 0.0
        d_coef = gradient[:n_features]
        d_intercept = 0.0
        scale = len(weights) / len(batch)
        for q in batch:
            start, stop, weight = offsets[q], offsets[q + 1], weights[q]
            if start == stop or weight == 0.0:
                continue
            s, g = scores[start:stop], d_scores[start:stop]
            score_rows(rows, start, stop, coef, intercept, s)
            total += weight * call_entry(entry, block, q, start, stop, d_one.ctypes.data)
            for i in range(len(g)):
                g[i] *= weight * scale
                d_intercept += g[i]
            add_rows(rows, start, stop, g, d_coef)
            for p in range(len(d_own)):
                d_own[p] += weight * scale * d_one[p]
        for j in range(n_features):
            if has_intercept:
                d_coef[j] -= mean[j] * d_intercept
            d_coef[j] *= inverse_scale[j]
        if has_intercept:
            gradient[n_features] = d_intercept
        gradient[n_model:] = d_own
        for j in range(n_model):
            gradient[j] += l2[j] * theta[j]
        step += 1
        take_step(theta, gradient, moments, step, kind, rate, momentum, l1)
    return total, step


linear_epoch = kept(_linear_epoch)

"""A linear model as the loop over queries calls it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from podium.numerics.calls import routine
from podium.numerics.loop import ModelRoutines
from podium.scorers.linear.rows import add_rows, as_rows, score_rows
from podium.scorers.linear.scorer import LinearModel


class LinearTable(NamedTuple):
    """What the kernels of a linear model work on."""

    rows: Any
    theta: np.ndarray
    """(n_parameters,) weights of standardized features, then the intercept if there is one."""
    mean: np.ndarray
    inverse_scale: np.ndarray
    l2: np.ndarray
    has_intercept: bool
    coef: np.ndarray
    """(n_features + 1,) weights of the features as they come, then the intercept."""
    scores: np.ndarray
    d_scores: np.ndarray


def linear_routines(
    model: LinearModel, features: Any, scores: np.ndarray, d_scores: np.ndarray, theta: np.ndarray | None = None
) -> ModelRoutines:
    """Return the routines of a linear model; an epoch gives ``theta``, which it moves."""
    theta = model.theta if theta is None else theta
    table = LinearTable(
        as_rows(features),
        theta[: len(model.theta)],
        model.mean,
        model.inverse_scale,
        np.zeros_like(model.theta) + model.l2,
        model.has_intercept,
        np.append(model.coef, model.intercept),
        scores,
        d_scores,
    )
    n_gradient = model.n_features + 1
    return ModelRoutines(
        routine(_forward, table),
        routine(_backward, table),
        n_gradient,
        work=float(features.size),
        begin=routine(_begin, table),
        finish=routine(_finish, table),
    )


@njit(error_model="numpy")
def _forward(model: LinearTable, start: int, stop: int, block: int, sums: np.ndarray) -> None:
    score_rows(model.rows, start, stop, model.coef[:-1], model.coef[-1], model.scores[start:stop])


@njit(error_model="numpy")
def _backward(model: LinearTable, start: int, stop: int, block: int, sums: np.ndarray) -> None:
    slopes = model.d_scores[start:stop]
    for i in range(len(slopes)):
        sums[-1] += slopes[i]
    add_rows(model.rows, start, stop, slopes, sums[:-1])


@njit(error_model="numpy")
def _begin(model: LinearTable, start: int, stop: int, block: int, sums: np.ndarray) -> None:
    n_features = len(model.mean)
    intercept = model.theta[n_features] if model.has_intercept else 0.0
    for j in range(n_features):
        model.coef[j] = model.theta[j] * model.inverse_scale[j]
        if model.has_intercept:
            intercept -= model.mean[j] * model.coef[j]
    model.coef[n_features] = intercept


@njit(error_model="numpy")
def _finish(model: LinearTable, start: int, stop: int, block: int, sums: np.ndarray) -> None:
    for j in range(len(model.mean)):
        if model.has_intercept:
            sums[j] -= model.mean[j] * sums[-1]
        sums[j] *= model.inverse_scale[j]
    for j in range(len(model.theta)):
        sums[j] += model.l2[j] * model.theta[j]

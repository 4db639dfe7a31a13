"""One step of a first-order optimizer, shared by compiled and Python loops."""

from typing import NamedTuple

import numpy as np

from podium.numerics.compiling import njit

OPTIMIZERS = ("sgd", "momentum", "adam")
SGD, MOMENTUM, ADAM = range(3)
_SECOND_MOMENT_DECAY = 0.999
_ADAM_EPSILON = 1e-8


class Optimizer(NamedTuple):
    """How to step."""

    kind: int
    """Index into :data:`OPTIMIZERS`."""
    rate: float
    momentum: float
    """Share of the past direction that momentum and Adam keep."""
    l1: np.ndarray
    """(len(theta),) strength of the L1 penalty on each parameter; Adam ignores it."""


@njit(cache=True, error_model="numpy")
def take_step(theta: np.ndarray, gradient: np.ndarray, moments: np.ndarray, step: int, optimizer: Optimizer) -> None:
    """Move ``theta`` in place. ``moments`` (2, len(theta)) is the optimizer's memory; ``step`` counts from 1.

    After a plain or momentum step, parameters under an L1 penalty are shrunk toward zero by ``rate * l1`` (a proximal
    step), which sets small ones to exactly zero.
    """
    first, second = moments[0], moments[1]
    rate, momentum = optimizer.rate, optimizer.momentum
    if optimizer.kind == ADAM:
        unbias_first = 1.0 - momentum**step
        unbias_second = 1.0 - _SECOND_MOMENT_DECAY**step
        for j in range(len(theta)):
            first[j] = momentum * first[j] + (1.0 - momentum) * gradient[j]
            second[j] = _SECOND_MOMENT_DECAY * second[j] + (1.0 - _SECOND_MOMENT_DECAY) * gradient[j] ** 2
            scale = np.sqrt(second[j] / unbias_second) + _ADAM_EPSILON
            theta[j] -= rate * (first[j] / unbias_first) / scale
        return
    for j in range(len(theta)):
        direction = gradient[j]
        if optimizer.kind == MOMENTUM:
            first[j] = momentum * first[j] + direction
            direction = first[j]
        moved = theta[j] - rate * direction
        shrink = rate * optimizer.l1[j]
        theta[j] = np.sign(moved) * max(abs(moved) - shrink, 0.0) if shrink > 0.0 else moved

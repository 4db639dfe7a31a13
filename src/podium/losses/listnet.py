from __future__ import annotations

import numpy as np
from numba import njit

from podium.losses.base import Loss
from podium.solvers.elementary import exp, log


@njit(fastmath={"contract", "reassoc", "nsz"}, error_model="numpy")
def _one_query(scores, prepared, q, start, parameters, gradient, curvature, d_parameters):
    n = len(scores)
    target = prepared[0][start : start + n]
    top = scores[0]
    for i in range(n):
        top = max(top, scores[i])
    total = 0.0 * top
    dot = 0.0 * top
    for i in range(n):
        e = exp(scores[i] - top)
        gradient[i] = e
        total += e
    inverse = gradient.dtype.type(1.0) / total
    for i in range(n):
        t = target[i]
        dot += t * (scores[i] - top)
        gradient[i] = gradient[i] * inverse - t
    return np.log(float(total)) - dot


class ListNetLoss(Loss):
    kernel = _one_query

    def prepare(self, labels, offsets):
        out = np.empty(len(labels), np.float32)
        for a, b in zip(offsets[:-1], offsets[1:]):
            e = np.exp(labels[a:b] - labels[a:b].max())
            out[a:b] = e / e.sum()
        return (out,)

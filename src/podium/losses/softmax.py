"""Softmax loss: cross entropy between the grades, as shares of their sum, and the softmax of the scores.

    L = −Σ_i (y_i / Σ_j y_j) log softmax(s)_i        ∂L/∂s = softmax(s) − y / Σ_j y_j

Bruch, Wang, Bendersky and Najork, "An analysis of the softmax cross entropy loss for learning-to-rank with binary
relevance", ICTIR 2019. ListNet differs in its target, which is a softmax of the grades.
"""

from typing import Any

import numpy as np

from podium.losses.base import LabeledLists, Loss
from podium.losses.labeled import scaled
from podium.losses.listnet import SILENT, listnet

__all__ = ["SoftmaxLoss"]


class SoftmaxLoss(
    Loss,
    convex=True,
    has_curvature=True,
    exact_curvature=True,
    keeps_float32=True,
    guarded=False,
    linear_in="shares",
    rankings="plackett-luce",
    ns_per_document=1.5,
):
    """Cross entropy between shares of the grades and the softmax of the scores.

    Grades below 0 count as 0. A list without a grade above 0 says nothing and contributes 0, as does a single
    document. Equal grades above 0 are an opinion: the target is then uniform.

    Rax does not divide by the sum of the grades, and CatBoost's QuerySoftMax divides by that of all lists: weights of
    the queries in proportion to their sums, ``query_weight``, give the same up to a factor.

    Examples
    --------
    >>> loss = SoftmaxLoss().value_and_gradient([0.5, 0.0, -1.0], labels=[1, 2, 0], offsets=[0, 3])
    >>> round(loss.value, 4)
    0.9375
    >>> loss.d_scores.round(3).tolist()
    [0.213, -0.335, 0.122]
    """

    def prepare(self, data: LabeledLists) -> tuple[Any, ...]:
        grades, _ = scaled(np.maximum(data.labels, 0.0))  # so that no sum overflows
        sums = data.sums(grades)
        shares = grades / np.repeat(np.where(sums > 0.0, sums, 1.0), data.sizes)
        silent = (data.sizes > 0) & ((sums == 0.0) | (data.sizes == 1))
        shares[data.offsets[:-1][silent]] = SILENT
        return (shares,)


SoftmaxLoss.kernel = listnet

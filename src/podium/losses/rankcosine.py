"""RankCosine: the angle between a list's grades and its scores.

    L = ½ (1 − cos(y, s)),        ∂L/∂s = −½ (ŷ − cos(y, s) ŝ) / ‖s‖,        ŷ = y / ‖y‖,  ŝ = s / ‖s‖

It is bounded, so that no list can dominate, and does not change when all scores of a list are multiplied by a positive
number; adding a constant changes it.

Qin, Zhang, Tsai, Wang, Liu and Li, "Query-level loss functions for information retrieval", Information Processing and
Management 44, 2008.
"""

import math
from typing import Any

import numpy as np

from podium.core.parameters import choice
from podium.losses.base import Array, Derivatives, LabeledLists, Loss, OneList, njit, own
from podium.numerics.elementary import FAST, extent

__all__ = ["RankCosineLoss"]

NOTHING = 1e-30
"""Scores no larger than this are taken as 0."""
SMALL, LARGE = 1e-50, 1e250
"""Between these, the sum of the squares has lost nothing to underflow or overflow."""


class RankCosineLoss(Loss, shift_invariant=False, has_curvature=True, keeps_float32=True, ns_per_document=2.0):
    """Half of one minus the cosine between the grades and the scores of a list.

    At scores that are all 0 the cosine is undefined: the value is then ½, that of a right angle, and the gradient
    −ŷ/2, which points the way. Close to them the gradient grows like 1/‖s‖. The second derivative that boosting gets
    is a positive stand-in, 1 / (2 ‖s‖ max(‖s‖, ‖y‖)) for all documents of a list, so that a step of a list is
    (ŷ − cos(y, s) ŝ) max(‖s‖, ‖y‖): the first goes from 0 to y, and none is longer than the list's scores or grades.

    Lists without any grade but 0 contribute 0, and so do single documents.

    Parameters
    ----------
    transform : "identity" or "exp2"
        What y is: the grade itself, or the gain 2^grade − 1.

    Examples
    --------
    >>> loss = RankCosineLoss().value_and_gradient([2.0, 1.0], labels=[1, 2], offsets=[0, 2])
    >>> round(loss.value, 4)
    0.1
    >>> loss.d_scores.round(3).tolist()
    [0.06, -0.12]
    """

    transform: str = choice("identity", "exp2")

    def prepare(self, data: LabeledLists) -> tuple[Any, ...]:
        grades = data.labels if self.transform == "identity" else data.gains
        lengths = data.lengths(grades)
        lengths[data.sizes < 2] = 0.0
        per_document = np.repeat(lengths, data.sizes)
        return np.divide(grades, per_document, out=np.zeros(len(grades)), where=per_document > 0.0), lengths


@njit(fastmath=FAST, error_model="numpy")
def rankcosine(given: OneList, prepared: Any, out: Derivatives) -> float:
    scores, direction, length_of_grades = given.scores, own(prepared[0], given), prepared[1][given.query]
    n, gradient, curvature = len(scores), out.gradient, out.curvature
    if length_of_grades == 0.0:
        gradient[:] = 0
        curvature[:] = 0
        return 0.0
    scale = 1.0
    squares, product = _sums(scores, direction, scale)
    if not SMALL < squares < LARGE:
        low, high = extent(scores)
        largest = float(max(-low, high))
        if largest <= NOTHING:
            for i in range(n):
                gradient[i] = -0.5 * direction[i]
            for i in range(len(curvature)):
                curvature[i] = 0.5 / length_of_grades
            return 0.5
        scale = 1.0 / largest
        squares, product = _sums(scores, direction, scale)
    cosine = product / math.sqrt(squares)
    length = math.sqrt(squares) / scale
    along, across = 0.5 * cosine / (length * length), 0.5 / length
    for i in range(n):
        gradient[i] = along * scores[i] - across * direction[i]
    for i in range(len(curvature)):
        curvature[i] = across / max(length, length_of_grades)
    return 0.5 * (1.0 - cosine)


@njit(fastmath=FAST, error_model="numpy")
def _sums(scores: Array, direction: Array, scale: float) -> tuple[float, float]:
    """Return the sums of the squares of the scores, times a scale, and of their products with the direction."""
    squares, product = 0.0, 0.0
    for i in range(len(scores)):
        s = scale * scores[i]
        squares += s * s
        product += s * direction[i]
    return squares, product


RankCosineLoss.kernel = rankcosine

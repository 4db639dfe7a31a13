"""ApproxMRR: the mean reciprocal of smooth ranks.

    L = −Σ_i y_i / r̂_i / Σ_i y_i,        r̂_i = 1 + Σ_{j≠i} σ((s_j − s_i) / T)

with the smooth ranks of :mod:`podium.losses.approxndcg`.
"""

from typing import Any

import numpy as np

from podium.core.parameters import count, number
from podium.losses.approxndcg import ApproxSettings, approximate, rows_compared, says_something
from podium.losses.base import LabeledLists, Loss

__all__ = ["ApproxMRRLoss"]


class ApproxMRRLoss(Loss, has_curvature=True, keeps_float32=True, visits_pairs=True):
    """Minus the mean of 1 / rank over the relevant documents, weighted by their grades, with smooth ranks.

    With one relevant document this is minus its reciprocal rank, made smooth. A single document, equal labels
    throughout, and a list without a grade above 0 contribute 0; grades below 0 count as 0. The second derivative is
    the stand-in of :class:`~podium.losses.ApproxNDCGLoss`.

    Parameters
    ----------
    temperature : float
        T, the score difference that counts.
    truncation : int or None
        See :class:`~podium.losses.ApproxNDCGLoss`.

    Examples
    --------
    >>> loss = ApproxMRRLoss(temperature=1.0).value_and_gradient([0.5, 0.0, -1.0], labels=[1, 2, 0], offsets=[0, 3])
    >>> round(loss.value, 4)
    -0.5662
    >>> loss.d_scores.round(4).tolist()
    [-0.0088, -0.0482, 0.0571]
    """

    cost = "n² (n × truncation)"
    temperature: float = number(0.1, above=0)
    truncation: int | None = count(None, optional=True)

    def prepare(self, data: LabeledLists) -> tuple[Any, ...]:
        labels = np.maximum(data.labels, 0.0)
        before = np.concatenate(([0.0], np.cumsum(labels)))
        totals = np.repeat(before[data.offsets[1:]] - before[data.offsets[:-1]], data.sizes)
        shares = np.divide(labels, totals, out=np.zeros_like(labels), where=totals > 0) * says_something(data)
        settings = ApproxSettings(True, 1.0 / self.temperature, rows_compared(self.truncation, data), 0, 0.0)
        return shares, data.streams(0), settings


ApproxMRRLoss.kernel = approximate

"""Squared error: regression on the labels, one document at a time.

    L = ½ Σ_i (s_i − y_i)² / n                regression
    L = min_w ½ Σ_i (s_i − y_i − w)² / n      the same, with an offset of each query's own

The simplest thing to do with grades. The first is the only loss here that knows no lists: a query matters only in that
its documents share its weight. The second ignores differences between queries, which do not matter for ranking: Zheng,
Zha and Sun, "Query-level learning to rank using isotonic regression", Allerton 2008.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from podium.losses.base import Derivatives, LabeledLists, Loss, OneList, njit, own
from podium.numerics.elementary import FAST

__all__ = ["QueryOffsetLoss", "RegressionLoss"]

Targets = Sequence[float] | np.ndarray | str | None
"""None for 2^g − 1, ``"identity"`` for the grade itself, or the targets of the grades 0, 1, 2, …"""


class _Squares(Loss, convex=True, has_curvature=True, exact_curvature=True, guarded=False, ns_per_document=1.5):
    """Base class of losses that are half a mean of squares.

    Parameters
    ----------
    normalize : bool
        Mean over the query's documents; else their sum, so that queries count by their length.
    targets : "identity", None or a sequence
        Regress on the label itself, on 2^label − 1, or on a number for each of the grades 0, 1, 2 and so on.
    """

    normalize: bool = True
    targets: Targets = "identity"

    @property
    def linear_in(self) -> str | None:  # type: ignore[override]
        """Linear in the labels if these are what is regressed on."""
        return "labels" if isinstance(self.targets, str) else None

    def prepare(self, data: LabeledLists) -> tuple[Any, ...]:
        scale = 1.0 / np.maximum(data.sizes, 1) if self.normalize else np.ones(len(data.sizes))
        return grade_targets(data.labels, self.targets), scale


class RegressionLoss(_Squares, shift_invariant=False, keeps_float32=True):
    """Half the mean squared difference between a query's scores and labels.

    Examples
    --------
    >>> loss = RegressionLoss(normalize=False).value_and_gradient([0.5, 0.0, -1.0], labels=[1, 2, 0], offsets=[0, 3])
    >>> loss.value, loss.d_scores.tolist()
    (2.625, [-0.5, -2.0, -1.0])
    """


class QueryOffsetLoss(_Squares):
    """Half the mean squared difference between a query's scores and labels, less the query's best offset.

    It is half the variance of the differences. A single document contributes 0.

    Examples
    --------
    >>> loss = QueryOffsetLoss(normalize=False).value_and_gradient([0.5, 1.0, 0.0], labels=[1, 2, 0], offsets=[0, 3])
    >>> loss.value, loss.d_scores.tolist()
    (0.25, [0.0, -0.5, 0.5])
    """


def grade_targets(labels: np.ndarray, targets: Targets) -> np.ndarray:
    """Return (n_documents,) float64: the target of each label.

    >>> grade_targets(np.array([0.0, 3.0, 1.0]), None).tolist()
    [0.0, 7.0, 1.0]
    >>> grade_targets(np.array([0.0, 3.0, 1.0]), (0, 0.5, 3, 7, 10)).tolist()
    [0.0, 7.0, 0.5]
    """
    if targets is None:
        highest = labels.max(initial=0.0)
        if highest > 100:
            raise ValueError(
                f"2^g − 1 of the label {highest:g} is out of any scale; targets='identity' takes labels as they are"
            )
        return np.exp2(labels) - 1.0
    if isinstance(targets, str):
        if targets != "identity":
            raise ValueError(f"targets must be None, 'identity' or a number for each grade; got {targets!r}")
        return labels
    table = np.ascontiguousarray(targets, dtype=np.float64)
    if table.ndim != 1 or not np.isfinite(table).all() or (np.diff(table) <= 0).any():
        raise ValueError(f"targets must be finite numbers that grow from grade to grade; got {targets!r}")
    if (bad := (labels != np.floor(labels)) | (labels < 0) | (labels >= len(table))).any():
        raise ValueError(
            f"targets are given for the grades 0 to {len(table) - 1}; there is none for the label {labels[bad][0]:g}"
        )
    return table[labels.astype(np.int64)]


@njit(fastmath=FAST, error_model="numpy")
def regression(given: OneList, prepared: Any, out: Derivatives) -> float:
    out.gradient[:] = 0
    out.curvature[:] = 0
    return add_regression(given.scores, own(prepared[0], given), prepared[1][given.query], out)


@njit(fastmath=FAST, error_model="numpy")
def query_offset(given: OneList, prepared: Any, out: Derivatives) -> float:
    scores, labels, scale = given.scores, own(prepared[0], given), prepared[1][given.query]
    n, offset, squares = len(scores), 0.0, 0.0
    for i in range(n):
        offset += scores[i] - labels[i]
    offset /= n
    # Sums are in loops that write nothing. A loop that writes is compiled twice, for arrays that may overlap and for
    # others, so that the order of a sum in it would depend on places in memory.
    for i in range(n):
        error = scores[i] - labels[i] - offset
        squares += error * error
    for i in range(n):
        out.gradient[i] = scale * (scores[i] - labels[i] - offset)
    for i in range(len(out.curvature)):
        out.curvature[i] = scale * (1.0 - 1.0 / n)
    return 0.5 * scale * squares


@njit(fastmath=FAST, error_model="numpy")
def add_regression(scores: np.ndarray, targets: np.ndarray, weight: float, out: Derivatives) -> float:
    """Return weight/2 Σ (s − t)² and add its derivatives to those of another loss."""
    squares = 0.0
    for i in range(len(scores)):  # apart from the next loop, see query_offset
        error = scores[i] - targets[i]
        squares += error * error
    for i in range(len(scores)):
        out.gradient[i] += weight * (scores[i] - targets[i])
    for i in range(len(out.curvature)):
        out.curvature[i] += weight
    return 0.5 * weight * squares


RegressionLoss.kernel = regression
QueryOffsetLoss.kernel = query_offset

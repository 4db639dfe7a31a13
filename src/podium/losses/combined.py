"""Any loss plus a pointwise term, which calibrates the scores.

    L(s) + λ3/2 Σ_i (t_i − s_i)²

Moon, Smola, Chang and Zheng, "IntervalRank: isotonic regression with listwise and pairwise constraints", WSDM 2010,
equation 11; there it is what ListMLE needs on trees.
"""

from functools import cache
from operator import attrgetter
from typing import Any

import numpy as np

from podium.core.parameters import number
from podium.losses.base import Derivatives, Kernel, LabeledLists, Loss, OneList, njit, own
from podium.losses.pointwise import Targets, add_regression, grade_targets
from podium.numerics.compiling import unbound, with_globals

__all__ = ["WithRegression"]


class WithRegression(Loss):
    """A loss plus half the weighted squared difference between scores and targets.

    Parameters
    ----------
    loss : Loss
        Any loss that learns from grades.
    weight : float
        Weight λ3 ≥ 0 of the squared differences.
    targets : None, "identity" or a sequence
        Where grades should be: 2^g − 1, the grade itself, or a number for each of the grades 0, 1, 2 and so on.
    normalize : bool
        Mean of the squared differences over the query's documents; else their sum, as suits a likelihood.

    Examples
    --------
    >>> from podium.losses import RankRegressLoss
    >>> calibrated = WithRegression(RankRegressLoss(), weight=0.5)
    >>> loss = calibrated.value_and_gradient([1.0, 1.0], labels=[1, 0], offsets=[0, 2])
    >>> loss.value, loss.d_scores.tolist()
    (1.125, [-2.0, 2.25])
    """

    shift_invariant = False

    loss: Loss
    weight: float = number(1.0, at_least=0)
    targets: Targets = None
    normalize: bool = True

    def initial_parameters(self) -> np.ndarray:
        return self.loss.initial_parameters()

    def parameter_bounds(self) -> list[tuple[float | None, float | None]]:
        return self.loss.parameter_bounds()

    def choose_kernel(self) -> Kernel:
        return _with_regression_of(self.loss.choose_kernel())

    def prepare(self, data: LabeledLists) -> tuple[Any, ...]:
        sizes = data.sizes
        weights = self.weight / np.maximum(sizes, 1) if self.normalize else np.full(len(sizes), float(self.weight))
        return grade_targets(data.labels, self.targets), weights, self.loss.prepare(data)

    def prepare_epoch(self, prepared: Any, data: LabeledLists, epoch: int) -> Any:
        targets, weights, inner = prepared
        return targets, weights, self.loss.prepare_epoch(inner, data, epoch)


# The facts are those of the loss: the term added is as smooth and convex as can be.
for _fact in ("convex", "has_gradient", "has_curvature", "exact_curvature", "sums_documents", "visits_pairs", "cost"):
    _doc = f"The fact ``{_fact}`` of the loss to which the term is added."
    setattr(WithRegression, _fact, property(attrgetter(f"loss.{_fact}"), doc=_doc))

kernel_of_loss: Kernel = unbound


def _with_regression(given: OneList, prepared: Any, out: Derivatives) -> float:
    targets, weights, prepared_for_loss = prepared
    value = kernel_of_loss(given, prepared_for_loss, out)
    return value + add_regression(given.scores, own(targets, given), weights[given.query], out)


@cache
def _with_regression_of(kernel: Kernel) -> Kernel:
    copy = with_globals(_with_regression, kernel_of_loss=kernel)
    copy.__name__ = copy.__qualname__ = f"{kernel.__name__}_with_regression"  # what is cached of it goes by its name
    return njit(error_model="numpy")(copy)

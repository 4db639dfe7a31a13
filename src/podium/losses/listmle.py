"""ListMLE: the Plackett-Luce likelihood of the order that the labels give.

Documents 1 … n from the best grade to the worst; each place goes to a document with probability proportional to e^s
among those left:

    L = Σ_i [ log Σ_{j≥i} exp(s_j) − s_i ]        ∂L/∂s_i = exp(s_i) Σ_{k≤i} 1 / Σ_{j≥k} exp(s_j) − 1

Xia, Liu, Wang, Zhang and Li, "Listwise approach to learning to rank: theory and algorithm", ICML 2008.
"""

from typing import Any

import numpy as np

from podium.core.parameters import choice, count
from podium.losses.base import Derivatives, LabeledLists, Loss, OneList, njit, own
from podium.losses.pmop.loss import in_logarithms
from podium.numerics.elementary import FAST, SAFE_RANGE, exp, extent, log
from podium.numerics.grades import shuffle_ties

__all__ = ["ListMLELoss"]


class ListMLELoss(
    Loss,
    convex=True,
    has_curvature=True,
    exact_curvature=True,
    keeps_float32=True,
    guarded=False,
    rankings="plackett-luce",
):
    """Negative log-likelihood of the labels' order under the Plackett-Luce model.

    The model knows no ties, grades do: among equal labels some order must be taken as the truth, and the choice moves
    results. :class:`~podium.losses.PMOPLoss` models ties instead. A single document contributes 0.

    Parameters
    ----------
    ties : "random" or "stable"
        Equal labels in random orders, or in the order of the rows. The latter learns whatever the rows are sorted by:
        it is for data whose rows within a grade come in an order that means something.
    n_orders : int
        Random orders whose losses are averaged, drawn once, where all of the data are used in every step (L-BFGS).
    orders_per_epoch : int
        Stochastic steps and boosting draw so many orders anew for each epoch or tree. Trees should have several: where
        most documents are tied, a tree grown on one order fits its noise.
    random_state : int
        Seed of the random orders; they do not depend on the number of threads.

    Examples
    --------
    >>> loss = ListMLELoss().value_and_gradient([0.5, 0.0, -1.0], labels=[1, 2, 0], offsets=[0, 3])
    >>> round(loss.value, 4)
    1.3055
    >>> loss.d_scores.round(3).tolist()
    [0.364, -0.669, 0.304]
    """

    sums_documents = True
    ties: str = choice("random", "stable")
    n_orders: int = count(8)
    orders_per_epoch: int = count(1)
    random_state: int = 0

    @property
    def is_random(self) -> bool:
        return self.ties == "random"

    def likelihood(self) -> Loss:
        return self

    def prepare(self, data: LabeledLists) -> tuple[Any, ...]:
        groups = data.groups
        no_ties = len(groups.bounds) == len(groups.order) + len(data.sizes)
        if self.ties == "stable" or no_ties:
            return (groups.order[None],)
        return (self._drawn(data, 0, self.n_orders),)

    def prepare_epoch(self, prepared: tuple[Any, ...], data: LabeledLists, epoch: int) -> tuple[Any, ...]:
        return prepared if self.ties == "stable" else (self._drawn(data, epoch, self.orders_per_epoch),)

    def _drawn(self, data: LabeledLists, epoch: int, n: int) -> np.ndarray:
        """Draw orders, (n, n_documents)."""
        seeds = (data.streams(self.random_state, epoch, number) for number in range(n))
        return np.stack([shuffle_ties(data.groups, data.offsets, seed) for seed in seeds])


@njit(error_model="numpy")
def listmle(given: OneList, prepared: Any, out: Derivatives) -> float:
    orders = prepared[0]
    n_orders = len(orders)
    value = _one_order(given.scores, own(orders[0], given), out.gradient, out.curvature)
    if n_orders == 1:
        return value
    gradient, curvature = np.empty_like(out.gradient), np.empty_like(out.curvature)
    for k in range(1, n_orders):
        value += _one_order(given.scores, own(orders[k], given), gradient, curvature)
        out.gradient[:] += gradient
        out.curvature[:] += curvature
    out.gradient[:] /= n_orders
    out.curvature[:] /= n_orders
    return value / n_orders


@njit(error_model="numpy")
def _one_order(scores: np.ndarray, order: np.ndarray, gradient: np.ndarray, curvature: np.ndarray) -> float:
    low, high = extent(scores)
    if high - low <= SAFE_RANGE:
        return _plain(scores, order, high, gradient, curvature)
    no_ties = np.arange(len(order) + 1)
    return in_logarithms(scores, order, no_ties, gradient, curvature)


@njit(fastmath=FAST, error_model="numpy")
def _plain(scores: np.ndarray, order: np.ndarray, high: float, gradient: np.ndarray, curvature: np.ndarray) -> float:
    """Use running sums of exponentials that cannot underflow; ``gradient`` holds these exponentials meanwhile."""
    n, number = len(scores), scores.dtype.type
    value = 0.0
    for i in range(n):
        gradient[i] = exp(scores[i] - high)
        value += high - scores[i]
    remaining = np.empty(n, scores.dtype)
    total = 0.0
    for i in range(n - 1, -1, -1):
        total += gradient[order[i]]
        remaining[i] = total
    for i in range(n):
        value += log(remaining[i])
        remaining[i] = number(1) / remaining[i]
    inverse, inverse_squared = 0.0, 0.0
    for i in range(n):
        e = float(gradient[order[i]])
        inverse += remaining[i]
        gradient[order[i]] = e * inverse - 1.0
        if len(curvature) > 0:
            inverse_squared += float(remaining[i]) * float(remaining[i])
            curvature[order[i]] = e * inverse - e * e * inverse_squared
    return value


ListMLELoss.kernel = listmle

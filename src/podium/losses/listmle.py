"""ListMLE: the Plackett-Luce likelihood of the order that the labels give.

Documents 1 … n from the best grade to the worst; each place goes to a document with probability proportional to e^s
among those left:

    L = Σ_i [ log Σ_{j≥i} exp(s_j) − s_i ]        ∂L/∂s_i = exp(s_i) Σ_{k≤i} 1 / Σ_{j≥k} exp(s_j) − 1

With ``discount``, the term of place i is multiplied by a weight d_i that falls: wrong choices at the top cost more.

Xia, Liu, Wang, Zhang and Li, "Listwise approach to learning to rank: theory and algorithm", ICML 2008; with weights:
Lan, Zhu, Guo, Niu and Cheng, "Position-aware ListMLE: a sequential learning process for ranking", UAI 2014.
"""

from typing import Any

import numpy as np

from podium.core.parameters import choice, count
from podium.losses.base import Array, Derivatives, Kernel, LabeledLists, Loss, OneList, njit, own
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
    discount : None, "log" or "lan"
        Weight of place k of n: 1, 1 / log2(1 + k), or (2^(n − k) − 1) / 2^(n − 1), Lan's weights scaled to be less than
        1. With a discount, the loss is no likelihood.

    Examples
    --------
    >>> loss = ListMLELoss().value_and_gradient([0.5, 0.0, -1.0], labels=[1, 2, 0], offsets=[0, 3])
    >>> round(loss.value, 4)
    1.3055
    >>> loss.d_scores.round(3).tolist()
    [0.364, -0.669, 0.304]
    """

    ties: str = choice("random", "stable")
    n_orders: int = count(8)
    orders_per_epoch: int = count(1)
    random_state: int = 0
    discount: str | None = choice(None, "log", "lan")

    @property
    def is_random(self) -> bool:
        return self.ties == "random"

    @property
    def sums_documents(self) -> bool:  # type: ignore[override]
        """Lan's weights add up to less than 2, however long the list."""
        return self.discount != "lan"

    def likelihood(self) -> Loss | None:
        return self if self.discount is None else None

    def choose_kernel(self) -> Kernel:
        return listmle if self.discount is None else listmle_discounted

    def prepare(self, data: LabeledLists) -> tuple[Any, ...]:
        groups = data.groups
        no_ties = len(groups.bounds) == len(groups.order) + len(data.sizes)
        as_given = self.ties == "stable" or no_ties
        orders = groups.order[None] if as_given else self._drawn(data, 0, self.n_orders)
        if self.discount is None:
            return (orders,)
        places = np.arange(data.longest)
        # (2^(n − k) − 1) / 2^(n − 1) is 2^(1 − k) less its value at k = n.
        weights = np.exp2(-places) if self.discount == "lan" else 1.0 / np.log2(2.0 + places)
        return orders, weights, self.discount == "lan"

    def prepare_epoch(self, prepared: tuple[Any, ...], data: LabeledLists, epoch: int) -> tuple[Any, ...]:
        return prepared if self.ties == "stable" else (self._drawn(data, epoch, self.orders_per_epoch), *prepared[1:])

    def _drawn(self, data: LabeledLists, epoch: int, n: int) -> Array:
        """Draw orders, (n, n_documents)."""
        seeds = (data.streams(self.random_state, epoch, number) for number in range(n))
        return np.stack([shuffle_ties(data.groups, data.offsets, seed) for seed in seeds])


@njit(error_model="numpy")
def listmle(given: OneList, prepared: Any, out: Derivatives) -> float:
    return _mean_over_orders(given, prepared[0], None, out)


@njit(error_model="numpy")
def listmle_discounted(given: OneList, prepared: Any, out: Derivatives) -> float:
    orders, table, less_the_last = prepared
    n = len(given.scores)
    weights = table[:n] - table[n - 1] if less_the_last else table[:n]
    return _mean_over_orders(given, orders, weights, out)


@njit(error_model="numpy")
def _mean_over_orders(given: OneList, orders: Array, weights: Array | None, out: Derivatives) -> float:
    n_orders = len(orders)
    value = _one_order(given.scores, own(orders[0], given), weights, out.gradient, out.curvature)
    if n_orders == 1:
        return value
    gradient, curvature = np.empty_like(out.gradient), np.empty_like(out.curvature)
    for k in range(1, n_orders):
        value += _one_order(given.scores, own(orders[k], given), weights, gradient, curvature)
        out.gradient[:] += gradient
        out.curvature[:] += curvature
    out.gradient[:] /= n_orders
    out.curvature[:] /= n_orders
    return value / n_orders


@njit(error_model="numpy")
def _one_order(scores: Array, order: Array, weights: Array | None, gradient: Array, curvature: Array) -> float:
    low, high = extent(scores)
    if high - low <= SAFE_RANGE:
        return _plain(scores, order, weights, high, gradient, curvature)
    no_ties = np.arange(len(order) + 1)
    return in_logarithms(scores, order, no_ties, weights, gradient, curvature)


@njit(fastmath=FAST, error_model="numpy")
def _plain(scores: Array, order: Array, weights: Array | None, high: float, gradient: Array, curvature: Array) -> float:
    """Use running sums of exponentials that cannot underflow; ``gradient`` holds these exponentials meanwhile.

    Whether there are weights is known when this is compiled: without them they cost nothing.
    """
    n, number = len(scores), scores.dtype.type
    value = 0.0
    for i in range(n):
        gradient[i] = exp(scores[i] - high)
        if weights is None:
            value += high - scores[i]
    remaining = np.empty(n, scores.dtype)
    total = 0.0
    for i in range(n - 1, -1, -1):
        total += gradient[order[i]]
        remaining[i] = total
    for i in range(n):
        if weights is None:
            value += log(remaining[i])
        else:
            value += weights[i] * (log(remaining[i]) + (high - scores[order[i]]))
        remaining[i] = number(1) / remaining[i]
    inverse, inverse_squared = 0.0, 0.0
    for i in range(n):
        weight = 1.0 if weights is None else weights[i]
        e = float(gradient[order[i]])
        inverse += weight * remaining[i]
        gradient[order[i]] = e * inverse - weight
        if len(curvature) > 0:
            inverse_squared += weight * (float(remaining[i]) * float(remaining[i]))
            curvature[order[i]] = e * inverse - e * e * inverse_squared
    return value


ListMLELoss.kernel = listmle

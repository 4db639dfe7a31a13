"""CoFiRank: a convex bound on 1 − NDCG.

With a document's share of the ideal DCG g_i = (2^{y_i} − 1) / DCG*, and the discounts d_r = 1 / log2(1 + r) of the
ranks r = 1 … k (0 beyond),

    L = max_π Σ_i d_π(i) (s_i − g_i) + 1 − Σ_i d̄_i s_i

where π runs over all rankings and d̄_i is the discount that the labels give document i, on average over the orders of
its ties. The maximum is a linear assignment of documents to ranks; as the same discounts multiply s and g, sorting by
s − g solves it. At the π that sorts by s the first sum is largest in s, so L is never below 1 − NDCG@k of the scores.

Weimer, Karatzoglou, Le and Smola, "CoFi Rank: maximum margin matrix factorization for collaborative ranking", NIPS
2007. They weight the scores' ranks by c_r = (1 + r)^−¼ instead,

    L = max_π Σ_i [c_π(i) s_i − d_π(i) g_i] + 1 − Σ_i c̄_i s_i

which bounds 1 − NDCG as well, but leaves an assignment problem that does not sort. They take one of the possible orders
of ties for the true one.
"""

from typing import Any

import numpy as np

from podium.core.parameters import choice, count
from podium.losses.base import Derivatives, Kernel, LabeledLists, Loss, OneList, njit, own
from podium.losses.lambdarank import gain_shares
from podium.numerics.assignment import assign_ranks
from podium.numerics.grades import Groups
from podium.numerics.sorting import descending

__all__ = ["CoFiRankLoss"]

LONGEST = 1000
"""Documents of the longest list that is assigned: it takes about a second."""


class CoFiRankLoss(Loss, convex=True, ns_per_document=20.0, cost="n log n"):
    """A convex upper bound on 1 − NDCG@k, with slopes that change where documents change places.

    A list whose labels are all equal, or which has nothing to gain, contributes 0.

    Parameters
    ----------
    k : int, optional
        Ranks beyond it do not count; by default all do.
    weights : {"discounts", "power"}
        Of the scores' ranks: those of the metric, where sorting solves the assignment, or the paper's (1 + r)^−¼,
        where it takes n³ in lists of n documents, of which there may be 1,000.

    Examples
    --------
    >>> loss = CoFiRankLoss().value_and_gradient([0.5, 0.0, -1.0], labels=[1, 2, 0], offsets=[0, 3])
    >>> round(loss.value, 4)
    0.3878
    >>> loss.d_scores.round(3).tolist()
    [0.369, -0.369, 0.0]
    """

    k: int | None = count(None)
    weights: str = choice("discounts", "power")

    @property
    def visits_pairs(self) -> bool:  # type: ignore[override]
        """The assignment of ``weights="power"`` takes more than pairs."""
        return self.weights == "power"

    def choose_kernel(self) -> Kernel:
        return cofirank_assigned if self.weights == "power" else cofirank

    def prepare(self, data: LabeledLists) -> tuple[Any, ...]:
        if self.weights == "power" and data.longest > LONGEST:
            raise ValueError(
                f"query number {data.sizes.argmax()} has {data.longest} documents; the assignment of weights='power' "
                f"takes lists of up to {LONGEST}: use weights='discounts' (n log n), or shorter lists"
            )
        ranks = np.arange(1, data.longest + 1)
        discounts = np.where(ranks <= (self.k or data.longest), 1.0 / np.log2(1 + ranks), 0.0)
        shares = gain_shares(data.labels, data.offsets, discounts)
        has_order = np.diff(data.groups.first) > 2
        weights = (1.0 + ranks) ** -0.25 if self.weights == "power" else discounts
        by_labels = _label_weights(data.groups, data.offsets, weights)
        if self.weights == "power":
            return shares, by_labels, discounts, has_order, weights
        return shares, by_labels, discounts, has_order


@njit(cache=True, error_model="numpy")
def _label_weights(groups: Groups, offsets: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return d̄, or c̄: the mean weight of the ranks that a document's group of equal labels takes."""
    order = groups.order
    result = np.empty(len(order))
    for q in range(len(offsets) - 1):
        b = groups.bounds[groups.first[q] : groups.first[q + 1]]
        for g in range(len(b) - 1):
            mean = weights[b[g] : b[g + 1]].mean()
            for i in range(b[g], b[g + 1]):
                result[offsets[q] + order[offsets[q] + i]] = mean
    return result


@njit(error_model="numpy")
def cofirank(given: OneList, prepared: Any, out: Derivatives) -> float:
    scores, gradient, n = given.scores, out.gradient, len(given.scores)
    shares, label_discounts = own(prepared[0], given), own(prepared[1], given)
    discounts, has_order = prepared[2], prepared[3][given.query]
    gradient[:] = 0.0
    ideal = 0.0
    for i in range(n):
        ideal += label_discounts[i] * shares[i]
    if not has_order or ideal == 0.0:
        return 0.0
    # Scores in double precision from here on: near a tie, a share must not vanish in the rounding of a large score.
    lead = scores - shares
    order = np.empty(n, np.uint32)
    descending(lead, order)
    value = 1.0
    first = 0
    while first < n:  # documents that tie share their ranks' discounts: the slope does not depend on their order
        last = first + 1
        while last < n and lead[order[last]] == lead[order[first]]:
            last += 1
        discount = discounts[first:last].mean()
        for r in range(first, last):
            i = order[r]
            value += discount * lead[i] - label_discounts[i] * scores[i]
            gradient[i] = discount - label_discounts[i]
        first = last
    return value


@njit(error_model="numpy")
def cofirank_assigned(given: OneList, prepared: Any, out: Derivatives) -> float:
    n, gradient = len(given.scores), out.gradient
    shares, label_weights = own(prepared[0], given), own(prepared[1], given)
    discounts, has_order, weights = prepared[2], prepared[3][given.query], prepared[4]
    gradient[:] = 0.0
    if not has_order or shares.max() <= 0.0:
        return 0.0
    scores = given.scores.astype(np.float64)
    # In an order of values, so that rounding errors do not depend on the order of rows; equal documents share ranks.
    order = np.empty(n, np.uint32)
    descending(scores - shares, order)
    s, g = scores[order], shares[order]
    place = assign_ranks(weights[:n], s, discounts[:n], g)
    value = 1.0
    first = 0
    while first < n:
        last = first + 1
        while last < n and s[last] == s[first] and g[last] == g[first]:
            last += 1
        weight = weights[place[first:last]].mean()
        for k in range(first, last):
            i = order[k]
            value += weights[place[k]] * s[k] - discounts[place[k]] * g[k] - label_weights[i] * s[k]
            gradient[i] = weight - label_weights[i]
        first = last
    return value


CoFiRankLoss.kernel = cofirank

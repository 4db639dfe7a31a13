"""The LambdaLoss family: logistic loss on pairs, weighted by bounds on a metric.

    L = Σ w_ij log2(1 + e^{−(s_i − s_j)})

with gains G = 2^y − 1 over the ideal DCG, discounts d(r) = 1 / log2(1 + r) and the present ranks r:

    kind        pairs          w_ij
    arp1        all i ≠ j      y_i
    arp2        y_i > y_j      y_i − y_j
    ndcg1       all i ≠ j      G_i d(r_i)
    ndcg2       y_i > y_j      (G_i − G_j) δ_ij,                     δ_ij = d(|r_i − r_j|) − d(|r_i − r_j| + 1)
    ndcg2++     y_i > y_j      (G_i − G_j) (ρ_ij + μ δ_ij),          ρ_ij = |d(r_i) − d(r_j)|

Ranks are those of the scores, and weights that depend on them are held fixed in the gradient. Where scores are equal,
the weight of a pair is its mean over all orders of the tied documents (:mod:`podium.losses.lambdaloss_weights`).

Wang, Li, Golbandi, Bendersky and Najork, "The LambdaLoss framework for ranking metric optimization", CIKM 2018.
"""

from typing import Any, NamedTuple

import numpy as np

from podium.core.parameters import choice, number
from podium.losses.approxndcg import says_something
from podium.losses.base import Array, Derivatives, LabeledLists, Loss, OneList, njit, own
from podium.losses.lambdaloss_weights import discounts_up_to, fill_four, places_of
from podium.losses.lambdarank import gain_shares
from podium.metrics.gains import LN2
from podium.numerics.elementary import log1p_unit
from podium.numerics.pairs.blocks import Four, over_blocks, present
from podium.numerics.sorting import descending
from podium.numerics.tiles import (
    MOST,
    ROWS,
    add_over_columns,
    beyond,
    four_before,
    four_of,
    keep,
    load,
    over_rows,
    rounded_up,
    rows,
    store,
    unowned,
    width,
)

__all__ = ["LambdaLoss"]


class LambdaLoss(Loss, has_curvature=True, keeps_float32=True, visits_pairs=True):
    """Logistic loss over pairs, weighted by what the LambdaLoss framework derives for a metric.

    The kinds ``arp1`` and ``arp2``, for the average relevance position, are convex functions of the scores. The others
    have weights that change with the ranking: ``value`` is the weighted loss at the present ranking, and gradient and
    second derivative are its derivatives with the weights held fixed, as in LambdaRank, which is ``ndcg2++`` with
    ``mu=0`` (times ln 2). Equal scores get the mean weight of all orders of the tied documents, so the order of rows
    does not matter. Lists of one document or of equal labels contribute 0. In ``arp1`` and ``ndcg1``, which weigh
    single documents, grades below 0 count as 0.

    Parameters
    ----------
    kind : "ndcg2++", "ndcg2", "ndcg1", "arp1" or "arp2"
        Which weights, see the top of this page.
    mu : float
        Weight μ of δ in ``ndcg2++``.

    Examples
    --------
    >>> loss = LambdaLoss("ndcg2").value_and_gradient([0.5, 0.0, -1.0], labels=[1, 2, 0], offsets=[0, 3])
    >>> round(loss.value, 4)
    0.434
    >>> loss.d_scores.round(3).tolist()
    [0.173, -0.301, 0.128]
    """

    cost = "n²"
    kind: str = choice("ndcg2++", "ndcg2", "ndcg1", "arp1", "arp2")
    mu: float = number(10.0, at_least=0)

    @property
    def _of_labels(self) -> bool:
        """Do weights depend on labels alone?"""
        return self.kind in ("arp1", "arp2")

    @property
    def convex(self) -> bool:  # type: ignore[override]
        """Convex in the scores? Where weights depend on labels alone."""
        return self._of_labels

    @property
    def has_gradient(self) -> bool:  # type: ignore[override]
        """Is ``d_scores`` the derivative of ``value``? Where weights depend on labels alone."""
        return self._of_labels

    @property
    def exact_curvature(self) -> bool:  # type: ignore[override]
        """Is ``d2_scores`` the exact diagonal of the Hessian? Where weights depend on labels alone."""
        return self._of_labels

    def prepare(self, data: LabeledLists) -> tuple[Any, ...]:
        single = self.kind in ("arp1", "ndcg1")
        labels = np.maximum(data.labels, 0.0) * says_something(data) if single else data.labels
        rho, delta = {"ndcg2": (0.0, 1.0), "ndcg2++": (1.0, float(self.mu))}.get(self.kind, (0.0, 0.0))
        tables = discounts_up_to(data.longest, rho, delta)
        values = labels if self._of_labels else gain_shares(labels, data.offsets, tables.of_rank)
        if not single:
            values = _above_the_least(values, data)
        return values, tables, PairWeights(single, self.kind == "ndcg1", rho != 0.0 or delta != 0.0)


class PairWeights(NamedTuple):
    """What pairs weigh, besides what their documents do."""

    single: bool
    """Is the weight that of one document, in pairs with all others, rather than a difference of two?"""
    discounted: bool
    """Is a document's weight multiplied by the discount of its place?"""
    ranked: bool
    """Is it multiplied by a function of the places of both?"""


def _above_the_least(values: Array, data: LabeledLists) -> Array:
    """Return by how much values are above the least of their list: what matters is differences."""
    sizes = data.sizes[data.sizes > 0]
    return values - np.repeat(np.minimum.reduceat(values, data.offsets[:-1][data.sizes > 0]), sizes)


@njit(error_model="numpy")
def lambdaloss(given: OneList, prepared: Any, out: Derivatives) -> float:
    all_values, tables, settings = prepared
    scores, values = given.scores, own(all_values, given)
    n, size, number = len(scores), rounded_up(len(scores)), scores.dtype.type
    order = np.empty(n, np.uint32)
    descending(scores, order)
    room = np.zeros((8 + ROWS, size), scores.dtype)
    s, worth, v = room[0], room[1], room[2]
    for r in range(n):
        s[r] = scores[order[r]]
        v[r] = values[order[r]]
    places = places_of(s, n, tables)
    if settings.discounted:
        for r in range(n):
            v[r] *= places.discounts[r]
    weights = room[8], room[9], room[10], room[11]
    room[8:] = 1.0
    sums = loss, above, below, bends_above, bends_below = room[3], room[4], room[5], room[6], room[7]
    pairs = n, size, number(0.0 if settings.single else 1.0), settings.ranked, len(places.starts) > 0
    of_pairs = pairs, unowned(s), unowned(v), unowned(weights), unowned(sums), unowned(places), unowned(tables)
    if len(out.curvature) == 0:
        _add_pairs(s, n, n - 1, number(1), worth, of_pairs)
    else:
        _add_curved_pairs(s, n, n - 1, number(1), worth, of_pairs)
    scale, value = number(1.0 / LN2), 0.0
    for r in range(n):
        value += loss[r]
        out.gradient[order[r]] = scale * (above[r] - below[r])
    for r in range(len(out.curvature)):
        out.curvature[order[r]] = scale * (bends_above[r] + bends_below[r])
    keep((room, places))
    return value / LN2


CURVED = True
"""Are second derivatives wanted?"""


@njit(fastmath={"contract"}, error_model="numpy", forceinline=True)
def _pairs_of_block(first: int, stop: int, ahead: Four, worth: Array, tables: tuple[Any, ...]) -> None:
    """Compare four documents with all below them; add the losses, by the better placed, and the derivatives."""
    (n, size, difference, ranked, tied), s, v, weights, sums, places, discounts = tables
    losses, from_above, from_below, bends_above, bends_below = sums
    if ranked and tied:
        fill_four(first, n, ahead, places, discounts, weights)
    w_a, w_b, w_c, w_d = weights
    start, ahead_of, there = first // width(s) * width(s), rows(*ahead), present(ahead)
    score, value, rho = four_of(s, first), four_of(v, first), four_of(places.rho, first)
    below, loss, slope, bend = beyond(there, first - start), 0.0 * there, 0.0 * there, 0.0 * there
    for t in range(start, size, width(s)):
        if ranked and not tied:
            weight = (rho - load(places.rho, t)) + four_before(places.delta, MOST - 1 + t - first)
        else:
            weight = rows(load(w_a, t), load(w_b, t), load(w_c, t), load(w_d, t))
        weight *= below
        lower = load(v, t)
        u = min(ahead_of * load(worth, t), 1.0)  # e^−lead
        p = 1.0 / (u + 1.0)
        down = max(value - difference * lower, 0.0) * weight  # of the present order
        up = max(lower - difference * value, 0.0) * weight  # of the opposite one
        loss += (down + up) * log1p_unit(u) + up * (score - load(s, t))
        change = p * (down * u - up)
        store(from_above, t, load(from_above, t) + over_rows(change))
        slope += change
        if CURVED:
            curve = (down + up) * (u * p * p)
            store(bends_above, t, load(bends_above, t) + over_rows(curve))
            bend += curve
        below = there  # all documents of later vectors are
    add_over_columns(losses, first, loss)
    add_over_columns(from_below, first, slope)
    if CURVED:
        add_over_columns(bends_below, first, bend)


_add_curved_pairs = over_blocks(_pairs_of_block)
_add_pairs = over_blocks(_pairs_of_block, CURVED=False)
LambdaLoss.kernel = lambdaloss

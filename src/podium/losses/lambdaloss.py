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
the weight of a pair is its mean over all orders of the tied documents. With C(k) = d(1) + … + d(k), the mean of δ
over places [a, b) and later places [c, e) is (C(c − a) − C(c − b) − C(e − a) + C(e − b)) / ((b − a)(e − c)), and
2 (m − C(m)) / (m (m − 1)) over the pairs of m tied documents: both sums telescope.

Wang, Li, Golbandi, Bendersky and Najork, "The LambdaLoss framework for ranking metric optimization", CIKM 2018.
"""

from typing import Any, NamedTuple

import numpy as np

from podium.core.parameters import choice, number
from podium.losses.approxndcg import says_something
from podium.losses.base import Array, Derivatives, LabeledLists, Loss, OneList, njit, own
from podium.losses.lambdarank import gain_shares
from podium.metrics.gains import LN2
from podium.numerics.elementary import FAST, exp, log1p_unit
from podium.numerics.pairs.worths import REACH, fill_worth, padded, padded_stop
from podium.numerics.sorting import descending

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
        discounts = 1.0 / np.log2(2.0 + np.arange(data.longest + 1))
        values = labels if self._of_labels else gain_shares(labels, data.offsets, discounts)
        rho, delta = {"ndcg2": (0.0, 1.0), "ndcg2++": (1.0, float(self.mu))}.get(self.kind, (0.0, 0.0))
        settings = PairWeights(single, self.kind == "ndcg1", rho, delta)
        return values, discounts, np.concatenate(([0.0], np.cumsum(discounts))), settings


class PairWeights(NamedTuple):
    """What pairs weigh, besides what their documents do."""

    single: bool
    """Is the weight that of one document, in pairs with all others, rather than a difference of two?"""
    discounted: bool
    """Is a document's weight multiplied by the discount of its place?"""
    rho: float
    delta: float
    """Factors of ρ and δ; without either, pairs count alike."""


@njit(fastmath=FAST, error_model="numpy")
def lambdaloss(given: OneList, prepared: Any, out: Derivatives) -> float:
    all_values, discounts, cumulative, settings = prepared
    scores, values = given.scores, own(all_values, given)
    n, number, wanted = len(scores), scores.dtype.type, len(out.curvature) > 0
    order = np.empty(n, np.uint32)
    descending(scores, order)
    s, v, worth, weight = padded(n, scores), padded(n, scores), padded(n, scores), padded(n, scores)
    slopes, bends = padded(n, scores), padded(n, scores)
    for r in range(n):
        s[r] = scores[order[r]]
        v[r] = values[order[r]]
    ends = _tied_until(s[:n])
    shared = _mean_discounts(discounts, ends)
    if settings.discounted:
        for r in range(n):
            v[r] *= shared[r]
    ties = ends, _tied_places(ends), shared
    ranked = settings.rho != 0.0 or settings.delta != 0.0
    weight[:n] = 1.0
    differences = number(0.0 if settings.single else 1.0)
    value, reference, stop_of_ties = 0.0, number(np.inf), 0
    for r in range(n - 1):
        first, stop = r + 1, padded_stop(r + 1, n)
        if ranked and r == stop_of_ties:
            _fill_weights(r, ties, (discounts, cumulative), (settings.rho, settings.delta), weight)
            stop_of_ties = ends[r]
        if reference - s[r] > REACH:
            reference = s[r]
            fill_worth(s[first:n], reference, number(1), worth[first:n])
        document = s[r], exp(reference - s[r]), v[r], differences
        below = s[first:stop], worth[first:stop], v[first:stop], weight[first:stop]
        sums = _row(document, below, slopes[first:stop], bends[first:stop], wanted)
        value += sums[0]
        slopes[r] += sums[1]
        bends[r] += sums[2]
    scale = number(1.0 / LN2)
    for r in range(n):
        out.gradient[order[r]] = scale * slopes[r]
    for r in range(len(out.curvature)):
        out.curvature[order[r]] = scale * bends[r]
    return value / LN2


@njit(error_model="numpy")
def _tied_until(s: Array) -> Array:
    """Return (n,) where the run of equal scores that a place is in ends."""
    ends = np.empty(len(s), np.int64)
    end = len(s)
    for r in range(len(s) - 1, -1, -1):
        if r + 1 < len(s) and s[r] != s[r + 1]:
            end = r + 1
        ends[r] = end
    return ends


@njit(error_model="numpy")
def _mean_discounts(discounts: Array, ends: Array) -> Array:
    """Return (n,) the discount of each place, its mean over the places of tied documents."""
    shared = np.empty(len(ends))
    a = 0
    while a < len(ends):
        b = ends[a]
        shared[a:b] = discounts[a:b].sum() / (b - a)
        a = b
    return shared


@njit(error_model="numpy")
def _tied_places(ends: Array) -> Array:
    """Return where runs of more than one document begin."""
    starts = np.empty(len(ends) // 2, np.int64)
    n_runs, a = 0, 0
    while a < len(ends):
        if ends[a] - a > 1:
            starts[n_runs] = a
            n_runs += 1
        a = ends[a]
    return starts[:n_runs]


@njit(error_model="numpy")
def _fill_weights(
    a: int, ties: tuple[Array, Array, Array], tables: tuple[Array, Array], factors: tuple[float, float], weight: Array
) -> None:
    """Write ρ and δ, times their factors, of the documents tied at place ``a`` with each other and with those below."""
    ends, starts, shared = ties
    discounts, cumulative = tables
    rho, delta = factors
    n, b = len(ends), ends[a]
    m = b - a
    if m == 1:
        # As if nobody below were tied: d at distance t + 1, minus d at t + 2.
        behind, lower, here = weight[b:n], shared[b:n], shared[a]
        near, far = discounts[: n - b], discounts[1 : n - b + 1]
        for t in range(len(behind)):
            behind[t] = rho * (here - lower[t]) + delta * (near[t] - far[t])
        for k in range(len(starts)):
            if starts[k] > a:
                _fill_run(a, b, starts[k], ends[starts[k]], shared, cumulative, factors, weight)
        return
    within = 0.0  # Σ (d_p − d_q) over the pairs p before q
    for p in range(m):
        within += discounts[a + p] * (m - 1 - 2 * p)
    weight[a:b] = (rho * within + delta * (m - cumulative[m])) * 2.0 / (m * (m - 1.0))
    c = b
    while c < n:
        _fill_run(a, b, c, ends[c], shared, cumulative, factors, weight)
        c = ends[c]


@njit(error_model="numpy")
def _fill_run(
    a: int, b: int, c: int, e: int, shared: Array, cumulative: Array, factors: tuple[float, float], weight: Array
) -> None:
    """Write the mean weight of pairs of a place in [a, b) and one in [c, e)."""
    rho, delta = factors
    apart = (cumulative[c - a] - cumulative[c - b]) - (cumulative[e - a] - cumulative[e - b])
    weight[c:e] = rho * (shared[a] - shared[c]) + delta * apart / ((b - a) * (e - c))


@njit(fastmath=FAST, error_model="numpy")
def _row(
    document: tuple[float, ...], below: tuple[Array, ...], slopes: Array, bends: Array, wanted: bool
) -> tuple[float, float, float]:
    """Compare a document with all those below it: return the sums of the loss and of its slope and curvature in s_r."""
    s_r, ahead, v_r, differences = document
    s, worth, v, weight = below
    zero, one = s.dtype.type(0), s.dtype.type(1)
    loss = slope = bend = zero
    for t in range(len(s)):
        u = worth[t] * ahead  # e^−lead
        p = one / (one + u)
        down = max(v_r - differences * v[t], zero) * weight[t]  # of the present order
        up = max(v[t] - differences * v_r, zero) * weight[t]  # of the opposite one
        loss += (down + up) * log1p_unit(u) + up * (s_r - s[t])
        change = p * (down * u - up)
        slope -= change
        slopes[t] += change
        if wanted:
            curve = (down + up) * (u * p * p)
            bend += curve
            bends[t] += curve
    return loss, slope, bend


LambdaLoss.kernel = lambdaloss

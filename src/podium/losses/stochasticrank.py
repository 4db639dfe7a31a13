"""StochasticRank: the expected metric of a ranking by noisy scores, and an unbiased estimate of its gradient.

    L = −E metric(s + σ ε),        ε standard normal

Given the noisy scores z of all other documents, the metric is a step function of document i's, with a step at each z_j:
its mean over z_i alone has the derivative (*coordinate-wise conditional sampling*)

    ∂/∂s_i E[metric | others] = Σ_{j≠i} Δ_ij φ((z_j − s_i)/σ)/σ

where Δ_ij is what the metric gains if i, just below j, moves to just above it, and φ is the normal density. The mean
over draws of z is the gradient. The terms of i past j and of j past i have opposite means, so half of their difference
serves both documents: it is as unbiased, varies less, and adds up to 0 over the list.

Ustimenko & Prokhorenkova, "StochasticRank: global optimization of scale-free discrete functions", ICML 2020.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from podium.core.parameters import count, number
from podium.losses.base import Array, Derivatives, LabeledLists, Loss, OneList, njit, own
from podium.losses.lambdarank import gain_shares, parse_metric, relevances
from podium.numerics.elementary import FAST, exp, extent
from podium.numerics.random import fill_normal
from podium.numerics.sorting import descending

__all__ = ["StochasticRankLoss"]

NDCG, MAP, MRR = 0, 1, 2
METRICS = {"ndcg": NDCG, "map": MAP, "mrr": MRR}


class StochasticRankLoss(Loss, has_gradient=False, has_curvature=True, visits_pairs=True):
    """Minus the expected metric of a ranking by scores with normal noise.

    The value is minus the mean metric of the rankings drawn, a step function of the scores; the gradient is an unbiased
    estimate of the expected metric's, from the same draws. The second derivative is a positive stand-in: the sum of the
    gradient's terms by magnitude, divided by ``sigma``, so that a Newton step is at most ``sigma``. A query in which
    every ranking is equally good contributes 0.

    Parameters
    ----------
    metric : "ndcg", "map" or "mrr", optionally with a cutoff, as in "ndcg@10"
        Gains are 2^y − 1, discounts 1 / log2(1 + rank), and documents of label 1 and more are relevant (the convention
        ``standard``).
    sigma : float
        Standard deviation of the noise: scores count in units of it.
    n_samples : int
        Draws per query, anew for each epoch or tree.
    random_state : int
        Seed of the noise.

    Examples
    --------
    >>> loss = StochasticRankLoss(n_samples=1000).value_and_gradient([0.5, 0.0, -1.0], labels=[1, 2, 0], offsets=[0, 3])
    >>> round(loss.value, 3)
    -0.832
    >>> loss.d_scores.round(3).tolist()
    [0.038, -0.082, 0.044]
    """

    cost = "n² × n_samples (with a cutoff: n × cutoff × n_samples)"
    metric: str = "ndcg"
    sigma: float = number(1.0, above=0)
    n_samples: int = count(1)
    random_state: int = count(0, at_least=0)

    @property
    def is_random(self) -> bool:
        return True

    def prepare(self, data: LabeledLists) -> tuple[Any, ...]:
        name, cutoff = parse_metric(self.metric, tuple(METRICS))
        ranks = np.arange(1, data.longest + 1)
        discounts = 1.0 / (np.log2(1 + ranks) if name == "ndcg" else ranks)
        discounts[cutoff or len(ranks) :] = 0.0
        worths = gain_shares(data.labels, data.offsets, discounts) if name == "ndcg" else relevances(data, discounts)
        if name == "mrr":
            worths = (worths > 0.0).astype(np.float64)
        settings = StochasticSettings(METRICS[name], cutoff or len(ranks), float(self.sigma), int(self.n_samples))
        return self.prepare_epoch((None, worths, discounts, settings), data, epoch=0)

    def prepare_epoch(self, prepared: tuple[Any, ...], data: LabeledLists, epoch: int) -> tuple[Any, ...]:
        return data.streams(self.random_state, epoch), *prepared[1:]


class StochasticSettings(NamedTuple):
    """The loss's parameters as the kernel takes them."""

    metric: int
    cutoff: int
    sigma: float
    n_samples: int


class Factors(NamedTuple):
    """What differences of worth are multiplied by, (n,) each, by place in one ranking."""

    own: Array
    """The metric is the sum of worth times this."""
    rising: Array
    """A document from further down that comes to just above the one here, instead of just below."""
    falling: Array
    """One from further up that is worth nothing: as it comes to just above the one here."""
    falling_relevant: Array
    """The same for one that is worth something, which no longer is a hit before this place."""


@njit(error_model="numpy")
def stochasticrank(given: OneList, prepared: Any, out: Derivatives) -> float:
    streams, all_worths, discounts, settings = prepared
    n, worths = len(given.scores), own(all_worths, given)
    out.gradient[:] = 0.0
    out.curvature[:] = 0.0
    low, high = extent(worths)
    if low == high:
        return 0.0
    stream = streams[given.query : given.query + 1].copy()
    scores = (given.scores - given.scores.mean()) / settings.sigma
    noise, order = np.empty(n), np.empty(n, np.uint32)
    z, s, v, slopes, bends = np.empty(n), np.empty(n), np.empty(n), np.empty(n), np.empty(n)
    empty = np.empty(n), np.empty(n), np.empty(n), np.empty(n)
    factors = Factors(empty[0], empty[1], empty[2], empty[3])
    value = 0.0
    for _ in range(settings.n_samples):
        fill_normal(noise, stream)
        for i in range(n):
            noise[i] += scores[i]
        descending(noise, order)
        for p in range(n):
            z[p], s[p], v[p] = noise[order[p]], scores[order[p]], worths[order[p]]
        n_rows = _fill_factors(v, discounts, settings.metric, min(settings.cutoff, n - 1), factors)
        for p in range(n):
            value -= v[p] * factors.own[p]
            slopes[p], bends[p] = 0.0, 0.0
        for p in range(n_rows):
            falling = factors.falling_relevant if v[p] > 0.0 else factors.falling
            below = z[p + 1 :], s[p + 1 :], v[p + 1 :], falling[p + 1 :]
            slope, bend = _row((z[p], s[p], v[p], factors.rising[p]), below, slopes[p + 1 :], bends[p + 1 :])
            slopes[p] += slope
            bends[p] += bend
        for p in range(n):
            out.gradient[order[p]] += slopes[p]
        for p in range(len(out.curvature)):
            out.curvature[order[p]] += bends[p]
    scale = 0.5 / (math.sqrt(2.0 * math.pi) * settings.sigma * settings.n_samples)
    out.gradient[:] *= scale
    out.curvature[:] *= scale / settings.sigma
    return value / settings.n_samples


@njit(error_model="numpy")
def _fill_factors(v: Array, discounts: Array, metric: int, cutoff: int, factors: Factors) -> int:
    """Write a ranking's factors; return the number of places from which a document can fall with an effect."""
    hits, n_rows = 0, 0
    for p in range(len(v)):
        here = _factor(metric, hits)
        factors.own[p] = here * discounts[p]
        factors.rising[p] = here * (discounts[p] - discounts[p + 1]) if p + 1 < len(v) else 0.0
        if p > 0:
            step = discounts[p - 1] - discounts[p]
            factors.falling[p] = here * step
            factors.falling_relevant[p] = _factor(metric, hits - 1) * step
        if p < cutoff and (metric != MRR or hits == 0):
            n_rows = p + 1
        hits += v[p] > 0.0
    return n_rows


@njit(error_model="numpy")
def _factor(metric: int, hits: int) -> float:
    """Return what multiplies the discount of a document below so many relevant ones."""
    if metric == MAP:
        return hits + 1.0
    return 1.0 if metric == NDCG or hits == 0 else 0.0


@njit(fastmath=FAST, error_model="numpy")
def _row(document: tuple[float, ...], below: tuple[Array, ...], slopes: Array, bends: Array) -> tuple[float, float]:
    """Let the document at one place and each of those below it pass the other; return the slope and the bend in it."""
    z_p, s_p, v_p, rising = document
    z, s, v, falling = below
    slope = bend = 0.0
    for q in range(len(z)):
        up, down = z_p - s[q], z[q] - s_p
        density = rising * exp(-0.5 * up * up) + falling[q] * exp(-0.5 * down * down)
        change = (v[q] - v_p) * density
        slope += change
        bend += abs(change)
        slopes[q] -= change
        bends[q] += abs(change)
    return slope, bend


StochasticRankLoss.kernel = stochasticrank

"""ApproxNDCG: NDCG with smooth ranks.

The rank of a document is one more than the number of documents above it; with a logistic function in place of each
comparison it is smooth in the scores:

    r̂_i = 1 + Σ_{j≠i} σ((s_j − s_i) / T),        L = −(1/N) Σ_i G_i / log2(1 + r̂_i),        G = 2^y − 1

N being the ideal DCG. With c_i = ∂L/∂r̂_i, a pair of documents pulls with

    ∂L/∂s_i = (1/T) Σ_j (c_j − c_i) σ′((s_i − s_j) / T).

Qin, Liu and Li, "A general approximation framework for direct optimization of information retrieval measures",
Information Retrieval 13, 2010; noise on the scores: Bruch, Han, Bendersky and Najork, "A stochastic treatment of
learning to rank scoring functions", WSDM 2020.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from podium.core.parameters import count, number
from podium.losses.base import Array, Derivatives, LabeledLists, Loss, OneList, njit, own
from podium.losses.lambdarank import gain_shares
from podium.metrics.gains import LN2
from podium.numerics.elementary import FAST, log
from podium.numerics.pairs.smooth_ranks import add_ranks, add_slopes, add_slopes_and_sizes
from podium.numerics.random import uniform
from podium.numerics.sorting import descending
from podium.numerics.tiles import keep, rounded_up, unowned

__all__ = ["ApproxNDCGLoss"]


class ApproxNDCGLoss(Loss, has_curvature=True, visits_pairs=True):
    """Minus NDCG, ranks being sums of logistic functions of score differences.

    A single document, equal labels throughout, and a list without gain contribute 0; grades below 0 are worth nothing.
    Equal scores share their ranks, whatever the order of the rows.

    The second derivative is a stand-in that is never less than the true one: the sum over j of abs(c_j − c_i) σ′ / T².
    A Newton step is then at most T.

    Parameters
    ----------
    temperature : float
        T, the score difference that counts: small values come close to NDCG itself, which is flat nearly everywhere;
        large ones are smooth and far from it.
    truncation : int or None
        Compare smoothly only pairs with a document among the first so many places (and those tied with the last of
        them); among all others ranks are counted. A long list then takes n × truncation steps instead of n². None
        compares all pairs.
    gumbel : int
        Average the loss over so many draws of Gumbel noise on the scores, drawn anew for each epoch or tree; 0 adds
        none.
    gumbel_scale : float
        Factor of the noise.
    random_state : int
        Seed of the noise.

    Examples
    --------
    >>> loss = ApproxNDCGLoss(temperature=1.0).value_and_gradient([0.5, 0.0, -1.0], labels=[1, 2, 0], offsets=[0, 3])
    >>> round(loss.value, 4)
    -0.7425
    >>> loss.d_scores.round(4).tolist()
    [0.0089, -0.056, 0.0471]
    """

    cost = "n² (n × truncation)"
    temperature: float = number(0.1, above=0)
    truncation: int | None = count(None, optional=True)
    gumbel: int = count(0, at_least=0)
    gumbel_scale: float = number(1.0, at_least=0)
    random_state: int = count(0, at_least=0)

    @property
    def is_random(self) -> bool:
        return self.gumbel > 0

    @property
    def keeps_float32(self) -> bool:  # type: ignore[override]
        """Noise on large scores would be rounded away."""
        return self.gumbel == 0

    def prepare(self, data: LabeledLists) -> tuple[Any, ...]:
        noise = int(self.gumbel), float(self.gumbel_scale)
        settings = ApproxSettings(False, 1.0 / self.temperature, rows_compared(self.truncation, data), *noise)
        return shares_of_ideal(data), data.streams(self.random_state), settings

    def prepare_epoch(self, prepared: tuple[Any, ...], data: LabeledLists, epoch: int) -> tuple[Any, ...]:
        return (prepared[0], data.streams(self.random_state, epoch), prepared[2]) if self.gumbel else prepared


class ApproxSettings(NamedTuple):
    """A loss's parameters as the kernel takes them."""

    is_mrr: bool
    """Is the metric of smooth ranks Σ share / r̂ rather than Σ share / log2(1 + r̂)?"""
    steepness: float
    """1 / T"""
    rows: int
    """Places whose pairs are compared smoothly."""
    n_draws: int
    noise: float


def rows_compared(truncation: int | None, data: LabeledLists) -> int:
    """Return how many places are compared smoothly, all of them if there is no truncation."""
    return max(data.longest, 1) if truncation is None else int(truncation)


def shares_of_ideal(data: LabeledLists) -> Array:
    """Return (n_documents,) gains over the ideal DCG; 0 throughout lists that say nothing."""
    discounts = 1.0 / np.log2(2.0 + np.arange(data.longest))
    return gain_shares(np.maximum(data.labels, 0.0), data.offsets, discounts) * says_something(data)


def says_something(data: LabeledLists) -> Array:
    """Return (n_documents,) 1.0 in lists with unequal labels, else 0.0."""
    return np.repeat(np.diff(data.groups.first) > 2, data.sizes).astype(np.float64)


@njit(error_model="numpy")
def approximate(given: OneList, prepared: Any, out: Derivatives) -> float:
    all_shares, streams, settings = prepared
    shares = own(all_shares, given)
    out.gradient[:] = 0.0
    out.curvature[:] = 0.0
    total = 0.0
    for i in range(len(shares)):
        total += shares[i]
    if total == 0.0:
        return 0.0
    if settings.n_draws == 0:
        return _add_smooth_metric(given.scores, shares, settings, 1.0, out)
    stream = streams[given.query : given.query + 1].copy()
    noisy = np.empty_like(given.scores)
    value = 0.0
    for _ in range(settings.n_draws):
        for i in range(len(noisy)):
            noisy[i] = given.scores[i] + settings.noise * _gumbel(stream)
        value += _add_smooth_metric(noisy, shares, settings, 1.0 / settings.n_draws, out)
    return value


@njit(error_model="numpy")
def _gumbel(stream: Array) -> float:
    """Draw from the standard Gumbel distribution."""
    return -math.log(-math.log(uniform(stream) + 2.0**-54))  # never the logarithm of 0


@njit(error_model="numpy")
def _add_smooth_metric(
    scores: Array, shares: Array, settings: ApproxSettings, factor: float, out: Derivatives
) -> float:
    """Return ``factor`` times the loss; add its derivatives."""
    n, size, number = len(scores), rounded_up(len(scores)), scores.dtype.type
    order = np.empty(n, np.uint32)
    descending(scores, order)
    room = np.zeros((8, size), scores.dtype)
    s, worth, share, pulls, above, below, sizes_above, sizes_below = (
        *(room[0], room[1], room[2], room[3]),
        *(room[4], room[5], room[6], room[7]),
    )
    for r in range(n):
        s[r] = scores[order[r]]
        share[r] = shares[order[r]]
    steepness, rows = number(settings.steepness), _rows_with_ties(s[:n], settings.rows)
    above[:] = 1.0
    _count_ranks(s[:n], rows, above)
    last = min(rows, n - 1)
    add_ranks(s, n, last, steepness, worth, unowned((size, above, below)))
    for r in range(size):
        above[r] += below[r]
    value = _reciprocals(share, above, pulls) if settings.is_mrr else _discounts(share, above, pulls)
    above[:] = 0.0
    below[:] = 0.0
    tables = unowned((pulls, above, below, sizes_above, sizes_below))
    if len(out.curvature) == 0:
        add_slopes(s, n, last, steepness, worth, tables)
    else:
        add_slopes_and_sizes(s, n, last, steepness, worth, tables)
    for r in range(n):
        out.gradient[order[r]] += number(factor * settings.steepness) * (above[r] + below[r])
    for r in range(len(out.curvature)):
        size_of_terms = sizes_above[r] + sizes_below[r]
        out.curvature[order[r]] += number(factor * settings.steepness * settings.steepness) * size_of_terms
    keep(room)
    return -factor * value


@njit(error_model="numpy")
def _rows_with_ties(s: Array, rows: int) -> int:
    """Return how many places are the first ``rows``, with those that are tied with the last of them."""
    while 0 < rows < len(s) and s[rows] == s[rows - 1]:
        rows += 1
    return min(rows, len(s))


@njit(error_model="numpy")
def _count_ranks(s: Array, rows: int, ranks: Array) -> None:
    """Add the number of documents above, of those after the first ``rows`` places; tied ones count half."""
    first = rows
    while first < len(s):
        stop = first + 1
        while stop < len(s) and s[stop] == s[first]:
            stop += 1
        for r in range(first, stop):
            ranks[r] += (first - rows) + 0.5 * (stop - first - 1)
        first = stop


# Sums are in loops that write nothing: see listnet.


@njit(fastmath=FAST, error_model="numpy")
def _reciprocals(share: Array, ranks: Array, pulls: Array) -> float:
    """Return Σ share / r̂, and write minus its derivatives with respect to the ranks."""
    for r in range(len(share)):
        pulls[r] = share[r] / ranks[r]
    value = pulls.sum()
    for r in range(len(share)):
        pulls[r] /= ranks[r]
    return value


@njit(fastmath=FAST, error_model="numpy")
def _discounts(share: Array, ranks: Array, pulls: Array) -> float:
    """Return Σ share / log2(1 + r̂), and write minus its derivatives with respect to the ranks."""
    number = share.dtype.type
    for r in range(len(share)):
        ranks[r] += number(1)
        pulls[r] = number(LN2) * share[r] / log(ranks[r])
    value = pulls.sum()
    for r in range(len(share)):
        pulls[r] /= ranks[r] * log(ranks[r])
    return value


ApproxNDCGLoss.kernel = approximate

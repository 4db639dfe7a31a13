"""LambdaRank: logistic loss on pairs, each weighted by what swapping it would do to a metric.

    λ_ij = −σ |Δ_ij| / (1 + e^{σ(s_i − s_j)})   for y_i > y_j,        ∂/∂s_i += λ_ij,  ∂/∂s_j −= λ_ij

where Δ_ij is the change of NDCG, MAP or ERR if documents i and j changed places in the present ranking. For a document
at rank r and one further down at rank t, each of the three has the form

    |Δ| = |v_r − v_t| · |a_r + k_r b_t|

so that one loop over pairs serves them all (:func:`fill_positions` derives a, k and b; v is the gain, the relevance or
the probability of satisfaction).

Burges, Ragno and Le, "Learning to rank with nonsmooth cost functions", NIPS 2006; Burges, "From RankNet to LambdaRank
to LambdaMART: an overview", 2010. ``normalize`` is what LightGBM adds to it.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from podium.core.parameters import choice, count, number, require_choice
from podium.losses.base import Array, Derivatives, LabeledLists, Loss, OneList, njit, own
from podium.numerics.elementary import FAST, exp, log1p_unit
from podium.numerics.grades import label_order, shuffled_lists
from podium.numerics.pairs.worths import REACH, fill_worth, padded, padded_stop
from podium.numerics.sorting import descending

__all__ = ["LambdaRankLoss"]

NDCG, MAP, ERR = 0, 1, 2
METRICS = {"ndcg": NDCG, "map": MAP, "err": ERR}
LEAST_GAP = 0.01
"""Added to score gaps before dividing by them, as LightGBM does."""


class LambdaRankLoss(Loss, has_gradient=False, has_curvature=True, keeps_float32=True, visits_pairs=True):
    """Logistic loss over pairs, weighted by each pair's share in a metric.

    There is no function whose gradient this is: the weights change with the ranking. ``value`` is the weighted logistic
    loss at the present ranking; gradient and second derivative are its derivatives with the weights (and the
    normalization) held fixed. Equal labels say nothing; a query without a pair contributes 0.

    Parameters
    ----------
    metric : "ndcg", "map" or "err", optionally with a cutoff, as in "ndcg@10"
        Gains are 2^y − 1, discounts 1 / log2(1 + rank), documents of label 1 and more are relevant, and ERR's highest
        grade is the highest label in the data (the convention ``standard``).
    truncation : int or None
        Only pairs with a document among the first so many ranks count; all pairs if None.
    sigma : float
        Steepness of the logistic function.
    normalize : bool
        Divide each weight by ``0.01 + |s_i − s_j|`` (unless all scores are equal), and multiply a query's gradient by
        log2(1 + Λ) / Λ, Λ being the sum of its entries' magnitudes pair by pair, so that queries count about equally.
    truncated_ideal : bool
        Divide gains by the ideal DCG of the first ``truncation`` ranks, as LightGBM does, instead of the metric's own:
        long lists with much to find then count for more. LambdaMART is better off with it.
    random_state : int
        Documents with equal scores (at the start, all) are ranked in a random order, drawn anew for each epoch or tree.
    debias : {None, "pairwise", "additive"}
        On a log of clicks with sessions, and boosted trees: learn what places did beside the trees (see
        :class:`podium.LambdaMART`).
    debias_penalty : float
        Of that: what draws it to none.

    Examples
    --------
    >>> loss = LambdaRankLoss(normalize=False).value_and_gradient([0.5, 0.0, -1.0], labels=[1, 2, 0], offsets=[0, 3])
    >>> round(loss.value, 4)
    0.2596
    >>> loss.d_scores.round(3).tolist()
    [0.101, -0.156, 0.054]
    """

    cost = "n × truncation"
    metric: str = "ndcg"
    truncation: int | None = count(30, optional=True)
    sigma: float = number(1.0, above=0)
    normalize: bool = True
    truncated_ideal: bool = False
    random_state: int = 0
    debias: str | None = choice(None, "pairwise", "additive")
    debias_penalty: float = number(0.0, at_least=0)

    def prepare(self, data: LabeledLists) -> tuple[Any, ...]:
        if self.debias is not None:
            raise ValueError(
                f"debias={self.debias!r} learns what places did to clicks: train trees on a log, ranker.fit(clicks)"
            )
        return self.prepare_epoch((None, *self.tables(data)), data, epoch=0)

    def tables(self, data: LabeledLists) -> tuple[Any, ...]:
        """Return what the kernel needs to know besides the order of equal scores."""
        name, cutoff = parse_metric(self.metric, tuple(METRICS))
        longest = data.longest
        ranks = np.arange(1, longest + 1)
        discounts = np.where(ranks <= (cutoff or longest), 1.0 / (np.log2(1 + ranks) if name == "ndcg" else ranks), 0.0)
        rows = longest if self.truncation is None else int(self.truncation)
        ideal = np.where(ranks <= rows, discounts, 0.0) if self.truncated_ideal else discounts
        values = _VALUES[name](data, ideal)
        return values, discounts, METRICS[name], LambdaSettings(rows, float(self.sigma), bool(self.normalize))

    def prepare_epoch(self, prepared: tuple[Any, ...], data: LabeledLists, epoch: int) -> tuple[Any, ...]:
        return shuffled_lists(data.offsets, data.streams(self.random_state, epoch)), *prepared[1:]


Positions = tuple[Array, Array, Array]


class LambdaSettings(NamedTuple):
    """The loss's parameters as the kernel takes them."""

    truncation: int
    sigma: float
    normalize: bool


def parse_metric(metric: str, known: tuple[str, ...]) -> tuple[str, int | None]:
    """Return the name, one of those known, and the cutoff of a metric."""
    if not isinstance(metric, str):
        raise ValueError(
            f"metric must be a name such as 'ndcg@10'; got {metric!r}. Parameters without a name are taken in their "
            "order, metric first: name others, as in n_trees=10"
        )
    name, at, cutoff = metric.partition("@")
    require_choice("metric (before any @cutoff)", name, known)
    if at and not (cutoff.isdecimal() and int(cutoff) > 0):
        raise ValueError(f"the cutoff in metric={metric!r} must be a positive whole number")
    return name, int(cutoff) if at else None


def gain_shares(labels: Array, offsets: Array, discounts: Array) -> Array:
    """Return each document's gain as a share of its query's ideal DCG; all 0 where nothing is to be gained."""
    with np.errstate(over="ignore"):
        gains = np.exp2(labels) - 1.0
    if not np.isfinite(gains).all():
        raise ValueError(f"the label {labels.max()} is too large for gains of 2^label − 1")
    return gains * np.repeat(_inverse_ideal(gains, label_order(labels, offsets), offsets, discounts), np.diff(offsets))


def relevances(data: LabeledLists, discounts: Array) -> Array:
    """Return one over the query's number of relevant documents for each of them, 0 for the others."""
    labels, offsets = data.labels, data.offsets
    relevant = (labels >= 1.0).astype(np.float64)
    before = np.concatenate(([0.0], np.cumsum(relevant)))
    return relevant / np.repeat(np.maximum(before[offsets[1:]] - before[offsets[:-1]], 1.0), np.diff(offsets))


def _satisfactions(data: LabeledLists, discounts: Array) -> Array:
    """Return the probability that a document ends the user's search."""
    highest = data.highest_grade
    return np.maximum(np.exp2(data.labels - highest) - np.exp2(-highest), 0.0)


def _shares(data: LabeledLists, discounts: Array) -> Array:
    return gain_shares(data.labels, data.offsets, discounts)


_VALUES = {"ndcg": _shares, "map": relevances, "err": _satisfactions}


@njit(cache=True, error_model="numpy")
def _inverse_ideal(gains: Array, order: Array, offsets: Array, discounts: Array) -> Array:
    inverse = np.zeros(len(offsets) - 1)
    for q in range(len(inverse)):
        start, ideal = offsets[q], 0.0
        for r in range(offsets[q + 1] - start):
            ideal += gains[start + order[start + r]] * discounts[r]
        inverse[q] = 1.0 / ideal if ideal > 0.0 else 0.0
    return inverse


@njit(error_model="numpy")
def lambdarank(given: OneList, prepared: Any, out: Derivatives) -> float:
    scores = given.scores
    all_shuffled, all_values, discounts, metric, settings = prepared
    shuffled = own(all_shuffled, given)
    order = np.empty(len(scores), np.uint32)
    descending(scores[shuffled], order)  # of equal scores, the first comes first
    for r in range(len(order)):
        order[r] = shuffled[order[r]]
    values = own(all_values, given)
    terms = np.empty(len(order)), np.empty(len(order)), np.empty(len(order))
    fill_positions(values, order, discounts, metric, terms)
    return _weighted_pairs(scores, order, values, terms, settings, out)


@njit(error_model="numpy")
def fill_positions(values: Array, order: Array, discounts: Array, metric: int, terms: Positions) -> None:
    """Write a, k and b of |Δ| = |v_r − v_t| |a_r + k_r b_t|, by rank."""
    n = len(order)
    a, k, b = terms
    k[:] = 1.0
    if metric == NDCG:
        a[:] = discounts[:n]
        b[:] = -discounts[:n]
    elif metric == MAP:
        # A relevant document moved up from t to r comes after the hits before r, and is one more hit to those between.
        hits, between = 0.0, 0.0
        for r in range(n):
            relevant = values[order[r]] > 0.0
            b[r] = between - (hits + relevant) * discounts[r]
            hits += relevant
            between += relevant * discounts[r]
            a[r] = (hits + (not relevant)) * discounts[r] - between
    else:
        # Those between r and t are reached with probability (1 − v_t) / (1 − v_r) times as high as before.
        reach = 1.0
        for r in range(n):
            a[r] = reach * discounts[r]
            k[r] = 1.0 / (1.0 - values[order[r]])
            reach *= 1.0 - values[order[r]]
        below = 0.0  # what ERR gains further down
        for r in range(n - 1, -1, -1):
            here = a[r]
            a[r] -= k[r] * below
            below += values[order[r]] * here
            b[r] = below - here


@njit(fastmath=FAST, error_model="numpy")
def _weighted_pairs(
    scores: Array, order: Array, values: Array, terms: Positions, settings: LambdaSettings, out: Derivatives
) -> float:
    """Return the sum over pairs with a document among the first ``truncation`` ranks."""
    a, k, b = terms
    truncation, sigma, normalize = settings
    n, number = len(scores), scores.dtype.type
    s, v, is_real, lower = padded(n, scores), padded(n, scores), padded(n, scores), padded(n, scores)
    worth, slopes, bends = padded(n, scores), padded(n, scores), padded(n, scores)
    for r in range(n):
        s[r] = number(sigma) * scores[order[r]]
        v[r] = values[order[r]]
        is_real[r] = 1
        lower[r] = b[r]
    for r in range(n, len(s)):
        s[r] = s[n - 1]  # not 0: a lead of −0.01 over the padding would be a division by zero
    # Weights are divided by least + share * gap: by 0.01 + |s_i − s_j|, or by 1.
    by_gap = normalize and s[0] > s[n - 1]
    least, share = number(LEAST_GAP if by_gap else 1.0), number(1.0 / sigma if by_gap else 0.0)
    loss, sum_lambda = 0.0, 0.0
    reference = number(np.inf)
    for r in range(min(n - 1, truncation)):
        first = r + 1
        stop = padded_stop(first, n)
        if reference - s[r] > REACH:
            reference = s[r]
            fill_worth(s[first:n], reference, number(1), worth[first:n])
        below = s[first:stop], worth[first:stop], v[first:stop], is_real[first:stop], lower[first:stop]
        document = s[r], exp(reference - s[r]), v[r], number(a[r]), number(k[r])
        row = _row(document, below, (least, share), slopes[first:stop], bends[first:stop])
        loss += row[0]
        slopes[r] += row[1]
        bends[r] += row[2]
        sum_lambda += row[3]
    scale = 1.0
    if normalize and sum_lambda > 0.0:
        sum_lambda *= 2.0 * sigma
        scale = math.log2(1.0 + sum_lambda) / sum_lambda
    for r in range(n):
        out.gradient[order[r]] = number(scale * sigma) * slopes[r]
    for r in range(len(out.curvature)):
        out.curvature[order[r]] = number(scale * sigma * sigma) * bends[r]
    return scale * loss


@njit(fastmath=FAST, error_model="numpy")
def _row(
    document: tuple[float, ...], below: tuple[Array, ...], damping: tuple[float, float], slopes: Array, bends: Array
) -> tuple[float, float, float, float]:
    """Compare the document at rank r with all those below it.

    Returns the sums of the loss, of its slope and curvature in s_r, and of |λ|.
    """
    s_r, inverse_worth, v_r, a_r, k_r = document
    s, worth, v, is_real, b = below
    least, share = damping
    zero, one = s.dtype.type(0), s.dtype.type(1)
    loss = slope = bend = sum_lambda = zero
    for t in range(len(s)):
        lead = s_r - s[t]
        difference = v_r * is_real[t] - v[t]  # 0 for padding
        u = worth[t] * inverse_worth  # e^−lead
        odds, divisor = one + u, least + share * lead
        inverse = one / (odds * divisor)
        likely = inverse * divisor  # probability of the present order
        weight = abs(difference * (a_r + k_r * b[t])) * (inverse * odds)
        right = difference > zero
        p = u * likely if right else likely  # probability of the wrong order
        change = weight * p
        signed = change if right else -change
        curve = weight * u * likely * likely
        loss += weight * (log1p_unit(u) + (zero if right else lead))
        sum_lambda += change
        slope -= signed
        bend += curve
        slopes[t] += signed
        bends[t] += curve
    return loss, slope, bend, sum_lambda


LambdaRankLoss.kernel = lambdarank

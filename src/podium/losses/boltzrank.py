"""BoltzRank: the expected value of any metric under a Boltzmann distribution over rankings.

Rankings that put higher scores first have low energy and are likely (:mod:`podium.numerics.ranks.energy`). Over a
sample of rankings R of the list, drawn once with knowledge of the grades (:mod:`podium.numerics.ranks.samples`),

    p_R = exp(−E(R|s)) / Σ_R′ exp(−E(R′|s)),        P_R the same with the labels in place of the scores
    O   = λ Σ_R p_R G(R) − (1 − λ) C,               C = −Σ_R P_R log p_R,     the loss is −O

where G(R) is the metric of ranking R. With E(R|s) = Σ_j h(r_j) s_j,

    −∂O/∂s_j = Σ_R [ λ p_R (G(R) − ⟨G⟩) + (1 − λ)(P_R − p_R) ] h(r_j).

Volkovs & Zemel, "BoltzRank: learning to maximize expected ranking gain", ICML 2009. There a step costs K m² for K
rankings of m documents, here K m.
"""

import math
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from podium.core.parameters import count, number, require_choice
from podium.losses.base import Array, Derivatives, LabeledLists, Loss, OneList, njit, own
from podium.metrics import Metric, metric
from podium.numerics.elementary import FAST, exp
from podium.numerics.grades import Groups
from podium.numerics.pool import share
from podium.numerics.ranks.energy import PAIR_WEIGHTS, PairWeight, rank_weights
from podium.numerics.ranks.samples import all_rankings, count_rankings, sample_rankings

__all__ = ["BoltzRankLoss"]

_AT_ONCE = 2_000_000
"""Documents whose rankings are judged in one call of a metric: bounds the memory, not the result."""


class BoltzRankLoss(Loss, rankings="boltzmann"):
    """Minus the expected metric, mixed with a cross entropy toward the rankings that the labels make likely.

    A query's value is −O, so at best about −``weight``. Lists with no more than ``n_samples`` rankings in all are
    summed over all of them, which makes the expectation exact. A single document, or equal labels throughout,
    contributes 0.

    Parameters
    ----------
    metric : str or Metric
        G: any metric of :func:`podium.metric`, ``"ndcg@5"``, ``"map (letor)"``, … Grades below 0 are worth nothing.
    weight : float
        Share λ of the expected metric: 1 counts only this, 0 only the cross entropy.
    n_samples : int
        K, rankings per query. They take 2 bytes per ranking and document.
    g : "linear", "sign", "logistic" or a function
        Weight of a pair of documents that stand x ranks apart in a list of m, as a function g(x, m) of an array x. The
        paper's is 2x/(m − 1).
    random_state : int
        Seed of the rankings.
    redraw : bool
        Draw the rankings anew in each epoch of stochastic training; the paper draws them once, to save time.

    Examples
    --------
    >>> loss = BoltzRankLoss("ndcg@5", weight=0.9).value_and_gradient([0.5, 0.0, -1.0], [1, 2, 0], [0, 3])
    >>> round(loss.value, 4)
    -0.5894
    >>> loss.d_scores.round(4).tolist()
    [0.0925, -0.1343, 0.0418]
    """

    cost = "n × n_samples"

    metric: str | Metric = "ndcg@5"
    weight: float = number(0.9, at_least=0, at_most=1)
    n_samples: int = count(100, at_least=2)
    g: str | PairWeight = "linear"
    random_state: int = count(0, at_least=0)
    redraw: bool = False

    @property
    def is_random(self) -> bool:
        return True

    def prepare(self, data: LabeledLists) -> tuple[Any, ...]:
        return self._drawn(data, 0)

    def prepare_epoch(self, prepared: Any, data: LabeledLists, epoch: int) -> Any:
        return self._drawn(data, epoch) if self.redraw else prepared

    def _drawn(self, data: LabeledLists, epoch: int) -> tuple[Any, ...]:
        """Return the rankings of an epoch, their energies, probabilities by the labels and gains."""
        labels, offsets = data.labels, data.offsets
        energy = Energy(_weights_by_query(_pair_weight(self.g), offsets), self.g in ("linear", "sign"))
        sample = draw_sample(data.groups, offsets, self.n_samples, data.streams(self.random_state, epoch))
        target, work = np.empty(sample.first[-1]), float(len(sample.places))
        share(_probabilities, offsets, labels, offsets, sample, energy, target, work=work)
        gains = judge(sample, worth_at_least_nothing(metric(self.metric)), data)
        return sample, energy, target, gains, float(self.weight)


class Energy(NamedTuple):
    """How a ranking's energy is computed."""

    h: Array
    """(n_documents,) h of the ranks 1, 2, … of each query."""
    straight: bool
    """Is h a straight line? Places are then multiplied by its slope, which is faster than looking h up and the same
    since the scores add up to 0."""


class Sample(NamedTuple):
    """Rankings of all queries, one query after the other."""

    places: Array
    """Unsigned integers: how many documents stand before a document, for each ranking and document of a query."""
    first_place: Array
    """(n_queries + 1,): query q has ``places[first_place[q]:first_place[q + 1]]``, a matrix of rankings × documents."""
    first: Array
    """(n_queries + 1,): query q has the rankings ``first[q]:first[q + 1]``; none if its labels say nothing."""


def draw_sample(groups: Groups, offsets: Array, n_samples: int, streams: Array) -> Sample:
    """Draw ``n_samples`` rankings of each query, or take all there are."""
    sizes = np.diff(offsets)
    counts = count_rankings(sizes, n_samples)
    complete = count_rankings(sizes, n_samples + 1) <= n_samples
    counts[np.diff(groups.first) <= 2] = 0  # one grade
    first = np.concatenate(([0], np.cumsum(counts)))
    first_place = np.concatenate(([0], np.cumsum(counts * sizes)))
    places = np.empty(first_place[-1], np.uint16 if sizes.max(initial=0) <= 1 << 16 else np.uint32)
    sample = Sample(places, first_place, first)
    share(_fill_sample, offsets, groups, offsets, complete, streams, sample, work=10.0 * len(places))
    return sample


@njit(cache=True, nogil=True, error_model="numpy")
def _fill_sample(
    begin: int, stop: int, groups: Groups, offsets: Array, complete: Array, streams: Array, sample: Sample
) -> None:
    for q in range(begin, stop):
        if sample.first[q] == sample.first[q + 1]:
            continue
        places = _places(sample, q, offsets[q + 1] - offsets[q])
        if complete[q]:
            all_rankings(places)
        else:
            grades = groups.bounds[groups.first[q] : groups.first[q + 1]]
            sample_rankings(groups.order[offsets[q] : offsets[q + 1]], grades, streams[q : q + 1].copy(), places)


@njit(nogil=True, error_model="numpy")
def _places(sample: Sample, q: int, n: int) -> Array:
    """Return a query's (n_rankings, n) places."""
    places = sample.places[sample.first_place[q] : sample.first_place[q + 1]]
    return places.reshape((sample.first[q + 1] - sample.first[q], n))


def judge(sample: Sample, gain: Metric, data: LabeledLists) -> Array:
    """Return (n_rankings,) the metric of each ranking; 0 where it has no value, since then it is the same for all."""
    if gain.needs_max_grade:
        # The highest grade of all documents, not of those that happen to be judged together.
        gain = metric(gain, max_grade=data.highest_grade)
    labels, offsets = data.labels, data.offsets
    sizes, counts = np.diff(offsets), np.diff(sample.first)
    gains = np.empty(sample.first[-1])
    start = 0
    while start < len(sizes):
        stop = int(np.searchsorted(sample.first_place, sample.first_place[start] + _AT_ONCE, side="right")) - 1
        stop = max(stop, start + 1)
        entries = slice(sample.first_place[start], sample.first_place[stop])
        of_chunk = slice(sample.first[start], sample.first[stop])
        lengths = np.repeat(sizes[start:stop], counts[start:stop])
        ends = np.concatenate(([0], np.cumsum(lengths)))
        first_document = np.repeat(offsets[start:stop], counts[start:stop])
        documents = np.arange(ends[-1]) + np.repeat(first_document - ends[:-1], lengths)
        gains[of_chunk] = gain.per_query(-sample.places[entries].astype(np.float32), labels[documents], ends)
        start = stop
    return np.nan_to_num(gains)


def worth_at_least_nothing(gain: Metric) -> Metric:
    """Return the metric with grades below 0 worth nothing: losses take any labels, where evaluation may refuse them."""
    return replace(gain, rules=replace(gain.rules, negative="zero"))


def _pair_weight(g: Any) -> PairWeight:
    if callable(g):
        return g
    require_choice("g", g, tuple(PAIR_WEIGHTS))
    return PAIR_WEIGHTS[g]


def _weights_by_query(g: PairWeight, offsets: Array) -> Array:
    """Return (n_documents,) h of the ranks 1, 2, … of each query."""
    tables = {m: rank_weights(m, g) for m in np.unique(np.diff(offsets)).tolist()}
    for m, table in tables.items():
        if m > 1 and not (np.isfinite(table).all() and (np.diff(table) >= 0).all() and table[-1] > table[0]):
            raise ValueError(f"g must be positive and finite: a list of {m} would not be ranked by its scores")
    return np.concatenate([np.empty(0), *(tables[m] for m in np.diff(offsets).tolist())])


@njit(cache=True, nogil=True, error_model="numpy")
def _probabilities(
    begin: int, stop: int, scores: Array, offsets: Array, sample: Sample, energy: Energy, p: Array
) -> None:
    """Write (n_rankings,) the probability of each ranking in its query's sample."""
    for q in range(begin, stop):
        here, rankings = slice(offsets[q], offsets[q + 1]), slice(sample.first[q], sample.first[q + 1])
        if sample.first[q] < sample.first[q + 1]:
            places = _places(sample, q, len(scores[here]))
            _boltzmann(_centered(scores[here]), places, energy.h[here], energy.straight, p[rankings])


@njit(error_model="numpy")
def boltzrank(given: OneList, prepared: Any, out: Derivatives) -> float:
    sample, energy, all_target, all_gains, weight = prepared
    q, m, h = given.query, len(given.scores), own(energy.h, given)
    s = _centered(given.scores)
    if sample.first[q] == sample.first[q + 1]:
        out.gradient[:] = 0.0
        return 0.0
    places, rankings = _places(sample, q, m), slice(sample.first[q], sample.first[q + 1])
    target, gains = all_target[rankings], all_gains[rankings]
    p = np.empty(len(gains))
    log_sum, energies = _boltzmann(s, places, h, energy.straight, p)
    expected, cross_entropy = 0.0, log_sum
    for k in range(len(p)):
        expected += p[k] * gains[k]
        cross_entropy += target[k] * energies[k]
    result = np.zeros(m)
    for k in range(len(p)):
        slope = weight * p[k] * (gains[k] - expected) + (1.0 - weight) * (target[k] - p[k])
        if energy.straight:
            _add_line(slope * (h[1] - h[0]), places[k], result)
        else:
            _add_table(slope, h, places[k], result)
    result -= result.mean()  # the slopes add up to 0, so this only removes what rounding left
    out.gradient[:] = result
    return (1.0 - weight) * cross_entropy - weight * expected


@njit(error_model="numpy")
def _centered(scores: Array) -> Array:
    """Return scores less their mean, float64: h adds up to 0, and so no digits are lost to a common shift."""
    s = scores.astype(np.float64)
    return s - s.mean()


@njit(error_model="numpy")
def _boltzmann(s: Array, places: Array, h: Array, straight: bool, p: Array) -> tuple[float, Array]:
    """Write the probability of each ranking; return log Σ exp(−E) and the energies."""
    energy = np.empty(len(p))
    for k in range(len(p)):
        energy[k] = (h[1] - h[0]) * _dot_line(s, places[k]) if straight else _dot_table(s, h, places[k])
    low = energy.min()
    total = 0.0
    for k in range(len(p)):
        p[k] = exp(low - energy[k])
        total += p[k]
    for k in range(len(p)):
        p[k] /= total
    return math.log(total) - low, energy


@njit(fastmath=FAST, error_model="numpy")
def _dot_line(s: Array, places: Array) -> float:
    total = 0.0
    for j in range(len(s)):
        total += float(places[j]) * s[j]
    return total


@njit(fastmath=FAST, error_model="numpy")
def _dot_table(s: Array, h: Array, places: Array) -> float:
    total = 0.0
    for j in range(len(s)):
        total += h[places[j]] * s[j]
    return total


@njit(fastmath=FAST, error_model="numpy")
def _add_line(slope: float, places: Array, result: Array) -> None:
    for j in range(len(result)):
        result[j] += slope * float(places[j])


@njit(fastmath=FAST, error_model="numpy")
def _add_table(slope: float, h: Array, places: Array, result: Array) -> None:
    for j in range(len(result)):
        result[j] += slope * h[places[j]]


BoltzRankLoss.kernel = boltzrank

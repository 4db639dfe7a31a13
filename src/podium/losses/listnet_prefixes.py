"""ListNet over the first k places, for any k: a term depends only on the *set* of documents before it.

    F(x) = Σ_{m<k} Σ_{|S|=m} P_y(S comes first) log Σ_{j∉S} exp(x_j)        cross entropy = F(s) − ⟨∇F(logits), s⟩

The probabilities of sets depend on the labels alone and are computed once per fit, from those of the sets with one
document less. Lists with more than :data:`MOST_SETS` sets have prefixes drawn by the labels' distribution instead: F is
then their mean, unbiased, and still has its minimum where the scores are the logits.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from podium.numerics.compiling import njit
from podium.numerics.elementary import FAST, exp
from podium.numerics.kernels import Derivatives, OneList, own
from podium.numerics.random import uniform

MOST_SETS = 4096
"""Sets of documents of one list that are summed over: k = 4 for 28 documents, all places for 12."""


class Prefixes(NamedTuple):
    """What may come before each of the first k places, of all queries, one after the other."""

    first: np.ndarray
    """(n_queries + 1,): query q has the sets ``first[q]:first[q + 1]``; none if its prefixes are drawn."""
    sets: np.ndarray
    """Documents of the set as bits."""
    weights: np.ndarray
    """How likely the labels' distribution draws exactly these first."""
    drawn: np.ndarray
    """(n_drawn_queries × n_samples, k − 1) documents in the order drawn, by their places in the list."""
    drawn_first: np.ndarray
    """(n_queries + 1,): the same for rows of ``drawn``."""
    k: int


def n_sets(n: int, k: int) -> int:
    """Return the number of sets of fewer than k of n documents; at most one of all but one."""
    return sum(math.comb(n, m) for m in range(min(k, n)))


def prepare_prefixes(
    logits: np.ndarray, offsets: np.ndarray, k: int, n_samples: int, streams: np.ndarray
) -> tuple[np.ndarray, Prefixes]:
    """Return how often each document is expected among the first k by its logit, (n_documents,), and the prefixes."""
    sizes = np.diff(offsets)
    counts = np.array([n_sets(n, k) if n < 64 else MOST_SETS + 1 for n in sizes.tolist()], np.int64)
    exact = counts <= MOST_SETS
    first = np.append(0, np.cumsum(np.where(exact, counts, 0)))
    drawn_first = np.append(0, np.cumsum(np.where(exact, 0, n_samples)))
    prefixes = Prefixes(
        first,
        np.zeros(first[-1], np.uint64),
        np.zeros(first[-1]),
        np.zeros((drawn_first[-1], k - 1), np.int32),
        drawn_first,
        k,
    )
    target = np.zeros(len(logits))
    _fill(logits, offsets, streams, prefixes, target)
    return target, prefixes


@njit(cache=True, error_model="numpy")
def _fill(logits: np.ndarray, offsets: np.ndarray, streams: np.ndarray, prefixes: Prefixes, target: np.ndarray) -> None:
    for q in range(len(offsets) - 1):
        x = logits[offsets[q] : offsets[q + 1]]
        here = slice(prefixes.first[q], prefixes.first[q + 1])
        rows = slice(prefixes.drawn_first[q], prefixes.drawn_first[q + 1])
        if len(x) == 0:
            continue
        if prefixes.first[q + 1] > prefixes.first[q]:
            _sets_by_probability(x, min(prefixes.k, len(x)), prefixes.sets[here], prefixes.weights[here])
        else:
            _draw_prefixes(x, streams[q : q + 1].copy(), prefixes.drawn[rows])
        _expected_log_sums(x, q, prefixes, target[offsets[q] : offsets[q + 1]])


@njit(error_model="numpy")
def _sets_by_probability(x: np.ndarray, k: int, sets: np.ndarray, weights: np.ndarray) -> None:
    """Write all sets of fewer than k documents, by size and ascending, and how likely each comes first."""
    n = len(x)
    one = np.uint64(1)
    sets[0], weights[0] = np.uint64(0), 1.0
    before, stop = 0, 1  # the sets with one document less
    for m in range(1, k):
        place = stop
        chosen = (one << np.uint64(m)) - one
        while chosen < one << np.uint64(n):
            sets[place] = chosen
            for j in range(n):
                bit = one << np.uint64(j)
                if chosen & bit:
                    without = before + np.searchsorted(sets[before:stop], chosen & ~bit)
                    weights[place] += weights[without] * _share(x, chosen & ~bit, j)
            place += 1
            lowest = chosen & (~chosen + one)  # the next number with as many bits
            ripple = chosen + lowest
            chosen = (((ripple ^ chosen) >> np.uint64(2)) // lowest) | ripple
        before, stop = stop, place


@njit(error_model="numpy")
def _share(x: np.ndarray, removed: np.uint64, j: int) -> float:
    """Return the probability that document j is drawn next."""
    total = 0.0
    for i in range(len(x)):
        if not removed & (np.uint64(1) << np.uint64(i)):
            total += math.exp(x[i] - x[j])
    return 1.0 / total


@njit(error_model="numpy")
def _draw_prefixes(x: np.ndarray, stream: np.ndarray, drawn: np.ndarray) -> None:
    """Draw documents without replacement: those with the largest logit plus Gumbel noise, largest first."""
    keys = np.empty(len(x))
    for s in range(len(drawn)):
        for i in range(len(x)):
            keys[i] = -math.log(-math.log(max(uniform(stream), 1e-300))) + x[i]
        order = np.argsort(-keys)
        for m in range(min(drawn.shape[1], len(x) - 1)):
            drawn[s, m] = order[m]


@njit(fastmath=FAST, error_model="numpy")
def _add_rest(e: np.ndarray, top: float, weight: float, gradient: np.ndarray) -> float:
    """Return ``weight · log Σ_j exp(x_j)`` over documents whose e is not 0; add its gradient. ``e`` is exp(x − top)."""
    total = 0.0
    for j in range(len(e)):
        total += e[j]
    share = weight / total
    for j in range(len(e)):
        gradient[j] += share * e[j]
    return weight * (top + math.log(total))


@njit(error_model="numpy")
def _fill_rest(x: np.ndarray, is_left: np.ndarray, e: np.ndarray) -> float:
    """Write exp(x − top) of the documents left, 0 for the others; return the highest x of those left."""
    top = -np.inf
    for j in range(len(x)):
        top = max(top, x[j] if is_left[j] else -np.inf)
    for j in range(len(x)):
        e[j] = exp(x[j] - top) if is_left[j] else 0.0
    return top


@njit(error_model="numpy")
def _expected_log_sums(x: np.ndarray, q: int, prefixes: Prefixes, gradient: np.ndarray) -> float:
    """Return F(x) of query q; add ∇F to ``gradient``."""
    n = len(x)
    e, is_left = np.empty(n), np.empty(n, np.bool_)
    value = 0.0
    for t in range(prefixes.first[q], prefixes.first[q + 1]):
        for j in range(n):
            is_left[j] = not prefixes.sets[t] & (np.uint64(1) << np.uint64(j))
        top = _fill_rest(x, is_left, e)
        value += _add_rest(e, top, prefixes.weights[t], gradient)
    first, stop = prefixes.drawn_first[q], prefixes.drawn_first[q + 1]
    for s in range(first, stop):
        is_left[:] = True
        for m in range(min(prefixes.k, n)):
            if m > 0:
                is_left[prefixes.drawn[s, m - 1]] = False
            top = _fill_rest(x, is_left, e)
            value += _add_rest(e, top, 1.0 / (stop - first), gradient)
    return value


@njit(error_model="numpy")
def listnet_prefixes(given: OneList, prepared: Any, out: Derivatives) -> float:
    all_targets, prefixes = prepared
    n, target = len(given.scores), own(all_targets, given)
    x, drawn = given.scores.astype(np.float64), np.zeros(n)
    value = _expected_log_sums(x, given.query, prefixes, drawn)
    return cross_entropy(value, x, target, drawn, min(prefixes.k, n), out)


@njit(error_model="numpy")
def cross_entropy(
    value: float, x: np.ndarray, target: np.ndarray, drawn: np.ndarray, k: int, out: Derivatives
) -> float:
    """Return F(x) − ⟨target, x⟩, given F(x) and its slopes ``drawn``; fill in the derivatives."""
    for i in range(len(x)):
        value -= target[i] * x[i]
        out.gradient[i] = drawn[i] - target[i]
    for i in range(len(out.curvature)):
        # Each place contributes the mean of p(1 − p), which is at most this for a given sum of all p.
        out.curvature[i] = drawn[i] * max(1.0 - drawn[i] / k, 0.0)
    return value

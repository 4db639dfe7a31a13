"""Questions to an ordered-partition model: who is in the best group, who is above or tied with whom.

The model draws the best group out of the whole list, the next out of what remains, and so on. Being in the first
group is one stage, and exact for both potentials. Being above or tied depends on all stages until one of the two
documents is drawn, over all groups that may go before: this is answered by drawing whole partitions from the model,
which is exact sampling (no Markov chain), so an answer's standard error is at most 1/(2√samples).

Arithmetic potential: a subset's weight Σ_{x∈S} e^{s_x}/|S| is that of a leader x ∝ e^{s_x} joined by others
regardless of their scores. Geometric potential: a size m ∝ e_m, then a subset of that size, its members taken or left
one by one.
"""

import math

import numpy as np

from podium.numerics.compiling import Array, njit
from podium.numerics.pool import share
from podium.numerics.random import uniform
from podium.numerics.subsets.sampling import GEOMETRIC
from podium.numerics.subsets.sums import log_subset_sum, sizes_that_matter, symmetric_polynomial


def best_group(kind: int, scores: Array, offsets: Array) -> Array:
    """Return (n_documents,) the probability that each document is in its list's best group."""
    result = np.empty(len(scores))
    sizes = np.diff(offsets).astype(np.float64)
    work = float((sizes**3).sum()) if kind == GEOMETRIC else 20.0 * len(scores)
    share(_best_groups, offsets, kind, scores, offsets, result, work=work)
    return result


@njit(cache=True, nogil=True, error_model="numpy")
def _best_groups(first: int, stop: int, kind: int, scores: Array, offsets: Array, result: Array) -> None:
    for q in range(first, stop):
        s, out = scores[offsets[q] : offsets[q + 1]], result[offsets[q] : offsets[q + 1]]
        if len(s) == 0:
            continue
        if kind == GEOMETRIC:
            log_subset_sum(s, np.empty(len(s)), out)
        else:
            _arithmetic_membership(s, out)


@njit(error_model="numpy")
def _arithmetic_membership(scores: Array, result: Array) -> None:
    """Write P(i ∈ S) = p_i + (1 − p_i) b: as the leader, with p = softmax(s), or as one of the others.

    Given a leader, every other document is in with the same probability b, the ratio of the weights of subsets that
    hold two given documents, Σ_m C(N−2, m−2)/m, and one, Σ_m C(N−1, m−1)/m = (2^N − 1)/N.
    """
    n = len(scores)
    top = scores.max()
    total = 0.0
    for i in range(n):
        result[i] = math.exp(scores[i] - top)
        total += result[i]
    joined = _joined_share(n)
    for i in range(n):
        p = result[i] / total
        result[i] = p + (1.0 - p) * joined


@njit(error_model="numpy")
def _joined_share(n: int) -> float:
    """Return b above. Σ_m C(N−2, m−2)/m = ∫₀¹ x (1+x)^{N−2} dx = (2^N − 1)/N − (2^{N−1} − 1)/(N−1)."""
    if n == 1:
        return 0.0
    small = 2.0 ** -float(n)
    one = (1.0 - small) / n
    return (one - (0.5 - small) / (n - 1.0)) / one


def sample_partitions(kind: int, scores: Array, n_samples: int, streams: Array) -> Array:
    """Return (n_samples, n) uint16: the group each document falls in (0 is the best), in partitions drawn at random.

    There is one stream of random numbers per sample, so the samples do not depend on the number of threads.
    """
    groups = np.empty((n_samples, len(scores)), np.uint16)
    work = float(n_samples) * len(scores) ** (3 if kind == GEOMETRIC else 2)
    share(_draw_partitions, n_samples, kind, scores, streams, groups, work=work)
    return groups


@njit(cache=True, nogil=True, error_model="numpy")
def _draw_partitions(first: int, stop: int, kind: int, scores: Array, streams: Array, groups: Array) -> None:
    n = len(scores)
    for sample in range(first, stop):
        stream = streams[sample : sample + 1].copy()
        left = np.arange(n)
        n_left, group = n, 0
        chosen = np.empty(n, np.bool_)
        table = np.empty((n + 1, n + 2)) if kind == GEOMETRIC else np.empty((1, 1))
        while n_left > 0:
            remaining = scores[left[:n_left]]
            if kind == GEOMETRIC:
                _draw_geometric(remaining, chosen[:n_left], table, stream)
            else:
                _draw_arithmetic(remaining, chosen[:n_left], stream)
            n_others = 0
            for i in range(n_left):
                if chosen[i]:
                    groups[sample, left[i]] = group
                else:
                    left[n_others] = left[i]
                    n_others += 1
            n_left = n_others
            group += 1


@njit(error_model="numpy")
def _draw_index(weights: Array, total: float, stream: Array) -> int:
    target = uniform(stream) * total
    for i in range(len(weights)):
        target -= weights[i]
        if target < 0.0:
            return i
    return len(weights) - 1


@njit(error_model="numpy")
def _draw_arithmetic(scores: Array, chosen: Array, stream: Array) -> None:
    """Draw a leader ∝ e^s; a size m ∝ C(N−1, m−1)/m; m − 1 companions, uniform."""
    n = len(scores)
    weights = np.exp(scores - scores.max())
    leader = _draw_index(weights, weights.sum(), stream)
    log_weight = np.empty(n)
    for m in range(1, n + 1):
        log_weight[m - 1] = -math.lgamma(float(m)) - math.lgamma(n - m + 1.0) - math.log(float(m))
    by_size = np.exp(log_weight - log_weight.max())
    companions = _draw_index(by_size, by_size.sum(), stream)
    left = n - 1  # documents not yet looked at, the leader aside
    for i in range(n):
        if i == leader:
            chosen[i] = True
            continue
        chosen[i] = uniform(stream) * left < companions
        companions -= chosen[i]
        left -= 1


@njit(error_model="numpy")
def _draw_geometric(scores: Array, chosen: Array, table: Array, stream: Array) -> None:
    """Draw a size m ∝ e_m; then each document, last to first, with the share of e_j that holds it."""
    n = len(scores)
    shifted = scores - scores.max()
    keep = sizes_that_matter(shifted)
    weights = np.zeros(n)
    for m in range(1, n + 1):
        if keep[m]:
            weights[m - 1] = symmetric_polynomial(np.exp(shifted / m), m, table)
    m = 1 + _draw_index(weights, weights.sum(), stream)
    z = np.exp(shifted / m)
    symmetric_polynomial(z, m, table)
    j = m
    for i in range(n, 0, -1):
        # Document i (numbered from 1) is in table[i−1, j−1]·z_i of the j-subsets of the first i.
        inside = 0.0 if j == 0 else z[i - 1] * table[i - 1, j - 1]
        outside = 0.0 if j > i - 1 else table[i - 1, j]
        chosen[i - 1] = j > 0 and uniform(stream) * (inside + outside) < inside
        j -= chosen[i - 1]

"""Markov chains over the non-empty subsets of a list, for ordered-partition models whose normalizer is not summed.

A state is a mask (N,) of members. Both built-in potentials depend on a subset only through its size and the sum of a
term per member, so a move changes them in constant time:

    arithmetic   Φ(S) = Σ_{x∈S} e^{s_x} / |S|       terms e^{s_x}
    geometric    Φ(S) = exp(Σ_{x∈S} s_x / |S|)      terms s_x
"""

import math

from podium.numerics.compiling import Array, njit
from podium.numerics.random import integer, uniform

ARITHMETIC, GEOMETRIC = 0, 1


@njit(error_model="numpy")
def fill_terms(kind: int, scores: Array, terms: Array) -> None:
    """Write the term of each document; scores are shifted by their maximum, which changes no ratio of potentials."""
    top = scores.max()
    for i in range(len(scores)):
        shifted = float(scores[i]) - top
        # A floor keeps the logarithm of a subset of hopeless documents finite.
        terms[i] = shifted if kind == GEOMETRIC else math.exp(max(shifted, -700.0))


@njit(error_model="numpy")
def log_potential(kind: int, total: float, size: int) -> float:
    """Return ``log Φ`` of a subset with the given sum of terms and size."""
    return total / size if kind == GEOMETRIC else math.log(total / size)


@njit(error_model="numpy")
def subset_total(terms: Array, members: Array) -> tuple[float, int]:
    """Return the sum of the members' terms, and their number."""
    total, size = 0.0, 0
    for i in range(len(terms)):
        if members[i]:
            total += terms[i]
            size += 1
    return total, size


@njit(cache=True, error_model="numpy")
def gibbs_sweep(kind: int, terms: Array, members: Array, stream: Array) -> None:
    """Visit each document in turn and redraw whether it belongs, given all others.

    The empty set is not a state: a document that is alone stays.
    """
    total, size = subset_total(terms, members)
    for i in range(len(terms)):
        was = members[i]
        others, n_others = (total - terms[i], size - 1) if was else (total, size)
        if n_others == 0:
            continue
        if kind == ARITHMETIC and others < 1e-9 * terms[i]:
            others = 0.0  # what is left after a dominant term is subtracted is rounding: sum it afresh
            for j in range(len(terms)):
                if members[j] and j != i:
                    others += terms[j]
        log_odds = log_potential(kind, others + terms[i], n_others + 1) - log_potential(kind, others, n_others)
        now = uniform(stream) < 1.0 / (1.0 + math.exp(-log_odds))
        members[i] = now
        total, size = (others + terms[i], n_others + 1) if now else (others, n_others)


@njit(error_model="numpy")
def propose_subset(n: int, stream: Array, shuffled: Array) -> int:
    """Draw a size uniform in 1 … n and a uniform subset of that size: its members lead ``shuffled`` (n,)."""
    size = 1 + integer(stream, n)
    for i in range(n):
        shuffled[i] = i
    for i in range(size):  # the first places of a Fisher-Yates shuffle
        j = i + integer(stream, n - i)
        shuffled[i], shuffled[j] = shuffled[j], shuffled[i]
    return size


@njit(cache=True, error_model="numpy")
def metropolis_step(kind: int, terms: Array, members: Array, corrected: bool, stream: Array, shuffled: Array) -> bool:
    """Propose a subset of uniform size, uniform among those of that size; accept or keep. True if accepted.

    The proposal favors sizes of which there are few subsets: a given S is proposed with probability 1/(N·C(N, |S|)).
    ``corrected`` divides this out, so that the chain's stationary distribution is Φ; without it, the ratio of
    potentials alone decides, as in the paper.
    """
    n = len(terms)
    size = propose_subset(n, stream, shuffled)
    total = 0.0
    for i in range(size):
        total += terms[shuffled[i]]
    old_total, old_size = subset_total(terms, members)
    log_ratio = log_potential(kind, total, size) - log_potential(kind, old_total, old_size)
    if corrected:
        log_ratio += log_binomial(n, size) - log_binomial(n, old_size)
    if uniform(stream) >= math.exp(min(log_ratio, 0.0)):
        return False
    members[:] = False
    for i in range(size):
        members[shuffled[i]] = True
    return True


@njit(error_model="numpy")
def log_binomial(n: int, k: int) -> float:
    """Return the logarithm of the number of k-subsets of n things."""
    return math.lgamma(n + 1.0) - math.lgamma(k + 1.0) - math.lgamma(n - k + 1.0)


@njit(error_model="numpy")
def add_potential_slope(kind: int, terms: Array, members: Array, factor: float, gradient: Array) -> float:
    """Add ``factor · ∂ log Φ/∂s`` of the subset to ``gradient`` (N,) and return ``log Φ`` (of the shifted scores)."""
    total, size = subset_total(terms, members)
    for i in range(len(terms)):
        if members[i]:
            gradient[i] += factor * (1.0 / size if kind == GEOMETRIC else terms[i] / total)
    return log_potential(kind, total, size)

"""Chains over subsets for a potential of the user's own.

The potential is a compiled function (``numba.njit``)

    log_potential(scores, members, slope) -> log Φ(S)

of a stage's remaining ``scores`` (N,) and the mask ``members`` (N,) of a non-empty subset S. It writes ∂ log Φ/∂s of
the members to ``slope`` (N,); entries of others are ignored. It must not depend on the order of the documents. The
chains call it afresh for every move, so a Gibbs sweep costs N evaluations.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from podium.numerics.compiling import Array, njit
from podium.numerics.random import uniform
from podium.numerics.subsets.sampling import log_binomial, propose_subset


def chain_for(log_potential: Callable[..., float]) -> tuple[Any, Any, Any, Any]:
    """Return the moves of :mod:`podium.numerics.subsets.sampling` (fill, sweep, step, add_slope) for a potential."""
    if not hasattr(log_potential, "py_func"):
        raise ValueError("a user-defined potential must be compiled: decorate it with numba.njit")

    @njit(error_model="numpy")
    def fill(kind: int, scores: Array, terms: Array) -> None:
        terms[:] = scores

    @njit(error_model="numpy")
    def sweep(kind: int, terms: Array, members: Array, stream: Array) -> None:
        slope = np.empty(len(terms))
        for i in range(len(terms)):
            members[i] = False
            if not members.any():
                members[i] = True  # the empty set is not a state
                continue
            without = log_potential(terms, members, slope)
            members[i] = True
            log_odds = log_potential(terms, members, slope) - without
            members[i] = uniform(stream) < 1.0 / (1.0 + math.exp(-log_odds))

    @njit(error_model="numpy")
    def step(kind: int, terms: Array, members: Array, corrected: bool, stream: Array, shuffled: Array) -> bool:
        n, slope = len(terms), np.empty(len(terms))
        proposed = np.zeros(n, np.bool_)
        size = propose_subset(n, stream, shuffled)
        for i in range(size):
            proposed[shuffled[i]] = True
        log_ratio = log_potential(terms, proposed, slope) - log_potential(terms, members, slope)
        if corrected:
            log_ratio += log_binomial(n, size) - log_binomial(n, members.sum())
        if uniform(stream) >= math.exp(min(log_ratio, 0.0)):
            return False
        members[:] = proposed
        return True

    @njit(error_model="numpy")
    def add_slope(kind: int, terms: Array, members: Array, factor: float, gradient: Array) -> float:
        slope = np.zeros(len(terms))
        value = log_potential(terms, members, slope)
        for i in range(len(terms)):
            if members[i]:
                gradient[i] += factor * slope[i]
        return value

    return fill, sweep, step, add_slope

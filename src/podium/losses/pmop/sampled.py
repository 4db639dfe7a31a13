"""Ordered partitions trained by contrastive divergence: chains that start at the observed subsets and take a few steps.

The gradient of stage k, ∂ log Z/∂s − ∂ log Φ(X_k)/∂s, is estimated by replacing the first part, an average over all
subsets, with the mean of ∂ log Φ(S)/∂s over the subsets S that a short chain from X_k visits, or with that of the last
one. The value reported is the mean of ``Σ_k log Φ(S_k) − log Φ(X_k)``, whose gradient at fixed S this is: it measures
how far the chains drift, and is no likelihood.
"""

from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import numpy as np

from podium.losses.base import Derivatives, Kernel, OneList, njit
from podium.numerics.compiling import uncompiled, with_globals
from podium.numerics.grades import Groups, own_groups
from podium.numerics.subsets.sampling import add_potential_slope, fill_terms, gibbs_sweep, metropolis_step
from podium.numerics.subsets.user_potentials import chain_for

# The moves of the chains, by the names the kernel calls them; for a user's potential they are bound to others.
fill, sweep, step, add_slope = fill_terms, gibbs_sweep, metropolis_step, add_potential_slope


class Chains(NamedTuple):
    """What the kernel needs to know of labels and parameters."""

    groups: Groups
    streams: np.ndarray
    """(n_queries,) random numbers of each query's chains."""
    potential: int
    by_gibbs: bool
    corrected: bool
    steps: int
    averaged: bool


@njit(error_model="numpy")
def pmop_sampled(given: OneList, prepared: Chains, out: Derivatives) -> float:
    scores, n, potential = given.scores, len(given.scores), prepared.potential
    order, bounds = own_groups(prepared.groups, given)
    stream = prepared.streams[given.query : given.query + 1].copy()
    by_grade, result, terms = scores[order].astype(np.float64), np.zeros(n), np.empty(n)
    members, shuffled = np.empty(n, np.bool_), np.empty(n, np.int64)
    value, share = 0.0, 1.0 / prepared.steps if prepared.averaged else 1.0
    for k in range(len(bounds) - 1):
        n_left = n - bounds[k]
        chosen, left, slope = members[:n_left], terms[:n_left], result[bounds[k] :]
        fill(potential, by_grade[bounds[k] :], left)
        chosen[:] = False
        chosen[: bounds[k + 1] - bounds[k]] = True
        value -= add_slope(potential, left, chosen, -1.0, slope)
        for taken in range(1, prepared.steps + 1):
            if prepared.by_gibbs:
                sweep(potential, left, chosen, stream)
            else:
                step(potential, left, chosen, prepared.corrected, stream, shuffled[:n_left])
            if prepared.averaged or taken == prepared.steps:
                value += share * add_slope(potential, left, chosen, share, slope)
    out.gradient[order] = result
    return value


@cache
def kernel_for_user_potential(log_potential: Callable[..., float]) -> Kernel:
    """Return the same kernel for a user's compiled ``log_potential(scores, members, slope)``."""
    moves = dict(zip(("fill", "sweep", "step", "add_slope"), chain_for(log_potential), strict=True))
    kernel = with_globals(uncompiled(pmop_sampled), **moves, __name__=log_potential.__module__)
    return njit(error_model="numpy")(kernel)

"""PMOP: probabilities of ordered partitions, in which documents of equal grade share a place.

Grades split a query's documents into X_1 ≻ X_2 ≻ … ≻ X_K, best first. Stage k picks the subset X_k out of what remains,
R_k = X_k ∪ … ∪ X_K, with probability proportional to its potential Φ among all subsets that could have been picked.
This file has the arithmetic potential, the mean of the documents' e^s ("full decomposition"), which takes linear time:

    log p(X_k | R_k) = log Σ_{X_k} e^s − log Σ_{R_k} e^s − log(C_k |X_k|),    C_k = (2^{N_k} − 1) / N_k,  N_k = |R_k|
    ∂ log p / ∂s_i   = e^{s_i} / Σ_{X_k(i)} e^s − Σ_{k ≤ k(i)} e^{s_i} / Σ_{R_k} e^s

Truyen, Phung and Venkatesh, "Probabilistic models over ordered partitions with applications in document ranking and
collaborative filtering", SDM 2011.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit

from podium.core.parameters import require_choice, require_count
from podium.losses.base import LabeledLists, Loss
from podium.losses.pmop.geometric import pmop_geometric
from podium.losses.pmop.sampled import kernel_for_user_potential, pmop_sampled
from podium.numerics.compiling import Kernel
from podium.numerics.elementary import FAST, SAFE_RANGE, all_finite, exp, extent
from podium.numerics.grades import label_groups
from podium.numerics.loop import Derivatives, OneList
from podium.numerics.subsets.sampling import ARITHMETIC, GEOMETRIC
from podium.numerics.subsets.sums import LONGEST

__all__ = ["PMOPLoss"]


class PMOPLoss(Loss):
    """Negative log-likelihood of the labels' ordered partition, ties and all.

    A query's value is the whole likelihood, constants included, so that it is a probability: over all ordered
    partitions of a list they add up to 1. A single document contributes 0. Without ties, the gradient under the
    arithmetic potential is that of :class:`~podium.losses.ListMLELoss`.

    Parameters
    ----------
    potential : {"arithmetic", "geometric"} or a compiled function
        Φ(X): the mean of e^s over X, or e to the mean of s over X. A function of one's own, compiled by ``numba.njit``,
        is described in :mod:`podium.numerics.subsets.user_potentials`; it needs one of the samplers.
    method : {"exact", "gibbs", "mh"}
        How the sum over subsets is obtained: exactly (O(n) arithmetic; O(n³) geometric, lists of up to 1,000), or by
        contrastive divergence, with Gibbs or Metropolis-Hastings chains that start at the observed subsets.
    steps : int
        Of those chains: sweeps over the list (Gibbs) or proposals (Metropolis-Hastings).
    proposal_correction : bool
        Accept proposals with the ratio that makes the model stationary. False is the ratio printed in the paper.
    random_state : int
        Seed of the chains, which are drawn anew in each epoch.

    The samplers' value is a contrast, not a likelihood, and changes with the chains: train them with stochastic steps.

    Examples
    --------
    >>> loss = PMOPLoss().value_and_gradient([0.5, 0.0, -1.0], labels=[1, 1, 0], offsets=[0, 3])
    >>> round(loss.value, 4)
    1.6705
    >>> loss.d_scores.round(3).tolist()
    [-0.076, -0.046, 0.122]
    """

    keeps_float32 = True
    cost = "n (geometric: n³)"

    def __init__(
        self,
        potential: Any = "arithmetic",
        method: str = "exact",
        steps: int = 1,
        proposal_correction: bool = True,
        random_state: int = 0,
    ) -> None:
        self.potential = potential
        self.method = method
        self.steps = steps
        self.proposal_correction = proposal_correction
        self.random_state = random_state

    @property
    def has_gradient(self) -> bool:  # type: ignore[override]
        """The exact likelihood has one; the samplers' steps are not the gradient of one function."""
        return self.method == "exact"

    @property
    def has_curvature(self) -> bool:  # type: ignore[override]
        return self.potential == "arithmetic" and self.method == "exact"

    def likelihood(self) -> Loss | None:
        return None if callable(self.potential) else PMOPLoss(self.potential)

    def choose_kernel(self) -> Kernel:
        if callable(self.potential):
            return kernel_for_user_potential(self.potential)
        if self.method != "exact":
            return pmop_sampled
        return pmop if self.potential == "arithmetic" else pmop_geometric

    def prepare(self, data: LabeledLists) -> tuple[Any, ...]:
        labels, offsets = data.labels, data.offsets
        self._check(offsets)
        groups = label_groups(labels, offsets)
        if self.method == "exact":
            return *groups, _log_constants(groups.bounds, groups.first)
        kind = GEOMETRIC if self.potential == "geometric" else ARITHMETIC
        return (
            *groups,
            data.streams(self.random_state),
            kind,
            self.method == "gibbs",
            self.proposal_correction,
            self.steps,
        )

    def prepare_epoch(self, prepared: Any, data: LabeledLists, epoch: int) -> Any:
        if self.method == "exact":
            return prepared
        return *prepared[:3], data.streams(self.random_state, epoch), *prepared[4:]

    def _check(self, offsets: np.ndarray) -> None:
        require_choice("method", self.method, ("exact", "gibbs", "mh"))
        require_count("steps", self.steps)
        if callable(self.potential):
            if self.method == "exact":
                raise ValueError('a potential of one\'s own has no known sum over subsets: use method="gibbs" or "mh"')
            return
        require_choice("potential", self.potential, ("arithmetic", "geometric"))
        longest = int(np.diff(offsets).max(initial=0))
        if self.potential == "geometric" and self.method == "exact" and longest > LONGEST:
            q = int(np.diff(offsets).argmax())
            raise ValueError(
                f"query number {q} has {longest} documents; the exact geometric potential takes lists of up to "
                f'{LONGEST}: use potential="arithmetic" (linear time), method="gibbs", or shorten the list'
            )


@njit(cache=True, error_model="numpy")
def _log_constants(bounds: np.ndarray, first: np.ndarray) -> np.ndarray:
    """(n_queries,) Σ_k log(C_k |X_k|); 2^N itself would overflow beyond a thousand documents."""
    constants = np.zeros(len(first) - 1)
    for q in range(len(constants)):
        b = bounds[first[q] : first[q + 1]]
        for k in range(len(b) - 1):
            remain = float(b[-1] - b[k])
            log_subsets = remain * math.log(2.0) + math.log1p(-math.exp2(-remain))
            constants[q] += log_subsets - math.log(remain) + math.log(float(b[k + 1] - b[k]))
    return constants


@njit(error_model="numpy")
def pmop(given: OneList, prepared: Any, out: Derivatives) -> float:
    scores, q, start = given.scores, given.query, given.start
    gradient, curvature = out.gradient, out.curvature
    order, bounds, first, constants = prepared
    order, bounds = order[start : start + len(scores)], bounds[first[q] : first[q + 1]]
    if not all_finite(scores):
        return np.nan  # the caller says which query it is
    low, high = extent(scores)
    if high - low <= SAFE_RANGE:
        return constants[q] + _plain(scores, order, bounds, high, gradient, curvature)
    return constants[q] + _in_logarithms(scores, order, bounds, gradient, curvature)


@njit(fastmath=FAST, error_model="numpy")
def _plain(
    scores: np.ndarray,
    order: np.ndarray,
    bounds: np.ndarray,
    high: float,
    gradient: np.ndarray,
    curvature: np.ndarray,
) -> float:
    """Sums of exponentials that cannot underflow; ``gradient`` holds these exponentials meanwhile."""
    n_stages = len(bounds) - 1
    for i in range(len(scores)):
        gradient[i] = exp(scores[i] - high)
    chosen = np.empty(n_stages)
    remain = np.empty(n_stages)
    total = 0.0
    for k in range(n_stages - 1, -1, -1):
        members = order[bounds[k] : bounds[k + 1]]
        chosen[k] = 0.0
        for i in range(len(members)):
            chosen[k] += gradient[members[i]]
        total += chosen[k]
        remain[k] = total
    value = 0.0
    inverse, inverse_squared = 0.0, 0.0
    for k in range(n_stages):
        value += math.log(remain[k] / chosen[k])
        inverse += 1.0 / remain[k]
        inverse_squared += 1.0 / (remain[k] * remain[k])
        members = order[bounds[k] : bounds[k + 1]]
        slope = scores.dtype.type(inverse - 1.0 / chosen[k])
        for i in range(len(members)):
            e = gradient[members[i]]
            gradient[members[i]] = e * slope
            if len(curvature) > 0:
                curvature[members[i]] = float(e) * inverse - float(e) * float(e) * inverse_squared
    return value


@njit(error_model="numpy")
def _in_logarithms(
    scores: np.ndarray, order: np.ndarray, bounds: np.ndarray, gradient: np.ndarray, curvature: np.ndarray
) -> float:
    """The same with the logarithms of all sums, for scores that lie far apart."""
    n_stages = len(bounds) - 1
    chosen = np.full(n_stages, -np.inf)
    remain = np.empty(n_stages)
    total = -np.inf
    value = 0.0
    for k in range(n_stages - 1, -1, -1):
        for i in order[bounds[k] : bounds[k + 1]]:
            chosen[k] = np.logaddexp(chosen[k], scores[i])
        total = np.logaddexp(total, chosen[k])
        remain[k] = total
        value += remain[k] - chosen[k]
    inverse, inverse_squared = -np.inf, -np.inf
    for k in range(n_stages):
        inverse = np.logaddexp(inverse, -remain[k])
        inverse_squared = np.logaddexp(inverse_squared, -2.0 * remain[k])
        for i in order[bounds[k] : bounds[k + 1]]:
            s = float(scores[i])
            gradient[i] = math.exp(s + inverse) - math.exp(s - chosen[k])
            if len(curvature) > 0:
                curvature[i] = math.exp(s + inverse) - math.exp(2.0 * s + inverse_squared)
    return value
